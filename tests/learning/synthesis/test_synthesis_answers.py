from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_episodes import call, episode, skill
from msgspec.structs import replace

from prowess.learning.lifecycle import expand, validate
from prowess.learning.synthesis.answers import Answer, answers, joined, moves_of_skill
from prowess.learning.synthesis.drafts import propose
from prowess.learning.synthesis.evidence import RIDGE, Outlook, Precedent, _told, moves_of, particular_free
from prowess.storage.models import Parameter, SkillStep

THINGS = ("engine", "heater", "radio", "window", "mirror", "wiper", "trunk", "horn")
DEEDS = {
    "start the": "start",
    "stop the": "stop",
    "inspect the": "inspect",
    "paint the": "paint",
}


def garage(together: Sequence[tuple[str, ...]] = ()) -> list[Precedent]:
    """Tasks whose verb tells the move, and what they have for more in common with the last question."""
    single = [
        Precedent(f"{move}-{thing}", f"Please {said} {thing}", (move,), 0.5)
        for said, move in DEEDS.items()
        for thing in THINGS
    ]
    both = [
        Precedent(f"both-{number}", f"Please {' and '.join(moves)} everything", moves, 0.9)
        for number, moves in enumerate(together)
    ]
    return single + both


def test_what_words_tell_is_believed_and_what_they_do_not_tell_is_not() -> None:
    told = Outlook("Please paint the door", garage())
    moves = list(DEEDS.values())
    # Each verb and each thing goes with all moves equally often.
    turned = [one._replace(moves=(moves[(place // len(THINGS) + place) % 4],)) for place, one in enumerate(garage())]
    assert told.strength == 1.0
    assert Outlook("Please paint the door", turned).strength == 0.0


def test_how_far_words_tell_is_measured_on_tasks_that_were_left_out() -> None:
    chance = np.random.default_rng(5)
    rows = chance.normal(size=(14, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    made = (rows @ chance.normal(size=(4, 3)) > 0).astype(np.float64)
    errors = guesses = 0.0
    for one in range(len(rows)):
        rest = np.delete(np.arange(len(rows)), one)
        ridge = rows[rest] @ rows[rest].T + RIDGE * np.eye(len(rest))
        expected = made.mean(0) + rows[one] @ rows[rest].T @ np.linalg.solve(ridge, made[rest] - made.mean(0))
        errors += ((made[one] - expected) ** 2).sum()
        guesses += ((made[one] - made[rest].mean(0)) ** 2).sum()
    assert _told(rows @ rows.T, made) == pytest.approx(1 - errors / guesses)


def test_words_that_every_task_has_hide_nothing_of_what_the_others_tell() -> None:
    turned = garage([("stop", "inspect")])
    common = " with all the care that the customer of this garage asked for in the letter of last week"
    longer = [one._replace(text=one.text + common) for one in turned]
    plain, told = Outlook("Please paint the door", turned), Outlook("Please paint the door" + common, longer)
    assert plain.strength == told.strength == 1.0
    for move in DEEDS.values():
        assert told.score(frozenset({move})) == pytest.approx(plain.score(frozenset({move})), abs=0.2)


def test_few_precedents_tell_nothing() -> None:
    few = [one._replace(id=one.task_id) for one in garage()[:7]]
    outlook = Outlook("Please paint the door", few)
    assert outlook.strength == 0.0
    assert outlook.score(frozenset({"paint"})) == 0.0
    assert answers(outlook, {"a": frozenset({"paint"})}, {"a": 0.9}) == [Answer(("a",), 0.9)]  # and no example


def test_what_several_near_tasks_had_together_is_expected_together() -> None:
    outlook = Outlook("Please stop and then inspect everything", garage([("stop", "inspect")] * 3))
    assert outlook.expected() == frozenset({"stop", "inspect"})


def test_each_clause_of_a_question_is_judged_by_the_tasks_that_are_like_it() -> None:
    both = frozenset({"paint", "stop"})
    one = Outlook("Please paint the door please stop the car", garage())
    for joint in (", and then ", ", then ", ", and ", ". "):  # the words are the same
        assert Outlook(f"Please paint the door{joint}please stop the car", garage()).score(both) > one.score(both)


def test_a_move_whose_name_the_question_says_is_likelier() -> None:
    unnamed = [one._replace(moves=tuple(f"tool_{move[::-1]}" for move in one.moves)) for one in garage()]
    told, untold = (Outlook("Please paint the door", known) for known in (garage(), unnamed))
    assert told.score(frozenset({"paint"})) > untold.score(frozenset({"tool_tniap"}))


def test_attempts_at_one_task_count_once() -> None:
    again = [one for one in garage() for _ in range(3)]
    assert Outlook("Please stop the car", again).strength == Outlook("Please stop the car", garage()).strength
    assert Outlook("Please stop the car", [garage()[0]] * 20).strength == 0.0


def test_the_likeliest_move_is_that_of_the_nearest_tasks() -> None:
    near = [one._replace(near=0.9) if one.moves == ("paint",) else one for one in garage()]
    outlook = Outlook("Please paint the door", near)
    assert outlook.likely()[0] == "paint"
    assert outlook.sets()[0] == frozenset({"paint"})
    assert outlook.expected() == frozenset({"paint"})


def test_where_precedents_tell_nothing_the_ranking_stands() -> None:
    skills = {"a": frozenset({"paint"}), "b": frozenset({"stop"})}
    assert answers(Outlook("Please stop it", []), skills, {"b": 0.9, "a": 0.4}) == [
        Answer(("b",), 0.9),
        Answer(("a",), 0.4),
    ]


def test_precedents_decide_between_skills_whose_words_fit_alike() -> None:
    near = [one._replace(near=0.9) if one.moves == ("paint",) else one for one in garage()]
    skills = {move: frozenset({move}) for move in DEEDS.values()}
    found = answers(Outlook("Please paint the door", near), skills, dict.fromkeys(skills, 1.0))
    assert found[0].skills == ("paint",)


def test_skills_are_joined_for_what_past_tasks_had_together() -> None:
    outlook = Outlook("Please stop and then inspect everything", garage([("stop", "inspect")] * 3))
    skills = {"one": frozenset({"stop"}), "two": frozenset({"inspect"}), "three": frozenset({"paint"})}
    assert answers(outlook, skills, {"one": 1.0, "two": 0.9})[0].skills == ("one", "two")


def test_a_skill_of_its_own_is_taken_before_joined_ones() -> None:
    outlook = Outlook("Please stop and then inspect everything", garage([("stop", "inspect")] * 3))
    skills = {
        "one": frozenset({"stop"}),
        "two": frozenset({"inspect"}),
        "whole": frozenset({"stop", "inspect"}),
    }
    found = answers(outlook, skills, {"whole": 1.0, "one": 1.0, "two": 1.0})
    assert found[0].skills == ("whole",)
    assert all(set(answer.skills) != {"one", "two"} for answer in found)


def test_skills_that_no_precedent_speaks_of_stay_in_the_answer() -> None:
    skills = {"paint": frozenset({"paint"}), "prose": frozenset[str]()}
    found = answers(Outlook("Please paint the door", garage()), skills, {"prose": 1.0, "paint": 0.5})
    assert {answer.skills for answer in found} >= {("prose",), ("paint",)}


def test_what_no_skill_does_a_past_success_is_an_example_of_behind_a_skill() -> None:
    lone = Precedent("lone", "Please polish and rinse everything", ("polish", "rinse"), 0.9, id="episode-1")
    skills = {"stop": frozenset({"stop"}), "paint": frozenset({"paint"})}
    found = answers(Outlook("Please polish and rinse it", [*garage(), lone]), skills, {"stop": 1.0, "paint": 0.9})
    assert [answer.example for answer in found[:2]] == ["", "episode-1"]
    assert sum(bool(answer.example) for answer in found) <= 2


def test_what_skills_do_needs_no_example() -> None:
    skills = {move: frozenset({move}) for move in DEEDS.values()}
    found = answers(Outlook("Please paint the door", garage()), skills, dict.fromkeys(skills, 1.0))
    assert not any(answer.example for answer in found)


def test_where_precedents_tell_nothing_the_nearest_that_did_other_things_comes_third() -> None:
    moves = list(DEEDS.values())
    turned = [
        one._replace(moves=(moves[(place // len(THINGS) + place) % 4],), id=f"e{place}", near=1 - place / 100)
        for place, one in enumerate(garage())
    ]
    outlook = Outlook("Please paint the door", turned)
    assert (outlook.strength, turned[0].moves, turned[1].moves) == (0.0, ("start",), ("stop",))
    skills = {"a": frozenset({"start"}), "b": frozenset({"paint"}), "c": frozenset({"inspect"})}
    found = answers(outlook, skills, {"a": 0.9, "b": 0.8, "c": 0.7})
    assert [answer.skills or answer.example for answer in found] == [("a",), ("b",), "e1", ("c",)]


def test_where_much_is_looked_at_answers_differ_in_what_they_do() -> None:
    looks = ("get_user", "get_order")
    probed = [one._replace(moves=(*looks, *one.moves)) for one in garage()]
    skills = {
        "paint": frozenset({"paint"}),
        "look-paint": frozenset({"get_user", "paint"}),
        "stop": frozenset({"stop"}),
    }
    fit = {"paint": 1.0, "look-paint": 1.0, "stop": 0.2}
    found = [answer for answer in answers(Outlook("Please paint the door", probed), skills, fit) if answer.skills]
    by_score = sorted(found, key=lambda answer: -answer.score)
    alike = [("look-paint",), ("paint",)]
    assert [answer.skills for answer in by_score if answer.skills in (*alike, ("stop",))] == [*alike, ("stop",)]
    assert [answer.skills for answer in (found[0], found[-1])] == alike


def test_meaning_tells_moves_apart_where_vectors_are_known() -> None:
    axes = {move: np.eye(4, dtype=np.float32)[place] for place, move in enumerate(DEEDS.values())}
    known = [one._replace(vector=axes[one.moves[0]]) for one in garage()]
    skills = {move: frozenset({move}) for move in DEEDS.values()}
    found = answers(Outlook("Please renew the colour", known, axes["paint"]), skills, dict.fromkeys(skills, 1.0))
    assert found[0].skills == ("paint",)


def test_joined_skills_expand_to_the_steps_of_all() -> None:
    first = skill("a", call("login", user="{user}"), parameters=(Parameter(name="user"),), support=4)
    second = skill("b", call("post", text="{text}"), parameters=(Parameter(name="text"),), support=2)
    both = joined([first, second])
    assert (both.id, both.name, both.support) == ("a+b", "a+b", 2)
    assert [step.tool for step in expand(both, {"a": first, "b": second})] == ["login", "post"]
    validate(both, {"a": first, "b": second})


def test_joined_skills_are_told_one_after_the_other_without_when_each_is_used() -> None:
    first = replace(skill("a", call("log_in")), description="Log in. Use when the task mentions the account.")
    second = replace(skill("b", call("post_tweet")), description="Post a tweet. Use when the task mentions a tweet.")
    assert joined([first, second]).description == "Log in. Then: Post a tweet."


def test_joined_skills_share_placeholders_of_one_name_and_type_only() -> None:
    first = skill("a", call("buy", id="{id}"), parameters=(Parameter(name="id", type="integer"),))
    same = skill("b", call("ship", id="{id}"), parameters=(Parameter(name="id", type="integer"),))
    other = skill("c", call("tell", id="{id}"), parameters=(Parameter(name="id"),))
    known = {"a": first, "b": same, "c": other}
    assert [one.name for one in joined([first, same]).parameters] == ["id"]
    apart = joined([first, other])
    assert [one.name for one in apart.parameters] == ["id", "id_2"]
    assert [step.args_template for step in expand(apart, known)] == [{"id": "{id}"}, {"id": "{id_2}"}]
    validate(apart, known)


def test_joined_skills_do_not_share_pieces_of_longer_texts() -> None:
    first = skill("a", call("bash", command="find {part}"), parameters=(Parameter(name="part"),))
    second = skill("b", call("bash", command="sort {part}"), parameters=(Parameter(name="part"),))
    apart = joined([first, second])
    told = [step.args_template for step in expand(apart, {"a": first, "b": second})]
    assert told == [{"command": "find {part}"}, {"command": "sort {part_2}"}]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Move 'final report.pdf' away", "move away"),
        ("Tell Bob Smith that order #W12 is late", "tell that order is late"),
        ("Don't stop, it isn't done", "don't stop, it isn't done"),
    ],
)
def test_particulars_are_taken_out_of_questions(text: str, left: str) -> None:
    assert particular_free(text).lower().split() == left.split()


@given(text=st.text("ab1\u0663#@- \n.,", max_size=30))
def test_tags_and_words_with_digits_are_those_that_one_pattern_finds(text: str) -> None:
    assert particular_free(text) == re.sub(r"[#@]\w+|\S*\d\S*", " ", text)


def test_programs_of_a_command_line_are_moves_of_their_own() -> None:
    assert moves_of(["Read", "bash:find|sort", "bash:sort"]) == ("Read", "bash:find", "bash:sort")
    step = SkillStep(tool="bash", args_template={"command": "{command}"}, note="a command of find | wc; repeat")
    assert moves_of_skill(skill("s", step)) == frozenset({"bash:find", "bash:wc"})


def test_a_rare_call_is_a_skill_though_it_was_never_the_whole_task() -> None:
    others = [episode(f"o{number}", [f"tool_{number}", "finish"]) for number in range(8)]
    rare = [episode(f"r{number}", ["refund_order", f"step_{number}", "finish"]) for number in range(2)]
    found = {tuple(step.tool for step in one.steps) for one in propose([*others, *rare])}
    assert ("refund_order",) in found
    assert ("finish",) not in found


def test_look_ups_that_few_make_tell_procedures_apart() -> None:
    def made(key: str, *calls: str) -> object:
        return episode(key, list(calls), task=f"{key} task", task_id=key)

    plain = [made(f"p{number}", "send_mail") for number in range(8)]
    looked = [made(f"l{number}", "find_contact", "send_mail") for number in range(2)]
    rest = [made(f"x{number}", f"tool_{number}") for number in range(8)]
    found = {tuple(step.tool for step in one.steps) for one in propose([*plain, *looked, *rest])}  # type: ignore[list-item]
    assert {("send_mail",), ("find_contact", "send_mail")} <= found


def test_descriptions_list_the_moves_as_a_person_would() -> None:
    runs = [episode(f"e{number}", ["lockDoors", "press_pedal", "startEngine"], task="Start it") for number in range(2)]
    assert propose(runs)[0].description.startswith("Lock the doors, press the pedal and start the engine.")
