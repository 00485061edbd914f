"""Writing files whole or not at all, and reading those that were only appended to."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

__all__ = ["read_lines", "read_plain", "replace_folder", "write_whole"]

S = TypeVar("S", bound=msgspec.Struct)


def read_plain(path: Path, most: int | None = None) -> bytes:
    """The first ``most`` bytes of a plain file, all of them without it. Raises OSError, also for what is none, such as
    a pipe, which might never end; what has been opened is what is looked at, whatever takes the name meanwhile.
    """
    # Without waiting for somebody who writes; not every system has it.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return file.read(-1 if most is None else most)


def read_lines(path: Path, kind: type[S]) -> list[S]:
    """What earlier processes appended, one ``kind`` per line as JSON. A line that was torn when one of them was killed
    is passed over, and ended, so that the next one stands for itself.
    """
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")
    return [read for line in content.splitlines() if (read := _read(line, kind)) is not None]


def _read(line: bytes, kind: type[S]) -> S | None:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file. A crash leaves the old or the new one, also after a power cut."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)  # where the disk is full, its space is needed
        raise


def replace_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Replace the folder and what is in it. Names may have one folder in them."""
    part, old = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.old")
    for left in (part, old):
        shutil.rmtree(left, ignore_errors=True)
    for name, content in files.items():
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(part / name, content)
    if path.exists():
        path.rename(old)
    part.rename(path)
    shutil.rmtree(old, ignore_errors=True)
