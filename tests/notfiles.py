"""What may have got a file's name without being a file."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["KINDS", "put_no_file"]

KINDS = ("pipe", "folder", "endless")


def put_no_file(kind: str, path: Path) -> Path:
    """Make ``path`` a thing of this kind, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    return path
