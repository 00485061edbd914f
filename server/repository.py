"""A git repository as its files tell it. Nothing is run: git would do what the configuration of a folder says that
somebody else prepared."""

from __future__ import annotations

import os
from pathlib import Path

from prowess.storage.ordinary import open_ordinary

__all__ = ["common_folder_around", "common_folder_of", "git_folder", "is_folder", "read_regular", "top"]


def top(folder: Path) -> Path:
    """Where the working copy around ``folder`` begins; ``folder`` itself where there is none."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def common_folder_around(folder: Path) -> Path | None:
    """The git folder that all worktrees of the repository around ``folder`` share."""
    return next((found for place in (folder, *folder.parents) if (found := common_folder_of(place))), None)


def common_folder_of(place: Path) -> Path | None:
    """As ``common_folder_around``, of a repository that lies in ``place`` itself."""
    for candidate in (git_folder(place), place):
        if candidate is not None and _is_git(candidate):
            return Path(os.path.realpath(_shared(candidate)))
    return None


def git_folder(place: Path) -> Path | None:
    """Where ``.git`` leads: it is the folder itself, or a file that names it (worktrees, submodules)."""
    entry = place / ".git"
    if is_folder(entry):
        return entry
    key, colon, named = _line(entry).partition(":")
    return place / named.strip() if colon and key == "gitdir" else None


def _is_git(folder: Path) -> bool:
    return bool(_line(folder / "HEAD")) and (is_folder(folder / "objects") or bool(_line(folder / "commondir")))


def _shared(folder: Path) -> Path:
    shared = _line(folder / "commondir")
    return folder / shared if shared else folder


def is_folder(path: Path) -> bool:
    """Also where one may not look, which is no folder then."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _line(path: Path) -> str:
    line = read_regular(path).decode(errors="surrogateescape").partition("\n")[0].strip()
    return "" if "\0" in line else line


def read_regular(path: Path, most: int = 1_000_000, *, end: bool = False) -> bytes:
    """The first ``most`` bytes of a regular file, or the last at its ``end``; nothing of anything else.

    Never waits, as opening a pipe would.
    """
    try:
        with open_ordinary(path) as file:
            if end:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return file.read(most)
    except (OSError, ValueError):
        return b""
