"""Lines of JSON as clients leave them: cut off, damaged, of any shape."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

from prowess.server.transcripts.model import Notes
from prowess.storage.ordinary import open_ordinary
from prowess.tools.times import as_time

__all__ = ["MAX_LINE", "as_list", "as_map", "as_text", "files_below", "moment", "number", "records", "shown"]

MAX_LINE = 64_000_000  # bytes


def records(path: Path, notes: Notes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of ``path`` with their lines (from 1). What is none goes into ``notes``. ``.zst`` is unpacked.

    A last line without its end is passed over in silence where it is no JSON: the client is still writing it, or was
    ended while it did.
    """
    try:
        with _opened(path) as file:
            yield from _parsed(path, file, notes)
    except OSError as error:
        notes.leave_out(path, 0, error.strerror or type(error).__name__)
    except zstandard.ZstdError as error:
        notes.leave_out(path, 0, str(error))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with open_ordinary(path) as file:
        if path.suffix != ".zst":
            yield file
            return
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as unpacked:
            yield io.BufferedReader(unpacked)


def files_below(folder: Path, pattern: str) -> list[Path]:
    """The regular files below ``folder`` that ``pattern`` means, in the order of their names."""
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def _parsed(path: Path, file: IO[bytes], notes: Notes) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(_lines(file), 1):
        if not text.strip():
            continue
        try:
            value = _value(text)
        except ValueError as error:
            if text.endswith(b"\n") or len(text) > MAX_LINE:  # of which the end was dropped
                notes.leave_out(path, line, str(error))
            continue
        yield line, value


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines; of what is too long one byte more than allowed, and never more is held."""
    while text := file.readline(MAX_LINE + 1):
        rest = text
        while not rest.endswith(b"\n") and (rest := file.readline(MAX_LINE)):
            pass
        yield text


def _value(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE:
        raise ValueError(f"the line is longer than {MAX_LINE:,} bytes")
    try:
        value = json.loads(text.decode(errors="replace").removeprefix("\ufeff"))  # of a file that Windows copied
    except RecursionError:
        raise ValueError("no JSON: nested too deep") from None
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - one kind of error for one kind of trouble
    return value


def as_map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def shown(content: Any) -> str:
    """A result's text; what is no text is named."""
    if isinstance(content, str):
        return content
    parts = [as_map(part) for part in as_list(content)]
    return "\n".join(as_text(part.get("text")) or f"[{as_text(part.get('type')) or 'part'}]" for part in parts)


def number(value: Any) -> float | None:
    """``value`` where it is a finite number from 0 up to what the store takes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1e12 else None


def moment(value: Any) -> str | None:
    """A time in the store's notation; None for anything else."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        return as_time(value)
    except ValueError:
        return None
