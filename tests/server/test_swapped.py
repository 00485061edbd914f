"""A file that becomes a pipe just before it is opened keeps nobody waiting."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from prowess.server.cli.command import Failed
from prowess.server.cli.files import text_of
from prowess.server.hooks import spool
from prowess.server.hub.logs import start_logging
from prowess.server.install import plan
from prowess.server.install.errors import Refused
from prowess.server.install.records import Records
from prowess.server.memskill_files import _read
from prowess.server.skills import files
from prowess.server.transcripts.model import Notes
from prowess.server.transcripts.reading import files_below, records
from prowess.storage.errors import InvalidInput, StoreDamaged
from prowess.storage.log.file import LogFile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")

HANGS_SECONDS = 20.0
_swaps: dict[str, Path] = {}


def _swap(event: str, arguments: tuple[object, ...]) -> None:
    """Python tells it of each file that it is about to open; what does so cannot be taken away again."""
    if event == "open" and _swaps and (path := _swaps.pop(str(arguments[0]), None)) is not None:
        path.unlink()
        os.mkfifo(path)


sys.addaudithook(_swap)


@contextmanager
def _becomes_a_pipe(path: Path) -> Iterator[None]:
    _swaps[str(path)] = path
    try:
        yield
        assert path.is_fifo(), "it was not opened"
    finally:
        _swaps.clear()


def _ends(work: Callable[[], object]) -> bool:
    """Whether ``work`` came to an end by itself, whatever it raised."""

    def worked() -> None:
        with suppress(OSError, Failed, Refused, InvalidInput, StoreDamaged, spool.UnreadableError):
            work()

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    thread.join(HANGS_SECONDS)
    return not thread.is_alive()


def _spooled(folder: Path) -> tuple[Path, Callable[[], object]]:
    name = spool.write(str(folder), {"kind": "prompt"})
    return folder / "spool" / f"{name}.json", lambda: spool.read(str(folder), name)


def _logged(folder: Path) -> tuple[Path, Callable[[], object]]:
    def work() -> None:
        start_logging(folder / "hub.log", "INFO")

    return folder / "hub.log", work


def _transcribed(folder: Path) -> tuple[Path, Callable[[], object]]:
    (path,) = files_below(folder, "*.jsonl")
    return path, lambda: list(records(path, Notes()))


def _installed(folder: Path) -> tuple[Path, Callable[[], object]]:
    (folder / "backups" / "install").mkdir(parents=True)
    return folder / "backups" / "install" / "manifest.json", lambda: Records(folder)


WAYS = {
    "a hook's event": _spooled,
    "the hub's log": _logged,
    "a transcript": _transcribed,
    "what was installed": _installed,
    "a client's configuration": lambda folder: (folder / "a.json", lambda: plan.read(folder / "a.json")),
    "a text for a command": lambda folder: (folder / "a.json", lambda: text_of(folder / "a.json")),
    "a skill": lambda folder: (folder / "SKILL.md", lambda: files.read_one(folder / "SKILL.md")),
    "an export of skills": lambda folder: (folder / "export", lambda: files.read(folder / "export")),
    "a memory skill": lambda folder: (folder / "insert.md", lambda: _read(folder)),
    "the log": lambda folder: (folder / "log.redb", lambda: LogFile(folder / "log.redb", "")),
}


@pytest.mark.parametrize("what", WAYS)
def test_it_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "session.jsonl").write_text("{}\n")
    path, work = WAYS[what](tmp_path)
    path.touch()
    with _becomes_a_pipe(path):
        assert _ends(work)
