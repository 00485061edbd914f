"""Files beside the log that its events name by their hash: banks of memory skills and controllers.

They lie below ``memskill`` of the store's folder, in a folder for each hash. A backup takes along those that are in
use; whether they are what their hash says is found out by whoever reads them.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from prowess.storage.events import ControllerAdopted
from prowess.storage.log.file import copy_file
from prowess.storage.models import Adopted

__all__ = ["FOLDER", "copy", "named_by", "put_back", "remove"]

FOLDER = "memskill"
BANKS, CONTROLLERS = "banks", "controllers"


def named_by(adopted: Iterable[Adopted | ControllerAdopted]) -> frozenset[Path]:
    """The folders of what is in use, relative to the store's."""
    found = [(kind, key) for each in adopted for kind, key in ((BANKS, each.bank), (CONTROLLERS, each.weights))]
    return frozenset(Path(FOLDER, kind, key) for kind, key in found if key.isalnum())


def copy(folder: Path, backup: Path, named: Collection[Path]) -> None:
    """Copy these folders of the store's ``folder`` into a backup; what is gone is gone from it too. Raises OSError."""
    for name in sorted(named):
        if (folder / name).is_dir():
            shutil.copytree(folder / name, backup / name, copy_function=copy_file)


def put_back(backup: Path, folder: Path) -> None:
    """Copy those of a backup into the store's folder, over what has their names. Raises OSError."""
    for path in sorted((backup / FOLDER).glob("*/*/*")):
        target = folder / path.relative_to(backup)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        copy_file(path, part)
        part.replace(target)


def remove(backup: Path) -> None:
    """Remove them from a backup. Raises OSError."""
    if (backup / FOLDER).exists():
        shutil.rmtree(backup / FOLDER)
