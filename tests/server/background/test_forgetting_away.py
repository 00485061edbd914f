"""The server goes by itself through backups that were away when something was forgotten."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from backgroundkit import serving

from prowess.server.background import forgetting
from prowess.server.background.background import FIRST_RETRY_SECONDS
from prowess.server.background.forgetting import Forgetting
from prowess.storage.models import Origin

pytestmark = pytest.mark.anyio

SECRET = b"#W1"  # the order of the first attempt


def _holds(backup: Path) -> bool:
    return SECRET in (backup / "log.redb").read_bytes()


async def test_a_backup_that_was_away_is_gone_through_when_it_is_there_again(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", [Forgetting()]) as server:
        store = server.runtime.store
        await server.works(1)
        copy, away = await store.backup(tmp_path / "copy"), tmp_path / "away"
        copy.rename(away)
        await store.forget(task_id="t1", origin=Origin(actor="person"))
        assert _holds(away)
        await server.looks_when_quiet()
        away.rename(copy)
        await server.looks_when_quiet()
        assert not _holds(copy)
        assert await store.owed() == ()


async def test_one_that_cannot_be_changed_is_tried_again_later(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", [Forgetting()]) as server:
        store = server.runtime.store
        await server.works(1)
        copy = await store.backup(tmp_path / "copy")
        whole = (copy / "log.redb").read_bytes()
        (copy / "log.redb").unlink()
        await store.forget(task_id="t1", origin=Origin(actor="person"))
        await server.looks_when_quiet()  # fails
        (copy / "log.redb").write_bytes(whole)
        await server.looks_when_quiet()
        assert _holds(copy)  # it is not time yet
        await server.looks(FIRST_RETRY_SECONDS)
        assert not _holds(copy)


async def test_a_disk_that_hangs_keeps_no_other_waiting_and_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, answers, is_file = [], threading.Event(), Path.is_file

    def look(path: Path) -> bool:
        if tmp_path / "a" in path.parents:
            looks.append(path)
            answers.wait(180)
        return is_file(path)

    monkeypatch.setattr(forgetting, "LOOK_SECONDS", 0.1)
    async with serving(tmp_path / "home", [Forgetting()]) as server:
        store = server.runtime.store
        await server.works(1)
        hanging, other = await store.backup(tmp_path / "a"), await store.backup(tmp_path / "b")
        for copy in (hanging, other):
            copy.rename(copy.with_suffix(".away"))
        await store.forget(task_id="t1", origin=Origin(actor="person"))
        for copy in (hanging, other):
            copy.with_suffix(".away").rename(copy)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "is_file", look)
            try:
                await server.looks_when_quiet()
                assert (_holds(hanging), _holds(other), len(looks)) == (True, False, 1)
            finally:
                answers.set()
        with anyio.fail_after(180):
            while _holds(hanging):
                await server.looks_when_quiet()
