"""The catalog follows the journal; where it cannot, readers are told and writers are not held up."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import numpy as np
import pytest
from storekit import ORIGIN, WHERE, explained, open_log, skill, sql, steps

from prowess.storage import projection
from prowess.storage.behind import as_far_as_known
from prowess.storage.catalog import Catalog
from prowess.storage.catalog.projector import HANDLERS, Projector
from prowess.storage.errors import (
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreDefect,
    StoreNewer,
    StoreUnavailable,
    UnknownEpisode,
)
from prowess.storage.events import ExposureMade, SkillPinned, SkillSaved, StepTracked
from prowess.storage.log.batch import View, head_of
from prowess.storage.log.codec import Head, decode_envelope, encode_envelope, pack
from prowess.storage.log.tables import JOURNAL
from prowess.storage.models import Exposure
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


def _append_unknown(path: Path) -> None:
    with open_log(path) as file, file.write() as transaction:
        view = View(transaction)
        event = ("moon.landed", 1, msgspec.Raw(pack({})))
        head, value = encode_envelope(head_of(view), event, "t", msgspec.Raw(pack(ORIGIN)))
        view.table(JOURNAL).insert(head.seq, value)


def _alter(path: Path, seq: int) -> None:
    with open_log(path) as file, file.write() as transaction:
        table = View(transaction).table(JOURNAL)
        envelope = decode_envelope(seq, table.get(seq))
        _, value = encode_envelope(
            Head(seq - 1, b"x" * 16),
            (envelope.type, 1, msgspec.Raw(pack(envelope.data))),
            "other",
            msgspec.Raw(pack(ORIGIN)),
        )
        table.insert(seq, value)


async def test_an_event_of_a_newer_version_stops_readers_and_not_writers(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
    _append_unknown(folder / "log.redb")
    async with Store.open(folder) as store:
        for _ in range(2):
            with pytest.raises(StoreNewer, match=r"moon\.landed") as raised:
                await store.stats()
        assert "upgrade" in explained(raised.value)
        assert (await store.track(WHERE, steps("b"), origin=ORIGIN)).numbers == (2,)
        with pytest.raises(StoreNewer):
            await store.rebuild()


async def test_a_journal_that_was_altered_is_noticed(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a", "b"), origin=ORIGIN)
    _alter(folder / "log.redb", 2)
    async with Store.open(folder) as store:
        with pytest.raises(StoreDamaged, match="event 2 of the log was altered") as raised:
            await store.rebuild()
        explained(raised.value)


async def test_a_cursor_that_does_not_fit_the_journal_leads_to_a_rebuild(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a", "b"), origin=ORIGIN)
        before = await store.dump()
    sql(folder / "catalog.db", "UPDATE cursor SET digest = x'00'")
    sql(folder / "catalog.db", "DELETE FROM steps")
    async with Store.open(folder) as store:
        assert await store.dump() == before


async def test_a_catalog_that_another_process_locks_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = Catalog.apply
    busy = [True, True, False]

    def sometimes(self: Catalog, *args: Any) -> None:
        if busy.pop(0):
            raise StoreBusy("locked", hint="-")
        applied(self, *args)

    monkeypatch.setattr(projection, "RETRY_S", 0.001)
    monkeypatch.setattr(Catalog, "apply", sometimes)
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
    assert busy == []


async def test_a_catalog_that_another_process_locks_is_waited_for_where_the_store_opens(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Catalog._connect
    busy = [True, True, False]

    def sometimes(self: Catalog, **options: Any) -> None:
        if busy.pop(0):
            raise StoreBusy("locked", hint="-")
        connect(self, **options)

    monkeypatch.setattr(projection, "RETRY_S", 0.001)
    monkeypatch.setattr(Catalog, "_connect", sometimes)
    async with Store.open(folder) as store:
        assert (await store.stats()).steps == 0
    assert busy == []


async def test_a_reader_does_not_wait_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(self: Catalog, *args: Any) -> None:
        raise StoreBusy("locked", hint="-")

    async with Store.open(folder) as store:
        monkeypatch.setattr(projection, "READ_WAIT_S", 0.01)
        monkeypatch.setattr(Catalog, "apply", locked)
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        with pytest.raises(StoreBusy) as raised:
            await store.stats()
        explained(raised.value)
        monkeypatch.undo()
        assert (await store.stats()).steps == 1


async def test_what_the_disk_refused_is_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Catalog, *args: Any) -> None:
        raise StoreUnavailable("disk full", hint="make room")

    async with Store.open(folder) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "apply", full)
            await store.track(WHERE, steps("a"), origin=ORIGIN)
            with pytest.raises(StoreUnavailable, match="disk full"):
                await store.stats()
        assert (await store.stats()).steps == 1


def _full(self: Catalog, *args: Any) -> None:
    raise StoreUnavailable("disk full", hint="make room")


async def test_who_only_looks_is_told_what_was_known_before_and_that_it_is_not_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
        with as_far_as_known() as behind:
            assert (await store.stats()).steps == 1
        assert behind.notes() == []
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "apply", _full)
            await store.track(WHERE, steps("b"), origin=ORIGIN)
            with as_far_as_known() as behind:
                assert (await store.stats()).steps == 1
            assert behind.notes() == ["without the newest events: disk full"]
            with pytest.raises(StoreUnavailable, match="disk full"):
                await store.stats()
        with as_far_as_known() as behind:
            assert (await store.stats()).steps == 2
        assert behind.notes() == []


async def test_what_was_forgotten_is_shown_to_nobody_while_the_disk_is_full(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
        monkeypatch.setattr(Catalog, "apply", _full)
        await store.track(WHERE, steps(*"bc" * 120), origin=ORIGIN)
        with pytest.raises(StoreUnavailable):
            await store.forget(episode_ids=[told.episode_id], origin=ORIGIN)
        with as_far_as_known(), pytest.raises(StoreUnavailable, match="disk full"):
            await store.episode(told.episode_id)
        monkeypatch.undo()
        with pytest.raises(UnknownEpisode):
            await store.episode(told.episode_id)


async def test_a_search_needs_only_what_bears_on_it_to_be_on_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        await store.append([SkillSaved(skill=skill("s1"), change="create")], origin=ORIGIN)
        assert list(await store.skills_by_id(["skill-s1"])) == ["skill-s1"]
        monkeypatch.setattr(Catalog, "apply", _full)
        noted = ExposureMade(exposure=Exposure(id="x1", at="2026-11-29T12:00:00.000Z", query="refund"))
        await store.append([noted], origin=ORIGIN)
        with pytest.raises(StoreUnavailable):
            await store.exposures()
        assert list(await store.skills_by_id(["skill-s1"])) == ["skill-s1"]
        monkeypatch.undo()
        assert [one.id for one in await store.exposures()] == ["x1"]


async def test_a_reader_that_waits_when_the_store_closes_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[type[Exception]] = []

    def locked(self: Catalog, *args: Any) -> None:
        raise StoreBusy("locked", hint="-")

    async def read(store: Store) -> None:
        try:
            await store.stats()
        except StoreClosed as error:
            refused.append(type(error))

    monkeypatch.setattr(Catalog, "apply", locked)
    async with anyio.create_task_group() as tasks, Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        tasks.start_soon(read, store)
        await anyio.lowlevel.checkpoint()
    assert refused == [StoreClosed]


async def test_a_bug_in_the_projection_is_told_and_does_not_end_the_store(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(self: Catalog, *args: Any) -> None:
        raise KeyError("x")

    async with Store.open(folder) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "apply", bug)
            await store.track(WHERE, steps("a"), origin=ORIGIN)
            with pytest.raises(StoreDefect, match="KeyError"):
                await store.stats()
        assert (await store.track(WHERE, steps("b"), origin=ORIGIN)).numbers == (2,)
        await store.rebuild()
        assert (await store.stats()).steps == 2


async def test_a_defect_is_told_with_its_event_and_passes_by_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = Projector.step_tracked

    def bug(self: Projector, event: StepTracked, seq: int) -> None:
        if event.action == "odd":
            raise KeyError("x")
        settled(self, event, seq)

    monkeypatch.setattr(projection, "AGAIN_S", 0.0)
    async with Store.open(folder) as store:
        with monkeypatch.context() as patch:
            patch.setitem(HANDLERS, "step.tracked", bug)
            await store.track(WHERE, steps("a", "b", "odd", "c"), origin=ORIGIN)
            for _ in range(2):
                with pytest.raises(StoreDefect, match=r"event 4 \(step\.tracked\).*KeyError\('x'\)") as raised:
                    await store.stats()
            assert "report" in explained(raised.value)
            with as_far_as_known(), pytest.raises(StoreDefect):
                await store.stats()
        assert (await store.stats()).steps == 4


async def test_a_defect_is_not_tried_again_for_each_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def bug(self: Catalog, *args: Any) -> None:
        tries.append(1)
        raise KeyError("x")

    monkeypatch.setattr(Catalog, "apply", bug)
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        for _ in range(5):
            with pytest.raises(StoreDefect):
                await store.stats()
    assert len(tries) == 2  # all together, and then event by event


async def test_a_catalog_that_could_not_roll_back_is_opened_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Catalog, *args: Any) -> None:
        self.close()  # as the connection does where it cannot roll back
        raise StoreUnavailable("the disk failed", hint="check the disk")

    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "apply", fail)
            await store.track(WHERE, steps("b"), origin=ORIGIN)
            with pytest.raises(StoreUnavailable, match="the disk failed"):
                await store.stats()
        assert (await store.stats()).steps == 2


async def test_a_row_that_is_damaged_is_told_and_does_not_end_the_store(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.stats()
    sql(folder / "catalog.db", "UPDATE episodes SET task = CAST(x'ff' AS TEXT)")
    async with Store.open(folder) as store:
        for _ in range(2):
            with pytest.raises(StoreDamaged) as raised:
                await store.episode(told.episode_id)
            assert "prowess rebuild" in explained(raised.value)
        assert (await store.track(WHERE, steps("b"), origin=ORIGIN)).numbers == (2,)
        await store.rebuild()
        assert (await store.episode(told.episode_id)).task == "refund the order"


async def test_a_search_waits_for_skills_and_not_for_what_was_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(self: Catalog, *args: Any) -> None:
        raise StoreBusy("locked", hint="-")

    async with Store.open(folder) as store:
        await store.append([SkillSaved(skill=skill("refund"), change="create")], origin=ORIGIN)
        assert await store.lexical("skill", "refund", limit=5)
        with monkeypatch.context() as patch:
            patch.setattr(projection, "READ_WAIT_S", 0.01)
            patch.setattr(Catalog, "apply", locked)
            shown = Exposure(id="x", at="2026-01-01T00:00:00.000Z", query="refund")
            await store.append([ExposureMade(exposure=shown)], origin=ORIGIN)
            [(found, _)] = await store.lexical("skill", "refund", limit=5)
            assert set(await store.skills_by_id([found])) == {found}
            with pytest.raises(StoreBusy):
                await store.exposures()
            more = [ExposureMade(exposure=shown), SkillSaved(skill=skill("return"), change="create")]
            await store.append(more, origin=ORIGIN)
            with pytest.raises(StoreBusy):
                await store.lexical("skill", "return", limit=5)
        assert await store.lexical("skill", "return", limit=5)
        assert [exposure.id for exposure in await store.exposures()] == ["x"]


def _steps_in_file(folder: Path) -> int:
    """How many there are without the write-ahead log."""
    with closing(sqlite3.connect(f"file:{folder / 'catalog.db'}?immutable=1", uri=True)) as database:
        [[count]] = database.execute("SELECT count(*) FROM steps")
    return int(count)


async def test_what_was_committed_goes_into_the_file_when_nobody_writes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, moving = threading.Event(), Catalog.checkpoint

    def move(catalog: Catalog) -> None:
        moving(catalog)
        done.set()

    monkeypatch.setattr(Catalog, "checkpoint", move)
    monkeypatch.setattr(projection, "QUIET_S", 600.0)
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
        assert _steps_in_file(folder) == 0
        monkeypatch.setattr(projection, "QUIET_S", 0.0)
        await store.track(WHERE, steps("b"), origin=ORIGIN)
        assert await anyio.to_thread.run_sync(done.wait, 20.0)
        assert _steps_in_file(folder) == 2


async def test_a_disk_that_refuses_it_ends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = threading.Event()

    def refuse(catalog: Catalog) -> None:
        refused.set()
        raise StoreUnavailable("the disk is full", hint="-")

    monkeypatch.setattr(Catalog, "checkpoint", refuse)
    monkeypatch.setattr(projection, "QUIET_S", 0.0)
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert await anyio.to_thread.run_sync(refused.wait, 20.0)
        await store.track(WHERE, steps("b"), origin=ORIGIN)
        assert (await store.stats()).steps == 2


async def test_rows_of_a_program_that_went_by_clocks_are_made_again(folder: Path) -> None:
    vector = np.ones(4, np.float32)
    pinned = SkillPinned(skill_id="skill-refund", pinned=True, at="2020-11-29T12:00:00.000Z")
    async with Store.open(folder) as store:
        await store.append([SkillSaved(skill=skill("refund"), change="create"), pinned], origin=ORIGIN)
        await store.append([SkillSaved(skill=skill("look"), change="create")], origin=ORIGIN)
        await store.forget(skill_ids=["skill-look"], origin=ORIGIN)
        await store.save_embeddings("skill", "m", ["skill-refund"], vector[None])
        before = await store.dump()
    for change in (
        f"UPDATE skills SET updated_at = '{pinned.at}'",
        "DELETE FROM history WHERE kind LIKE 'forgotten %'",
        "DELETE FROM migrations WHERE version > 5",
    ):
        sql(folder / "catalog.db", change)
    async with Store.open(folder) as store:
        assert {**await store.dump(), "migrations": []} == {**before, "migrations": []}
        assert [key for key, _ in await store.dense("skill", vector, limit=1, model="m")] == ["skill-refund"]
