"""The demo's split and its counting, worked out by hand."""

from __future__ import annotations

import pytest

from prowess.server.demo_score import (
    MUTATING,
    Answer,
    Split,
    Task,
    hit,
    jaccard,
    load_rounds,
    load_split,
    mean,
    mutating,
    rates,
)

RETURN, CANCEL, EXCHANGE = "return_delivered_order_items", "cancel_pending_order", "exchange_delivered_order_items"


def task(*gold: str) -> Task:
    return Task("retail/1", "somebody", "", gold)


@pytest.mark.parametrize(
    ("tools", "gold", "is_hit", "overlap"),
    [
        (("get_order_details", RETURN), ("find_user_id_by_email", RETURN), True, 1.0),
        ((RETURN, RETURN, CANCEL), (CANCEL, RETURN), True, 1.0),
        ((RETURN, CANCEL), (RETURN,), False, 0.5),
        ((RETURN, CANCEL), (RETURN, EXCHANGE), False, 1 / 3),
        ((EXCHANGE,), (RETURN,), False, 0.0),
        (("get_order_details",), ("get_user_details",), True, 1.0),
        ((), (RETURN,), False, 0.0),
        (None, (RETURN,), False, 0.0),
        (None, (), False, 0.0),
    ],
)
def test_a_hit_is_the_same_set_of_mutating_tools(
    tools: tuple[str, ...] | None, gold: tuple[str, ...], is_hit: bool, overlap: float
) -> None:
    answer = Answer("x", tools)
    assert hit(answer, task(*gold)) is is_hit
    assert jaccard(answer, task(*gold)) == pytest.approx(overlap)


def test_a_mean_of_nothing_is_nothing() -> None:
    assert (mean([]), mean([True, False, False])) == (0.0, 0.3333)


def test_rates_are_of_the_best_answer_and_of_the_best_among_three() -> None:
    both, ret, exc = Answer("b", (RETURN, CANCEL)), Answer("r", (RETURN,)), Answer("e", (EXCHANGE,))
    found = [[both, exc, ret, ret], [exc, exc, exc, ret], [], [ret]]
    told = rates(found, [task(RETURN)] * 3 + [task(RETURN, CANCEL)])
    # Best: a half, none, no answer, a half. Of three: the first has it in third place; a fourth does not count.
    assert told == {
        "hit_rate": 0.0,
        "jaccard": 0.25,
        "hit_rate_best_of_3": 0.25,
        "jaccard_best_of_3": 0.375,
    }


@pytest.mark.parametrize("split", [*map(load_split, range(5)), *load_rounds()])
def test_no_user_is_on_both_sides(split: Split) -> None:
    fed = {episode["task_id"] for episode in split.fed}
    unseen = {task.id for task in split.unseen}
    assert fed
    assert unseen
    assert not fed & unseen
    # Names in what was fed: an unseen user's name must not be told there.
    told = str(split.fed).lower()
    for user in {task.user for task in split.unseen}:
        assert f"'{user.replace(' ', '_')}" not in told


def test_the_split_is_always_the_same() -> None:
    split = load_split()
    assert (len(split.fed), len(split.unseen)) == (46, 33)
    assert split == load_split()


def test_the_rounds_ask_each_task_once_and_feed_the_runs_of_all_others() -> None:
    rounds = load_rounds()
    assert [(len(split.fed), len(split.unseen)) for split in rounds] == [(52, 37), (54, 42), (54, 35)]
    asked = [task.id for split in rounds for task in split.unseen]
    assert len(set(asked)) == len(asked) == 114
    # README.md tells it, where the demo's rates stand beside those over what changes something.
    assert sum(not mutating(task.gold) for split in rounds for task in split.unseen) == 10


def test_every_gold_action_is_a_tool_that_is_known() -> None:
    known = {*MUTATING, "calculate", "transfer_to_human_agents"}
    tools = {tool for task in load_split().unseen for tool in task.gold}
    assert all(tool in known or tool.startswith(("get_", "find_", "list_")) for tool in tools)


def test_recorded_rewards_are_fed_as_ten_or_minus_ten() -> None:
    assert {episode["reward"] for episode in load_split().fed} == {10.0, -10.0}
