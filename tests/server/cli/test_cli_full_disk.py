"""Commands that only look, while the disk is full."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from clikit import Command

from prowess.server.cli.exits import Exit
from prowess.storage.catalog import Catalog
from prowess.storage.errors import StoreUnavailable
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

NOTE = "without the newest events: the disk is full"


@pytest.fixture
def behind(home: Path, filled: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an episode that the catalog has, while the disk keeps it from what came after."""

    def full(self: Catalog, *args: Any) -> None:
        raise StoreUnavailable("the disk is full", hint="free some space")

    async def one_more() -> None:
        async with Store.open(home) as store:
            await store.stats()
            monkeypatch.setattr(Catalog, "apply", full)
            where = Where(task_id="shop/2", project="shop", session="s", task="More")
            await store.track(where, [NewStep(action="a")], origin=Origin(client="test", session="s"))

    anyio.run(one_more)
    return filled


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["stats"], "episodes     2"),
        (["status"], "2 episodes, 3 steps"),
        (["episodes", "list"], "shop/1"),
        (["episodes", "show", "shop/1"], "return_items"),
        (["skills", "list"], "return_items"),
        (["skills", "show", "return_items"], "get_order"),
        (["memories", "list"], ""),
        (["memskill", "show"], "insert"),
        (["find", "return items"], "return_items"),
        (["evolve", "status"], "episodes: 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_known_is_told_and_that_it_is_not_all(
    prowess: Command, behind: str, words: list[str], told: str
) -> None:
    done = prowess(*words)
    assert (done.code, NOTE in done.err.splitlines()) == (Exit.OK, True)
    assert told in done.out


def test_skills_can_be_taken_to_another_disk(prowess: Command, behind: str, tmp_path: Path) -> None:
    done = prowess("skills", "export", tmp_path / "away")
    assert done.code == Exit.OK
    assert (tmp_path / "away" / "return-items" / "SKILL.md").exists()


def test_what_decides_is_told_that_the_disk_is_full(prowess: Command, behind: str) -> None:
    done = prowess("skills", "archive", "return_items", "--json")
    assert (done.code, done.json["error"]["hint"]) == (Exit.UNAVAILABLE, "free some space")


def test_status_and_doctor_tell_that_the_catalog_cannot_follow(
    prowess: Command, filled: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(self: Catalog, *args: Any) -> None:
        raise KeyError("odd")

    async def one_more() -> None:
        async with Store.open(home) as store:
            await store.stats()
            head.append(store.head)
            monkeypatch.setattr(Catalog, "apply", bug)
            await store.track(Where(task_id="shop/2"), [NewStep(action="a")], origin=Origin(client="test"))

    head: list[int] = []
    anyio.run(one_more)
    told = f"cannot follow the log at event {head[0] + 1} (episode.opened): KeyError('odd')"
    assert told in prowess("status").out.replace("\n", " ")
    (found,) = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "store"]
    assert (found["state"], told in found["said"], "report" in found["mend"]) == ("fail", True, True)


@pytest.mark.parametrize(
    ("free", "state", "said"),
    [(40_000_000, "fail", "40 MB free"), (900_000_000, "warn", "900 MB free"), (60_000_000_000, "ok", "60.0 GB free")],
)
def test_the_doctor_tells_how_much_room_there_is(
    prowess: Command, monkeypatch: pytest.MonkeyPatch, free: int, state: str, said: str
) -> None:
    usage = shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr("prowess.server.doctor.examination.shutil.disk_usage", lambda place: usage)
    (found,) = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "disk"]
    assert (found["state"], found["said"]) == (state, said)
