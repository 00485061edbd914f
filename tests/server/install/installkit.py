"""What the tests of installing share: a machine that is a few folders."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clikit import Ended

__all__ = ["Machine", "Tree"]

Tree = dict[str, Any]


@dataclass
class Machine:
    """``home`` and ``project`` are what clients see; the store is elsewhere."""

    home: Path
    project: Path
    store: Path
    prowess: Callable[..., Ended]

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tree(self) -> Tree:
        """Every path under home and project: bytes and mode of files, targets of links, folders."""
        return {str(path): _told(path) for root in (self.home, self.project) for path in sorted(root.rglob("*"))}

    def did(self, *words: object) -> Ended:
        ended = self.prowess(*words)
        assert ended.code == 0, ended.err
        return ended


def _told(path: Path) -> Any:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    mode = stat.S_IMODE(path.stat().st_mode)
    return "folder" if path.is_dir() else (path.read_bytes(), mode)
