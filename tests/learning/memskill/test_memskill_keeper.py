"""What a finished episode changes in the memories of its project."""

from __future__ import annotations

import pytest
from memkit import skill, step, trajectory
from test_memskill_controller import files

from prowess.learning.memskill import Bank, Controller, Kept, Limits, hashed, remember
from prowess.storage.errors import InvalidInput

EPISODE = trajectory(
    "e",
    "count the java files",
    [
        step("e", 1, "fnid /testbed", error="fnid: command not found"),
        step("e", 2, "find /testbed -name '*.java' | wc -l", "12"),
    ],
)
BANK = Bank(
    skills=(
        skill("update", action="update", instruction="Commands, numbers."),
        skill("insert", instruction="Above all errors, commands."),
    ),
    records={},
)


def test_without_a_controller_the_plain_rules_keep_what_the_bank_asks_for() -> None:
    told = remember(EPISODE, [], hashed, bank=BANK)
    assert [(each.kind, each.steps, each.skills, each.key) for each in told.changes] == [
        ("warning", (1,), ("insert",), None),
        ("lesson", (2,), ("insert",), None),
    ]
    assert told.changes[1].text == "bash find /testbed -name '*.java' | wc -l -> 12"
    assert told.changes[1].vector == pytest.approx(hashed([told.changes[1].text])[0])
    assert (told.removed, told.chosen, told.trained) == ((), {"update": 1, "insert": 1}, False)


def test_an_earlier_memory_is_brought_up_to_date_under_its_key() -> None:
    old = "bash find /testbed -name '*.java' | wc -l -> 11"
    told = remember(EPISODE, [Kept("m1", old, 0.4)], hashed, bank=BANK)
    (changed,) = [each for each in told.changes if each.key == "m1"]
    # The new count takes the place of the old one; the error is of the same matter and joins it.
    assert changed.text.startswith("bash find /testbed -name '*.java' | wc -l -> 12 bash fnid")
    assert changed.steps == (1, 2)
    assert changed.importance > 0.4


def test_what_no_longer_fits_is_removed_by_its_key() -> None:
    kept = [Kept("cheap", "blue sky", 0.0), Kept("dear", "green grass", 1.0)]
    told = remember(EPISODE, kept, hashed, bank=BANK, limits=Limits(items=3))
    assert told.removed == ("cheap",)


def test_the_same_episode_twice_is_remembered_once() -> None:
    first = remember(EPISODE, [], hashed, bank=BANK)
    kept = [Kept(str(n), each.text, each.importance, each.vector) for n, each in enumerate(first.changes)]
    assert remember(EPISODE, kept, hashed, bank=BANK).changes == ()


def test_an_episode_of_which_a_sentence_of_each_step_was_kept_is_remembered_once_too() -> None:
    brief = skill("insert", instruction="Above all errors, commands.", constraints="At most 1 sentence of each.")
    bank = Bank(skills=(brief,), records={})
    first = remember(EPISODE, [], hashed, bank=bank)
    assert [each.text for each in first.changes] == [
        "error: fnid: command not found",
        "bash find /testbed -name '*.java' | wc -l",
    ]
    kept = [Kept(str(n), each.text, each.importance) for n, each in enumerate(first.changes)]
    assert remember(EPISODE, kept, hashed, bank=bank).changes == ()


def test_a_memory_gains_importance_when_the_same_comes_again_where_a_skill_says_that_it_counts() -> None:
    said = "bash find /testbed -name '*.java' | wc -l -> 12"
    again = skill("insert", instruction="Above all commands.", constraints="What comes again counts more.")
    told = remember(EPISODE, [Kept("m1", said, 0.4)], hashed, bank=Bank(skills=(again,), records={}))
    (changed,) = [each for each in told.changes if each.key == "m1"]
    assert (changed.text, changed.importance) == (said, pytest.approx(0.55))  # a quarter of .6 more


def test_a_controller_chooses_where_there_is_one() -> None:
    controller = Controller.from_files(*files())
    told = remember(EPISODE, [], hashed, bank=BANK, controller=controller, embedding="hashed")
    assert told.trained
    assert sum(told.chosen.values()) == 2  # k skills for the one span


def test_a_controller_of_another_embedding_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'hashed', not 'other'"):
        remember(EPISODE, [], hashed, bank=BANK, controller=Controller.from_files(*files()), embedding="other")


def test_an_episode_without_steps_or_task_changes_nothing() -> None:
    told = remember(trajectory("empty", "", []), [Kept("m", "x")], hashed, bank=BANK)
    assert (told.changes, told.removed) == ((), ())
