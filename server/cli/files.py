"""Text that a command is given in a file."""

from __future__ import annotations

from pathlib import Path

from prowess.server.cli.command import Failed

__all__ = ["text_of"]


def text_of(file: Path) -> str:
    """The text of an ordinary file, without the mark that some editors put at the start. Raises Failed and OSError."""
    if file.exists() and not file.is_file():
        raise Failed(f"{file} is no ordinary file", hint="write the text into one")  # a pipe may never end
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failed(f"{file} is no UTF-8: {error.reason} at byte {error.start}", hint="save it as UTF-8") from error
