"""A tool's result that Claude Code wrote to a file of its own, since it was too long for the conversation.

The transcript has the first two kilobytes then, and the file's name. The file is looked for where the client keeps such
files, ``<folder of the transcripts>/<session>/tool-results/``, whatever folder the name tells: the transcripts may have
been copied from another machine, and what was printed by a program is no reason to read any other file.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

from prowess.server.transcripts.reading import as_list, shown
from prowess.tools.text import cut

__all__ = ["MAX_SAVED", "saved_result", "saved_text"]

MAX_SAVED = 16_000_000  # bytes; of a longer one the preview is kept, as of one that is gone
_KEPT = 190_000  # characters: a little less than a step's, so that it is cut once
_FOLDER = "tool-results"
_PREVIEW = re.compile(
    r"\s*(?:<persisted-output>\s*Output too large \([^)\n]{1,40}\)\. Full output saved to:|"
    r"(?:Error: )?result \([\d,]{1,20} characters\) exceeds maximum allowed tokens\. Output has been saved to) "
    r"([^\n]{1,4096}?)\.?(?:\n|$)"
)


def saved_result(text: str, transcript: Path) -> str:
    """The whole result of which ``text`` is the preview; ``text`` itself where it is none, or the file is of no use."""
    named = _PREVIEW.match(text)
    return text if named is None else saved_text(named[1], transcript) or text


def saved_text(named: str, transcript: Path) -> str:
    """What the file holds that a record of ``transcript`` calls so; "" where it is not there or not to be read."""
    session, folder, name = ["", "", "", *re.split(r"[\\/]", named)][-3:]
    if folder != _FOLDER or not _is_plain(session) or not _is_plain(name):
        return ""
    top = _top(transcript)
    place = top / session / _FOLDER
    try:
        if Path(os.path.realpath(place)) != Path(os.path.realpath(top)) / session / _FOLDER:
            return ""  # a link leads elsewhere
        text = _content(place / name)
    except (OSError, ValueError):
        return ""
    return cut(_parts(text) if name.endswith(".json") else text, _KEPT)


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and "\0" not in name and ":" not in name


def _top(transcript: Path) -> Path:
    """The folder in which the sessions of a project lie; subagents' transcripts lie below their session's."""
    above = [folder for folder in transcript.parents if folder.name == "subagents"]
    return above[-1].parent.parent if above else transcript.parent


def _content(path: Path) -> str:
    """Raises OSError and ValueError for what is no regular file of that size."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SAVED:
            raise ValueError(path)
        return file.read(MAX_SAVED).decode(errors="replace")


def _parts(text: str) -> str:
    """A result of several parts is saved as the list of them."""
    try:
        parts = as_list(json.loads(text))
    except (ValueError, RecursionError):
        return text
    return shown(parts) if parts and all(isinstance(part, dict) and "type" in part for part in parts) else text
