"""Training runs on disk: ``runs/RUN_ID`` of the store's folder, and the processes that they belong to. All blocking.

``run.json`` is the record, ``settings.json`` what the trainer was told, ``episodes.json`` the ids of what it learns
from, ``batch`` that itself (there only while a trainer runs, so that forgetting need not look here), ``out`` what the
trainer writes, ``events.jsonl`` and ``stderr.log`` what it said.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from prowess.server.identity import identity_of, proven
from prowess.storage.log.file import sync_file, sync_folder
from prowess.storage.ordinary import read_ordinary

__all__ = ["Run", "RunFolder", "adopt_strays", "read_runs", "runs_now"]

_log = logging.getLogger(__name__)

Status = Literal["running", "done", "failed", "cancelled", "interrupted"]


class Run(msgspec.Struct, kw_only=True):
    """One run. ``process`` proves that ``pid`` is still the process that was started, where the system can tell.

    ``order`` counts the starts of all runs, so that the last one is known whatever the clock said.
    ``checkpoint`` is a file in ``out``. ``verdict`` tells whether the result was adopted, "" before that was decided.
    ``malformed`` counts lines that were no events, ``dropped`` events that were
    not kept because there were too many.
    """

    id: str
    started: str
    status: Status = "running"
    project: str = ""
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    episodes: int = 0
    ended: str | None = None
    pid: int = 0
    process: str = ""
    starts: int = 0
    order: int = 0
    checkpoint: str | None = None
    progress: dict[str, Any] = msgspec.field(default_factory=dict)
    result: dict[str, Any] | None = None
    reason: str = ""
    verdict: str = ""
    malformed: int = 0
    dropped: int = 0


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batch = path / "batch"
        self.out = path / "out"
        self.settings = path / "settings.json"
        self.events = path / "events.jsonl"
        self.errors = path / "stderr.log"

    def make(self) -> None:
        """Create what is missing, for our own eyes."""
        for folder in (self.path, self.batch, self.out):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def save(self, run: Run) -> None:
        """Write the record, whole or not at all."""
        _write(self.path / "run.json", run)

    def save_input(self, settings: dict[str, Any], episodes: Sequence[str]) -> None:
        """What a trainer is told, and what it learns from."""
        _write(self.settings, settings)
        _write(self.path / "episodes.json", list(episodes))

    def episodes(self) -> list[str]:
        """The ids of what the run learns from."""
        return msgspec.json.decode(read_ordinary(self.path / "episodes.json"), type=list[str])

    def best(self, name: str) -> Path:
        """The folder ``name`` of ``out``; ``out`` itself where it would lie elsewhere."""
        return self._within(name) or self.out

    def checkpoint(self, name: str | None) -> Path | None:
        """The file ``name`` of ``out``; None where it is not there or lies elsewhere."""
        path = self._within(name) if name else None
        return path if path is not None and os.path.isfile(path) else None  # noqa: PTH113 - of Path it raises for long names

    def _within(self, name: str) -> Path | None:
        """What a trainer calls ``name`` in ``out``; None where it lies elsewhere, or no path can be that."""
        try:
            path = (self.out / name).resolve()
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, a loop of links
            return None
        return path if path.is_relative_to(self.out.resolve()) else None

    def drop_batch(self) -> None:
        """Remove the copy of what is stored."""
        shutil.rmtree(self.batch, ignore_errors=True)

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.path, ignore_errors=True)


def _write(path: Path, value: Any) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2))
    sync_file(part)  # else a power cut may leave the name without the content, and a run that nobody knows
    part.replace(path)
    sync_folder(path.parent)


def read_runs(folder: Path) -> list[Run]:
    """All runs, the last started first. A record that cannot be read is passed over."""
    found = [run for path in folder.glob("*/run.json") if (run := _read(path)) is not None]
    return sorted(found, key=lambda run: (run.order, run.id), reverse=True)


def _read(path: Path) -> Run | None:
    try:
        run = msgspec.json.decode(read_ordinary(path), type=Run)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    return run if run.id == path.parent.name else None


def runs_now(folder: Path) -> list[Run]:
    """As ``read_runs``; a run whose server was killed is what the next start will make of it, once its trainer left.

    Where the system does not prove that a process has gone, such a run is told as one that goes on.
    """
    return [_cut_short(run) if _is_left(run) else run for run in read_runs(folder)]


def _is_left(run: Run) -> bool:
    return run.status == "running" and bool(run.process) and identity_of(run.pid) != run.process


def _cut_short(run: Run, ended: str | None = None) -> Run:
    return msgspec.structs.replace(run, status="interrupted", ended=ended, reason="the server was ended without notice")


def adopt_strays(folder: Path, now: str, grace: float) -> None:
    """Runs whose server was killed become interrupted ones; a trainer of theirs that still lives is ended.

    The caller owns the store, so that no other server has a trainer. ``grace`` is how many seconds one gets to leave.
    """
    for run in read_runs(folder):
        if run.status != "running":
            continue
        _end(run.pid, run.process, grace)
        files = RunFolder(folder / run.id)
        files.drop_batch()
        try:
            files.save(_cut_short(run, now))
        except OSError as error:  # found again at the next start
            _log.warning("a training run that was cut short was not recorded: %s", error.strerror)


def _end(pid: int, identity: str, grace: float) -> None:
    """End the process if it is proven to be the one meant: its number may be another's by now."""
    with suppress(OSError), proven(pid, identity) as handle:
        if handle is not None:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            if not select.select([handle], [], [], grace)[0]:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], grace)
