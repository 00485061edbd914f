"""Backups take along the memory skills and controllers that are in use."""

from __future__ import annotations

from pathlib import Path

import pytest
from storekit import ORIGIN, do_everything

from prowess.storage.events import ControllerAdopted
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

AT = "2026-11-29T13:00:00.000Z"


def place(folder: Path, kind: str, key: str, text: str) -> Path:
    path = folder / "memskill" / kind / key / "file"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "memskill" in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in found}


async def adopt(store: Store, bank: str, weights: str = "", project: str = "") -> None:
    event = ControllerAdopted(project=project, at=AT, bank=bank, weights=weights)
    await store.append([event], origin=ORIGIN)


async def test_what_is_in_use_goes_into_a_backup_and_back(folder: Path, tmp_path: Path) -> None:
    place(folder, "banks", "b0", "no longer in use")
    place(folder, "banks", "b1", "for all")
    weights = place(folder, "controllers", "c1", "weights")
    place(folder, "banks", "b2", "of a project")
    async with Store.open(folder) as store:
        await do_everything(store)
        await adopt(store, "b0")
        await adopt(store, "b1", "c1")
        await adopt(store, "b2", project="shop")
        await adopt(store, "b3", project="gone")  # whose files are not there
        made = await store.backup(tmp_path / "copy")
    kept = {"memskill/banks/b1/file": "for all", "memskill/controllers/c1/file": "weights"}
    kept["memskill/banks/b2/file"] = "of a project"
    assert files(made) == kept
    restore(tmp_path / "new", made)
    assert files(tmp_path / "new") == kept
    async with Store.open(tmp_path / "new") as store:
        assert {each.bank for each in await store.adopted()} == {"b1", "b2", "b3"}
    weights.write_text("damaged since")
    restore(folder, made)
    assert weights.read_text() == "weights"
    assert "memskill/banks/b0/file" in files(folder)


async def test_a_backup_that_is_dropped_takes_them_with_it(folder: Path, tmp_path: Path) -> None:
    place(folder, "banks", "b1", "for all")
    async with Store.open(folder) as store:
        await adopt(store, "b1")
        made = await store.backup(tmp_path / "copy")
        await store.drop_backup(made)
    assert not made.exists()
    assert files(folder) == {"memskill/banks/b1/file": "for all"}


async def test_a_name_that_leads_elsewhere_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder.parent / "secret").mkdir()
    (folder.parent / "secret" / "file").write_text("secret")
    async with Store.open(folder) as store:
        await adopt(store, "../../../secret")
        made = await store.backup(tmp_path / "copy")
    assert files(made) == {}
