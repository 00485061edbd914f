"""What the benchmark scripts share: percentiles, the machine's fsync rate, and the JSON line at the end."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

__all__ = ["emit", "ended", "fsync_seconds", "percentile", "scratch", "script", "timed", "timed_async"]

LONGEST_SECONDS = 120.0  # of a process that is timed; then it is stuck


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


def ended(command: Sequence[str], *, given: bytes = b"", environ: Mapping[str, str] | None = None) -> float:
    """Seconds from spawn to end of a process that reads ``given``. Raises CalledProcessError where it fails.

    The wait has no timeout: ``subprocess`` would look in sleeps that double up to 50 ms, and see a process of 40 ms
    after 64 and one of 66 after 114. A thread kills what is stuck.
    """
    begin = time.perf_counter()
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, env=environ, cwd="/") as process:
        late = threading.Timer(LONGEST_SECONDS, process.kill)
        late.start()
        try:
            process.communicate(given)
        finally:
            late.cancel()
        seconds = time.perf_counter() - begin
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds


def fsync_seconds(folder: Path, times: int = 200) -> list[float]:
    """The bound of every durable write: a 4 KiB append and fsync, in the folder that the store uses."""
    descriptor = os.open(folder / "fsync.probe", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    page = os.urandom(4096)

    def append() -> None:
        os.write(descriptor, page)
        os.fsync(descriptor)

    try:
        return timed(append, times)
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


def script(main: Callable[..., Any], **numbers: Sequence[int]) -> None:
    """Run a script's ``main`` that may be asynchronous; ``--help`` tells its docstring, other options are refused.

    ``numbers`` is an argument of ``main`` that the command line may give, with its default.
    """
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in numbers.items():
        parser.add_argument(name, type=int, nargs="*", default=default, help=f"default: {default}")
    given = vars(parser.parse_args())
    if inspect.iscoroutinefunction(main):
        anyio.run(partial(main, **given))
    else:
        main(**given)
