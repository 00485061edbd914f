"""Backups that the server makes by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from backgroundkit import Server, serving

from prowess.server.background.backups import Backups, folder_of
from prowess.storage.models import EpisodeFilter
from prowess.storage.restore import restore

pytestmark = pytest.mark.anyio


class Calendar:
    """Wall time that the tests move; it begins now, which is when the store says that its backups were made."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@asynccontextmanager
async def backing_up(home: Path, **settings: Any) -> AsyncIterator[tuple[Server, Calendar]]:
    calendar = Calendar()
    async with serving(home, [Backups(calendar)], **{"backup_hours": 24.0, "backup_keep": 2, **settings}) as server:
        yield server, calendar


def _backups(home: Path) -> list[Path]:
    return sorted(folder_of(home).glob("prowess-*"))


async def test_a_backup_is_made_when_something_changed_and_the_last_is_old(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, calendar):
        await server.looks_when_quiet()
        assert _backups(tmp_path) == []  # nothing is in the store yet
        await server.works(1)
        await server.looks_when_quiet()
        (first,) = _backups(tmp_path)
        await server.works(1)
        await server.looks_when_quiet()
        assert _backups(tmp_path) == [first]  # it is too new
        calendar.ahead = timedelta(hours=24)
        await server.looks_when_quiet()
        first, second = _backups(tmp_path)
        calendar.ahead = timedelta(hours=72)
        await server.looks_when_quiet()
        assert _backups(tmp_path) == [first, second]  # it has everything
    restore(tmp_path / "elsewhere", second)
    async with serving(tmp_path / "elsewhere") as restored:
        assert len(await restored.runtime.store.episodes(EpisodeFilter(project="shop"))) == 2
    assert folder_of(tmp_path).stat().st_mode & 0o777 == 0o700


async def test_a_restart_knows_the_last_backup(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert len(_backups(tmp_path)) == 1


async def test_only_the_newest_are_kept_and_the_others_forgotten(tmp_path: Path) -> None:
    async with backing_up(tmp_path, backup_hours=0.000001) as (server, calendar):
        own = await server.runtime.store.backup(tmp_path / "a-persons-own")
        for hours in range(1, 5):
            await server.works(1)
            calendar.ahead = timedelta(hours=hours)
            await server.looks_when_quiet()
        kept = _backups(tmp_path)
        assert len(kept) == 2
        assert set(await server.runtime.store.backups()) == {str(own), *map(str, kept)}
        for path in kept:
            (path / "log.redb").unlink()
            (path / "manifest.json").unlink()
            path.rmdir()
        await server.works(1)
        await server.looks_when_quiet()
        assert len(await server.runtime.store.backups()) == 3
    assert own.exists()


async def test_zero_switches_backups_off(tmp_path: Path) -> None:
    async with backing_up(tmp_path, backup_hours=0.0) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert not (tmp_path / "backups").exists()


async def test_a_backup_from_the_future_does_not_count(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, calendar):
        await server.works(1)
        await server.looks_when_quiet()
        await server.works(1)
        await server.looks_when_quiet()
        calendar.ahead = -timedelta(days=365)  # the clock was put right
        await server.looks_when_quiet()
        assert len(_backups(tmp_path)) == 2


async def test_backups_from_the_future_go_before_those_that_are_made_then(tmp_path: Path) -> None:
    async with backing_up(tmp_path, backup_hours=0.000001) as (server, calendar):
        for year in (2098, 2099):
            await server.works(1)
            calendar.ahead += timedelta(hours=1)
            await server.looks_when_quiet()
            _backups(tmp_path)[0].rename(folder_of(tmp_path) / f"prowess-{year}0101T000000000000Z")
        for left in (1, 0):
            await server.works(1)
            calendar.ahead += timedelta(hours=1)
            await server.looks_when_quiet()
            of_future = [path for path in _backups(tmp_path) if path.name.startswith("prowess-209")]
            assert (len(of_future), len(_backups(tmp_path))) == (left, 2)


async def test_a_disk_without_room_is_told_and_not_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("prowess.server.background.backups.SPARE", 10**12)
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
        assert "free on the disk" in caplog.text
    assert _backups(tmp_path) == []


async def test_what_a_killed_server_left_half_made_is_removed(tmp_path: Path) -> None:
    leftover = folder_of(tmp_path) / ".prowess-20261129T120000000000Z.part"
    leftover.mkdir(parents=True)
    (leftover / "log.redb").write_text("half")
    (folder_of(tmp_path) / "prowess-broken").mkdir()
    (folder_of(tmp_path) / "prowess-broken" / "manifest.json").write_text("{")
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert not leftover.exists()
    assert len(_backups(tmp_path)) == 2
