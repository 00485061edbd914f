"""A log that redb broke off in is opened anew by whoever comes next, but not for ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redb
from breaking import SAID, break_off
from storekit import AT, ORIGIN, WHERE, steps

from prowess.storage.errors import StoreClosed, StoreDamaged, StoreError, WriteUncertain
from prowess.storage.log import renewals
from prowess.storage.log.file import LogFile
from prowess.storage.log.renewals import DAY_SECONDS, FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS, Renewals
from prowess.storage.models import NewStep
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

TOLD = "redb found the log damaged: internal error: entered unreachable code"
PAGE = 4096  # bytes of redb's pages


@contextmanager
def _without_pages(path: Path) -> Iterator[None]:
    """The file with no page but the first readable, which is whole again at the end."""
    whole = path.read_bytes()
    used = [start for start in range(PAGE, len(whole), PAGE) if any(whole[start : start + PAGE])]

    def fill(content: bytes) -> None:
        with path.open("r+b", buffering=0) as file:
            for start in used:
                file.seek(start)
                file.write(content[start : start + PAGE])

    fill(b"\xa5" * len(whole))
    yield
    fill(whole)


async def test_what_redb_could_not_read_once_is_read_when_the_disk_can_again(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        for number in range(40):
            told = await store.track(
                WHERE, [NewStep(action=f"{number}", observation=str(number) * 5000)], origin=ORIGIN
            )
    async with Store.open(tmp_path) as store:
        with _without_pages(tmp_path / "log.redb"), pytest.raises(StoreDamaged, match="redb found the file damaged"):
            await store.steps(told.episode_id)
        assert store.damage.startswith("redb found the log damaged: ")
        assert store.damage.endswith("; it is opened anew by the next call")
        assert len(await store.steps(told.episode_id)) == 40
        assert store.damage == ""
        assert store.renewed.endswith("; it was opened anew once in the last day")
        await store.track(WHERE, steps("and on"), origin=ORIGIN)
        assert len(await store.steps(told.episode_id)) == 41


async def test_a_write_that_met_it_is_uncertain_and_done_when_it_comes_again(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        break_off(store)
        with pytest.raises(WriteUncertain, match=SAID) as caught:
            await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        assert caught.value.hint.startswith("try again soon, since it is opened anew")
        assert (await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")).numbers == (1,)
        assert store.head == 2


async def test_what_landed_before_redb_broke_off_is_seen_whoever_opens_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(tmp_path) as store:
        break_off(store)
        with pytest.raises(StoreDamaged):
            await store.mark("m")
        assert await store.mark("m") == 0  # opened anew once, and not again soon
        write = LogFile.write

        @contextmanager
        def landing(file: LogFile) -> Iterator[Any]:
            with write(file) as transaction:
                yield transaction
            break_off(store)
            with file.read():
                pass

        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "write", landing)
            with pytest.raises(WriteUncertain):
                await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        monkeypatch.setattr(renewals, "FIRST_PAUSE_SECONDS", 0.0)
        await store.mark("m")
        again = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        assert store.head == again.seq == 2
        assert [episode.steps for episode in await store.episodes()] == [1]


async def test_a_search_that_met_it_finds_the_next_time(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        break_off(store)
        with pytest.raises(StoreDamaged):
            await store.episodes()
        assert len(await store.episodes()) == 1


async def test_one_that_breaks_again_soon_stays_and_tells_when_it_is_opened(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        break_off(store)
        with pytest.raises(StoreDamaged):
            await store.mark("m")
        assert await store.mark("m") == 0
        break_off(store)
        for _ in range(2):
            with pytest.raises(StoreDamaged):
                await store.mark("m")
        assert store.damage == f"{TOLD}; it is opened anew in 60 seconds"
        assert store.renewed == f"{TOLD}; it was opened anew once in the last day"


async def test_a_file_that_cannot_be_opened_anew_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[LogFile]()

    def refuse(file: LogFile) -> None:
        tries.append(file)
        raise redb.Corrupted("it still is")

    async with Store.open(tmp_path) as store:
        break_off(store)
        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "_open", refuse)
            for said in (SAID, "it still is", SAID, SAID):
                with pytest.raises(StoreDamaged, match=said):
                    await store.mark("m")
            with pytest.raises(StoreError, match=SAID):
                await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert len(tries) == 1
        monkeypatch.setattr(renewals, "FIRST_PAUSE_SECONDS", 0.0)
        await store.track(WHERE, steps("a"), origin=ORIGIN)


def test_a_closed_file_is_not_opened_anew(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.redb", AT)
    file.damage = SAID
    file.close()
    with pytest.raises(StoreClosed), file.read():
        pass
    LogFile(tmp_path / "log.redb", AT).close()


class _Moments:
    """Renewals at times that the test chooses."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.renewals = Renewals(lambda: self.now)

    def allowed_after(self, seconds: float) -> bool:
        self.now += seconds
        return not self.renewals.pause()


def test_each_of_a_day_waits_longer_than_the_one_before() -> None:
    moments = _Moments()
    assert moments.allowed_after(0)
    moments.renewals.note(SAID)
    pause = FIRST_PAUSE_SECONDS
    for _ in range(8):
        assert not moments.allowed_after(pause - 1)
        assert moments.allowed_after(1)
        moments.renewals.note(SAID)
        pause *= 2
    assert pause < LAST_PAUSE_SECONDS
    assert not moments.allowed_after(pause - 1)
    assert moments.renewals.next_after(SAID) == f"{TOLD}; it is opened anew in 1 seconds"
    assert moments.renewals.told() == f"{TOLD}; it was opened anew 9 times in the last day"
    assert moments.allowed_after(1)
    moments.renewals.note(SAID)
    assert not moments.allowed_after(LAST_PAUSE_SECONDS - 1)
    assert moments.allowed_after(1)
    assert moments.allowed_after(DAY_SECONDS)
    assert moments.renewals.told() == ""
