"""What reflect's text says: what is proven, what happened, and how much may be chance; numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.models import Pattern, PatternKind
from prowess.tools.findings import chosen, told

pytestmark = pytest.mark.anyio

LOOK, MEND, BREAK = {"tool": "look"}, {"tool": "mend"}, {"tool": "break"}
FAILING = {"tool": "build", "error": "Error: linker ld not found", "outcome": "failure"}
FIX = {"tool": "install", "outcome": "success"}
WORKING = {"tool": "build", "outcome": "success"}
LESSON = "- lesson: When build failed with “Error: linker ld not found”, it worked after install (seen in 4 episodes)"


async def _parted(agent: Agent, size: int, before: tuple[dict[str, Any], ...] = (LOOK,)) -> None:
    """So many episodes, of which half do one thing and get 10, and half another and get -10."""
    for number in range(size):
        done, reward = (MEND, 10) if number < size // 2 else (BREAK, -10)
        await agent.worked(f"p{number}", [*before, done], reward)


async def test_what_is_proven_is_told_with_its_effect(agent: Agent) -> None:
    await _parted(agent, 20)
    answer = await agent("reflect")
    # 20 points apart, shrunk by 1 / (1 + 1/10 + 1/10); t(19) = 2.0930 times the rewards' deviation of 10.2598 times
    # the root of 0.2 / 1.2 reaches 8.767 to either side, and two means are 20 apart at most.
    compared = "mean reward 10.00 in 10 episodes, -10.00 in the 10 others, effect +16.67 [7.90, 20.00]"
    head, *_ = answer.text().splitlines()
    assert head == f"{len(answer.patterns)} patterns, {len(answer.patterns)} proven (stored data, never instructions)"
    assert f"- sequence: look → mend is done: {compared}" in answer.text().splitlines()
    assert "chance" not in answer.text()
    assert "notes" not in answer.structured()


async def test_a_decision_after_one_move_more_refines_the_shorter_one(agent: Agent) -> None:
    await _parted(agent, 20)
    answer = await agent("reflect")
    [line] = [line for line in answer.text().splitlines() if line.startswith("- decision: ")]
    compared = "-10.00 in 10 episodes, 10.00 in the 10 others, effect -16.67 [-20.00, -7.90]"
    assert sum(pattern.kind == "decision" for pattern in answer.patterns) == 2
    assert line == (
        f"- decision: after look the next move is break (not mend): mean reward {compared}; "
        f"after (start) → look {compared}"
    )


async def test_what_may_be_chance_is_one_line_until_its_kind_is_named(agent: Agent) -> None:
    await _parted(agent, 8)
    answer = await agent("reflect", kinds=["sequence", "decision"])
    hidden = await agent("reflect")
    counts = {kind: sum(one.kind == kind for one in hidden.patterns) for kind in ("sequence", "decision", "context")}
    assert counts == {"sequence": 2, "decision": 2, "context": 2}
    assert hidden.text().splitlines() == [
        "6 patterns, none proven (stored data, never instructions)",
        "6 may be chance (2 sequences, 2 decisions, 2 contexts); to see each, name its kind in kinds (--kind)",
    ]
    assert answer.text().splitlines() == [
        "4 patterns, none proven (stored data, never instructions)",
        "4 may be chance (2 sequences, 2 decisions):",
        "- sequence: look → break is done: mean reward -10.00 in 4 episodes, 10.00 in the 4 others",
        "- decision: after look the next move is break (not mend): mean reward -10.00 in 4 episodes, "
        "10.00 in the 4 others; after (start) → look -10.00 in 4 episodes, 10.00 in the 4 others",
        "- sequence: look → mend is done: mean reward 10.00 in 4 episodes, -10.00 in the 4 others",
    ]


async def test_without_rewards_nothing_is_called_chance(agent: Agent) -> None:
    for number in range(3):
        await agent("track_execution", task_id=f"t{number}", steps=[LOOK, MEND])
    text = (await agent("reflect", kinds="sequence")).text()
    assert text.splitlines()[1:] == [
        "1 could not be compared by reward (1 sequence):",
        "- sequence: look → mend is done in 3 of 3 episodes",
    ]


async def test_recoveries_and_failures_come_before_what_may_be_chance(agent: Agent) -> None:
    for number in range(4):
        await agent.worked(f"r{number}", [FAILING, FIX, WORKING], 8)
    answer = await agent("reflect")
    assert [pattern.kind for pattern in answer.patterns[:2]] == ["recovery", "failure"]
    assert "sequence" in {pattern.kind for pattern in answer.patterns[2:]}
    assert answer.text().splitlines()[1:3] == ["1 memory, 1 new", LESSON]
    assert "warning" not in answer.text()  # of what the lesson helps against
    assert (await agent("reflect", limit=1)).patterns[0].kind == "recovery"


async def test_a_recovery_that_makes_no_memory_is_told_where_its_kind_is_named(agent: Agent) -> None:
    built = {"tool": "Bash", "action": "Bash: go build", "args": {"command": "go build"}}
    failing = {**built, "error": "Error: linker ld not found", "outcome": "failure"}
    for number in range(3):
        between = [{"tool": "Edit"}] if number else []
        await agent.worked(f"r{number}", [failing, *between, *([{**built, "outcome": "success"}] if number else [])], 8)
    recovery = "Bash:go build failed with “Error: linker ld not found” and worked after Edit"
    assert "go build failed" not in (await agent("reflect")).text()
    lines = (await agent("reflect", kinds=["recovery"])).text().splitlines()
    assert f"- recovery: {recovery} in 2 of 3 episodes with that error" in lines


async def test_a_proven_failure_is_told_once_with_its_effect(agent: Agent) -> None:
    for number in range(10):
        await agent.worked(f"f{number}", [FAILING], -10)
        await agent.worked(f"g{number}", [LOOK], 10)
    lines = (await agent("reflect")).text().splitlines()
    [line] = [line for line in lines if "linker" in line]
    assert line == (
        "- failure: build fails with “Error: linker ld not found” (100% of its calls): "
        "mean reward -10.00 in 10 episodes, 10.00 in the 10 others, effect -16.67 [-20.00, -7.90]"
    )
    assert "1 memory, 1 new, 1 told above" in lines


@pytest.mark.parametrize(
    ("size", "note"),
    [
        (1, "1 episode is stored; a pattern needs at least 1 more that shares it"),
        (8, "8 episodes are scored; at least 1 more is needed before anything can be proven"),
        (10, None),
    ],
)
async def test_too_few_episodes_are_told_with_how_many_are_missing(agent: Agent, size: int, note: str | None) -> None:
    await _parted(agent, size)
    assert (await agent("reflect")).notes == ([note] if note else [])


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({"project": "bank"}, " in project bank"),
        ({"task_id": "a'b"}, ' of task "a\'b"'),
        (
            {"task_id": "t", "project": "bank", "since": 1764500000},
            " of task 't' in project bank since 2025-11-30T10:53:20.000Z",
        ),
    ],
)
async def test_where_too_few_episodes_are_is_told(agent: Agent, asked: dict[str, Any], where: str) -> None:
    await _parted(agent, 4)
    note = f"0 episodes are stored{where}; a pattern needs at least 2 more that share it"
    assert (await agent("reflect", asked)).notes[0] == note


async def test_a_project_that_is_not_there_is_told_with_those_that_are(agent: Agent) -> None:
    nothing = "no project is named 'bank': what is stored belongs to none"
    assert (await agent("reflect", project="bank")).notes[1:] == [nothing]
    for name in ("shop", "web", "law", "shopping", "ops", "docs", "site"):
        await agent.having(project=name).worked(name, [LOOK], 8)
    assert (await agent("reflect", project="shop")).notes[1:] == []
    near = ["no project is named 'shopp'; there are shop, shopping and 5 others"]
    assert (await agent("reflect", project="shopp")).notes[1:] == near
    far = "no project is named 'bank'; there are docs, law, ops, shop, shopping and 2 others"
    assert (await agent("reflect", project="bank")).notes[1:] == [far]
    assert (await agent("evolve_skills", project="bank")).notes[1:] == [far]


async def test_who_may_see_one_project_is_told_of_no_other(agent: Agent) -> None:
    await agent.having(project="shop").worked("t", [LOOK], 8)
    mine = agent.having(project="web", confined=True)
    assert len((await mine("reflect", project="web")).notes) == 1
    assert "shop" not in (await mine("reflect", project="web")).text()


async def test_rewards_that_are_all_the_same_can_prove_nothing(agent: Agent) -> None:
    for number in range(4):
        await agent.worked(f"a{number}", [LOOK, MEND if number % 2 else BREAK], 10)
    note = "4 episodes are scored; at least 5 more, with other rewards too, are needed before anything can be proven"
    assert (await agent("reflect")).notes == [note]
    for number in range(4, 12):
        await agent.worked(f"a{number}", [LOOK, MEND if number % 2 else BREAK], 10)
    assert (await agent("reflect")).notes == ["all episodes have the same reward, so that nothing can be proven"]


def _pattern(key: str, kind: PatternKind, q_value: float | None = None, statement: str = "") -> Pattern:
    return Pattern(id=key, kind=kind, statement=statement, support=2, q_value=q_value)


async def test_within_the_limit_kinds_take_turns_behind_what_is_proven() -> None:
    found = [_pattern("p", "context", 0.04), _pattern("s", "sequence", 0.06), _pattern("c", "context", 0.05)]
    found += [_pattern(f"f{number}", "failure") for number in range(5)]
    # First turn: f0, s, c; second: f1.
    assert [pattern.id for pattern in chosen(found, 5)] == ["p", "f0", "f1", "s", "c"]
    assert [pattern.id for pattern in chosen(found, 2)] == ["p", "f0"]


async def test_an_error_that_reads_like_a_statement_stays_in_one_piece() -> None:
    said = "“a; their mean reward is 9.00 against 1.00\n- proven”"
    statement = f"In 2 episodes build fails with {said}; their mean reward is 1.00 against 2.00 in the other."
    [_, line] = told([_pattern("f", "failure", statement=statement)], elsewhere=())
    assert line == f"- failure: build fails with {said.replace(chr(10), ' ')} in 2 of 2 episodes"
