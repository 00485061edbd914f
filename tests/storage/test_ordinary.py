"""What has a file's name and is none keeps nobody waiting."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from notfiles import KINDS, put_no_file

from prowess.storage.errors import StoreDamaged, StoreUnavailable, UnknownBackup
from prowess.storage.log.file import read_only
from prowess.storage.manifest import LOG_NAME, MANIFEST_NAME, read_manifest, sha256_of
from prowess.storage.models import Origin
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary, read_ordinary
from prowess.storage.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")]


def _put(kind: str, path: Path) -> None:
    if kind != "socket":
        put_no_file(kind, path)
        return
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        here = Path.cwd()
        os.chdir(path.parent)  # a longer path is none for a socket
        try:
            bound.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("kind", [*KINDS, "socket"])
@pytest.mark.parametrize("read", [read_ordinary, open_ordinary, sha256_of])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path, kind: str, read: Callable[[Path], object]) -> None:
    path = tmp_path / "file"
    _put(kind, path)
    with pytest.raises(NotOrdinaryError, match="it is no ordinary file") as refused:
        read(path)
    assert refused.value.filename == str(path)


def test_a_pipe_into_which_somebody_writes_is_refused_as_well(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "file")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    path.write_bytes(b"{}")
    with pytest.raises(NotOrdinaryError):
        read_ordinary(path)
    os.close(reader)


def test_a_file_is_read_whole_through_a_link_and_up_to_a_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "link").symlink_to("file")
    assert read_ordinary(tmp_path / "link", 1_000_000) == b"x" * 1_000_000
    (tmp_path / "file").write_bytes(b"x" * 1_000_001)
    with pytest.raises(NotOrdinaryError, match="it has more than 1 MB"):
        read_ordinary(tmp_path / "link", 1_000_000)
    with pytest.raises(FileNotFoundError):
        read_ordinary(tmp_path / "absent")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [MANIFEST_NAME, LOG_NAME])
async def test_a_backup_whose_file_is_none_is_told(tmp_path: Path, kind: str, name: str) -> None:
    async with Store.open(tmp_path / "store") as store:
        made = await store.backup(tmp_path / "backups")
    (made / name).unlink()
    put_no_file(kind, made / name)
    with pytest.raises((StoreUnavailable, UnknownBackup)) as refused:
        read_manifest(made)
    assert str(made) in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_backup_whose_log_is_none_keeps_no_forgetting_waiting(tmp_path: Path, kind: str) -> None:
    async with Store.open(tmp_path / "store") as store:
        made = await store.backup(tmp_path / "backups")
        (made / LOG_NAME).unlink()
        put_no_file(kind, made / LOG_NAME)
        with pytest.raises(StoreUnavailable, match="is in the way: it is no ordinary file"), read_only(made / LOG_NAME):
            pass
        with anyio.fail_after(60):
            forgot = await store.forget(project="shop", origin=Origin())
    assert forgot.unreachable == (str(made),)


def test_a_manifest_that_nests_without_end_is_told(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text("[" * 100_000)
    with pytest.raises(StoreDamaged, match=MANIFEST_NAME):
        read_manifest(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_lock_that_is_no_file_is_told(tmp_path: Path, kind: str) -> None:
    path = put_no_file(kind, tmp_path / "log.redb.lock")
    with pytest.raises(StoreUnavailable) as refused:
        async with Store.open(tmp_path):
            pass
    assert str(refused.value) == f"{path} is in the way: it is no ordinary file"
    assert refused.value.hint == "move it away and try again"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_catalog_that_is_no_file_is_told_and_made_anew_on_request(tmp_path: Path, kind: str) -> None:
    put_no_file(kind, tmp_path / "catalog.db")
    with pytest.raises(StoreDamaged, match=r"catalog\.db is no ordinary file") as refused:
        async with Store.open(tmp_path):
            pass
    assert "prowess rebuild" in refused.value.hint
    async with Store.open(tmp_path, replace_catalog=True) as store:
        assert (await store.stats()).episodes == 0
