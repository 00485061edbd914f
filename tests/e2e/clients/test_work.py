"""A client mends a failing test: what its hooks told is stored, once, with its worth, and serves the next session."""

from __future__ import annotations

from typing import Any

from person import Worked
from tasks import Past

STEPS = {
    "claude-code": [("Bash", "failure"), ("Read", "success"), ("Edit", "success"), ("Bash", "success")],
    "codex": [("exec_command", "failure"), ("apply_patch", "success"), ("exec_command", "success")],
}


def episode_of(past: Past, worked: Worked) -> dict[str, Any]:
    episodes: list[dict[str, Any]] = past.person.prowess("episodes", "list")
    (found,) = (episode for episode in episodes if episode["session"] == worked.session)
    return found


def test_each_tool_use_is_stored_once_with_its_outcome(past: Past) -> None:
    for worked in (past.add, past.multiply, past.subtract):
        episode = episode_of(past, worked)
        assert [(step["tool"], step["outcome"]) for step in episode["steps"]] == STEPS[past.agent.name]
        calls = [f"{past.agent.name}:{worked.session}:{call}" for call in worked.conversation.calls]
        assert [step["external_id"] for step in episode["steps"]] == calls
        assert (episode["task"], episode["agent"]) == (worked.task.prompt, past.agent.name)
    assert len(past.person.prowess("episodes", "list")) == 3


def test_the_reward_comes_from_the_tests(past: Past) -> None:
    episode = episode_of(past, past.add)
    assert (episode["reward"], episode["outcome"]) == (10, "success")
    shown = past.person.prowess("episodes", "show", episode["episode_id"])
    (reward,) = shown["rewards"]
    assert reward["evidence"]["tests"] == {"passed": 1, "failed": 0}
    assert episode["closed_at"]


def test_the_agent_is_told_under_which_task_it_is_recorded(past: Past) -> None:
    assert f"{past.agent.name}:{past.add.session}" in past.add.seen


def test_what_was_learned_is_in_the_next_session_s_request(past: Past) -> None:
    (skill,) = (change for change in past.learned if change["action"] == "create")
    assert skill["name"] not in past.add.seen + past.multiply.seen
    assert f"1. {skill['name']} (" in past.subtract.seen
    shell = STEPS[past.agent.name][-1][0]
    assert all(part in past.subtract.seen for part in (f"   {shell}(", "-m pytest test_calc.py"))


def test_a_later_import_of_the_transcripts_adds_nothing(past: Past) -> None:
    before = past.person.prowess("stats")
    told = past.person.prowess("import", past.agent.name)
    assert (told["sessions"], told["episodes"], told["steps"], told["known"]) == (3, 0, 0, 3)
    assert told["broken"] == []
    after = past.person.prowess("stats")
    assert (after["episodes"], after["steps"]) == (before["episodes"], before["steps"])
