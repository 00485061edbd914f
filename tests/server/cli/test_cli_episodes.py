"""``prowess episodes``."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import msgspec
import pytest
from clikit import Command

from prowess.server.cli.exits import Exit
from prowess.storage.events import EpisodeOpened, Event, StepTracked
from prowess.storage.ids import new_id
from prowess.storage.log.codec import encode_step, type_of
from prowess.storage.log.foreign import Foreign
from prowess.storage.models import NewStep, Origin
from prowess.storage.store import Store

AT = "2026-11-29T12:00:00.000Z"


def test_the_newest_come_first_with_their_steps(prowess: Command, filled: str) -> None:
    newer, older = prowess("episodes", "list", "--json").json
    assert newer["episode_id"] == filled
    assert (newer["task_id"], newer["attempt"], newer["reward"], newer["outcome"]) == ("shop/1", 2, 8.0, "success")
    assert [step["action"] for step in newer["steps"]] == ["get_order", "return_items"]
    assert newer["steps"][1]["args"] == {"items": ["42"]}
    assert (older["step_count"], older["steps"][0]["outcome"]) == (1, "failure")


def test_limit_and_filters(prowess: Command, filled: str) -> None:
    assert [e["episode_id"] for e in prowess("episodes", "list", "--limit", "1", "--json").json] == [filled]
    assert [e["attempt"] for e in prowess("episodes", "list", "--outcome", "failure", "--json").json] == [1]
    assert prowess("episodes", "list", "--project", "other", "--json").json == []
    assert prowess("episodes", "list", "--since", "2999-01-01T00:00:00Z", "--json").json == []


def test_a_time_without_a_zone_is_refused(prowess: Command, filled: str) -> None:
    ended = prowess("episodes", "list", "--since", "2026-01-01T00:00:00")
    assert ended.code == Exit.USAGE
    assert "zone" in ended.err


def test_the_list_for_a_person_is_a_table_without_cut_cells(prowess: Command, filled: str) -> None:
    lines = prowess("episodes", "list").out.splitlines()
    assert lines[0].split()[:4] == ["EPISODE", "TASK", "PROJECT", "STEPS"]
    assert lines[1].split()[:6] == [filled, "shop/1", "shop", "2", "8", "success"]
    assert lines[1].endswith("  Return the kettle")


@pytest.mark.parametrize("by_task", [False, True])
def test_one_episode_with_its_rewards(prowess: Command, filled: str, by_task: bool) -> None:
    shown = prowess("episodes", "show", "shop/1" if by_task else filled, "--json").json
    assert shown["episode_id"] == filled
    assert [(reward["value"], reward["reason"]) for reward in shown["rewards"]] == [(8.0, "thanks")]
    assert [step["number"] for step in shown["steps"]] == [1, 2]


def test_one_episode_for_a_person(prowess: Command, filled: str) -> None:
    out = prowess("episodes", "show", filled).out
    assert "task        Return the kettle\n" in out
    assert "outcome     success (reward 8)\n" in out
    assert "reward 8 for the episode by agent: thanks\n" in out


def test_an_unknown_episode_is_not_found(prowess: Command, filled: str) -> None:
    ended = prowess("episodes", "show", "nothing")
    assert ended.code == Exit.NOT_FOUND
    assert ended.err == (
        "error: no episode or task has the id 'nothing'\nhint: `prowess episodes list` shows those there are\n"
    )


def test_what_came_back_is_shown_in_part_and_said_to_be(prowess: Command, home: Path, tmp_path: Path) -> None:
    said = ["x" * 101, "one\ntwo", "whole", "  ", ""]
    steps = [{"action": f"a{place}", "observation": text} for place, text in enumerate(said)]
    (tmp_path / "e.jsonl").write_text(json.dumps({"task_id": "t", "steps": steps}))
    assert prowess("import", "jsonl", str(tmp_path / "e.jsonl")).code == 0
    shown = prowess("episodes", "show", "t").out
    lines = [line.split(maxsplit=1)[1] for line in shown.splitlines() if line.startswith("  ")]
    assert lines == [f"a0 → {'x' * 99}…", "a1 → one…", "a2 → whole", "a3", "a4"]


def _told(seq: int, event: Event, raw: bytes | None = None) -> Foreign:
    return Foreign(
        log="0198c0de-0000-7000-8000-000000000001",
        epoch=1,
        seq=seq,
        clock=seq,
        type=type_of(event),
        version=1,
        at=AT,
        origin=Origin(machine="3f2a", client="test"),
        data=msgspec.to_builtins(event),
        raw=raw,
        person="anna",
    )


@pytest.mark.parametrize(("raw", "missing"), [(0, 2), (1, 1), (2, 0)])
def test_what_lies_on_another_machine_is_told_with_the_way_to_it(
    prowess: Command, home: Path, raw: int, missing: int
) -> None:
    key = new_id()
    step = NewStep(action="look", observation="seen")

    async def receive() -> None:
        opened = EpisodeOpened(episode_id=key, project="shop", session="s", task_id="theirs", attempt=1, at=AT)
        told = [_told(1, opened)]
        for number in (1, 2):
            tracked = StepTracked(episode_id=key, number=number, at=AT, action="look")
            told.append(_told(1 + number, tracked, encode_step(step, AT, b"") if number <= raw else None))
        async with Store.open(home) as store:
            await store.receive(told)

    anyio.run(receive)
    shown = prowess("episodes", "show", "theirs", "--json").json
    assert shown["elsewhere"] == {"machine": "3f2a", "person": "anna", "raw": raw}
    out = prowess("episodes", "show", key).out
    steps = "1 step" if missing == 1 else f"{missing} steps"
    assert (f"of {steps} there are summaries here" in out) == (missing > 0)
    assert (f"on anna's machine 3f2a: `prowess episodes show {key}` there shows it" in out) == (missing > 0)
    assert ("sync_raw" in out) == (missing > 0)


def test_of_what_was_recorded_here_no_other_machine_is_named(prowess: Command, filled: str) -> None:
    assert prowess("episodes", "show", filled, "--json").json["elsewhere"] is None
    assert "summaries" not in prowess("episodes", "show", filled).out


def test_imported_work_is_dated_by_its_first_step(prowess: Command, tmp_path: Path) -> None:
    line = {"task_id": "old", "steps": [{"action": "look", "timestamp": AT}], "reward": 5}
    (tmp_path / "old.jsonl").write_text(json.dumps(line))
    assert prowess("import", "jsonl", str(tmp_path / "old.jsonl")).code == Exit.OK
    [told] = prowess("episodes", "list", "--json").json
    assert told["began_at"] == AT < told["opened_at"]
    for words in (("list",), ("show", "old")):
        assert AT in prowess("episodes", *words).out
