"""Writing files whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

__all__ = ["replace_folder", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file. A crash leaves the old or the new one, also after a power cut."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


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
