"""The words of a skill's description."""

from __future__ import annotations

from prowess.learning.synthesis_words import Vocabulary


def test_where_all_tasks_are_alike_a_skill_has_the_words_that_they_share() -> None:
    told = "The test of {} in calc fails. Mend it."
    tasks = {
        name: (told.format(name), moves)
        for name, moves in (("add", ["Edit"]), ("divide", ["Edit"]), ("multiply", ["patch"]), ("subtract", ["patch"]))
    }
    vocabulary = Vocabulary(tasks)
    for ids, moves in ((["add", "divide"], ["Edit"]), (["multiply", "subtract"], ["patch"])):
        assert vocabulary.salient(ids, moves) == ["calc", "fails", "mend", "test"]


def test_a_word_that_all_tasks_share_stays_away_where_others_tell_them_apart() -> None:
    things = {"1": "sum", "2": "sum", "3": "root", "4": "root"}
    vocabulary = Vocabulary({name: (f"Mend the {thing} of calc", [thing]) for name, thing in things.items()})
    assert vocabulary.salient(["1", "2"], ["sum"]) == ["sum"]
