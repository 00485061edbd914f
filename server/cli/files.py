"""Text that a command is given in a file."""

from __future__ import annotations

from io import TextIOWrapper
from pathlib import Path

from prowess.server.cli.command import Failed
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary

__all__ = ["text_of"]


def text_of(file: Path) -> str:
    """The text of an ordinary file, without the mark that some editors put at the start. Raises Failed and OSError."""
    try:
        with TextIOWrapper(open_ordinary(file), "utf-8-sig") as text:
            return text.read()
    except NotOrdinaryError as error:  # a pipe may never end
        raise Failed(f"{file}: {error.strerror}", hint="write the text into one") from error
    except UnicodeDecodeError as error:
        raise Failed(f"{file} is no UTF-8: {error.reason} at byte {error.start}", hint="save it as UTF-8") from error
