"""``prowess episodes``."""

from __future__ import annotations

import pytest
from clikit import Command

from prowess.server.cli.exits import Exit


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
    assert "hint:" in ended.err
