"""What the benchmark scripts share: percentiles, the machine's fsync rate, and the JSON line at the end."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio

__all__ = ["emit", "fsync_seconds", "percentile", "run", "scratch", "timed", "timed_async"]


def percentile(seconds: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of ``seconds``, in milliseconds rounded to microseconds."""
    ranked = sorted(seconds)
    return round(1000 * ranked[min(len(ranked) - 1, int(share * len(ranked)))], 3)


def timed(call: Callable[[], object], times: int) -> list[float]:
    """Seconds that each of ``times`` calls took."""
    durations = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        durations.append(time.perf_counter() - begin)
    return durations


async def timed_async(call: Callable[[], Any], times: int) -> list[float]:
    """Seconds that each of ``times`` awaited calls took."""
    durations = []
    for _ in range(times):
        begin = time.perf_counter()
        await call()
        durations.append(time.perf_counter() - begin)
    return durations


def fsync_seconds(folder: Path, times: int = 200) -> list[float]:
    """The bound of every durable write: a 4 KiB append and fsync, in the folder that the store uses."""
    descriptor = os.open(folder / "fsync.probe", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    page = os.urandom(4096)
    try:
        return timed(lambda: (os.write(descriptor, page), os.fsync(descriptor)), times)
    finally:
        os.close(descriptor)


def emit(name: str, results: dict[str, Any]) -> None:
    """Print the one JSON line of a benchmark."""
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    print(json.dumps({"benchmark": name, **results, "machine": machine}))


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the run, on the disk that TMPDIR names."""
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        yield Path(folder)


def run(main: Callable[[], Any]) -> None:
    """Run an asynchronous benchmark."""
    anyio.run(main)
