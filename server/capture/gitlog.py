"""What a repository's own log of its head tells: commits made, and commits taken back. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prowess.server.repository import common_folder_around, git_folder, read_regular
from prowess.storage.models import parse_time

__all__ = ["committed_in", "committed_since"]

TAIL = 64_000  # bytes of the log's end
_ENTRY = re.compile(r"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .{0,400}? (\d{1,12}) [+-]\d{4}\t(.{0,400})$", re.MULTILINE)


def committed_in(folders: Sequence[Path], since: str) -> dict[str, Any] | None:
    """``committed_since`` of the first of ``folders`` that tells of a commit.

    Those after it count where they belong to its repository, as its worktrees do: each has a head of its own.
    """
    mine = common_folder_around(folders[0]) if folders else None
    for place, folder in enumerate(folders):
        if place == 0 or (mine is not None and common_folder_around(folder) == mine):
            found = committed_since(folder, since)
            if found is not None:
                return found
    return None


def committed_since(folder: Path, since: str) -> dict[str, Any] | None:
    """The last commit made after ``since`` in the repository around ``folder``, and whether it was taken back.

    As ``learning.reward.from_evidence`` takes it; None where there is none. Reads files, so call it in a thread.
    """
    try:
        start = parse_time(since).timestamp()
    except ValueError:
        return None
    sha, before, reverted = "", "", False
    for old, new, seconds, what in _ENTRY.findall(_log_of(folder)):
        # The log has whole seconds: what is of the same one was there before, no agent commits so fast. They are no
        # date's: whoever commits may tell any time, such as one after the year 9999.
        if int(seconds) <= start:
            continue
        if what.startswith("commit"):
            sha, before, reverted = new, old, False
        elif sha and (what.startswith("revert") or (what.startswith("reset:") and new == before)):
            reverted = True
    return {"sha": sha, "reverted": reverted} if sha else None


def _log_of(folder: Path) -> str:
    if not folder.is_absolute():
        return ""
    around = next((found for place in (folder, *folder.parents) if (found := git_folder(place))), None)
    return "" if around is None else read_regular(around / "logs" / "HEAD", TAIL, end=True).decode(errors="replace")
