"""What a step's note says: what goes wrong there, and what some did before."""

from __future__ import annotations

from made_episodes import episode, failing

from prowess.learning.synthesis.checks import checks
from prowess.learning.synthesis.drafts import propose
from prowess.learning.synthesis.optional import optional

LOGIN = failing("post_tweet", "Error: not logged in")


def test_a_failure_that_several_episodes_got_past_in_one_way_is_told_with_it() -> None:
    runs = [episode(f"e{number}", [LOGIN, "login", "post_tweet"]) for number in range(3)]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, use login first"}


def test_where_the_same_call_worked_at_once_its_arguments_were_the_trouble() -> None:
    runs = [episode(f"e{number}", [LOGIN, ("post_tweet", {"n": number})]) for number in range(2)]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, give another n"}


def test_where_the_same_call_worked_the_second_time_it_is_to_be_tried_again() -> None:
    runs = [episode(f"e{number}", [LOGIN, "post_tweet"]) for number in range(2)]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, try it again"}


def test_where_several_arguments_were_others_none_is_named() -> None:
    runs = [episode(f"e{number}", [LOGIN, ("post_tweet", {"n": number, "m": 1})]) for number in range(2)]
    assert checks(runs, ["post_tweet"]) == {
        "post_tweet": "if it fails with “Error: not logged in”, try it with other arguments"
    }


def test_tests_that_fail_each_time_differently_are_run_again_after_changes() -> None:
    run = {"command": "pytest -q"}
    runs = [
        episode(
            f"e{number}",
            [
                failing("Bash", f"E   AssertionError: case {number} of the {kind} is wrong", run),
                ("Read", {"file_path": "a.py"}),
                *[("Edit", {"file_path": f"{name}.py", "old_string": "1", "new_string": "2"}) for name in "abcdef"],
                ("Bash", run),
            ],
        )
        for number, kind in enumerate(["alpha", "beta"])
    ]
    told = checks([*runs, episode("e3", [("Bash", run)])], ["Bash:pytest"])
    assert told == {"Bash:pytest": "if it fails, change the files and run it again, as 2 of 3 episodes did"}


def test_how_a_client_has_its_own_tools_used_is_no_check() -> None:
    edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    unread = failing("Edit", "File has not been read yet. Read it first before writing to it.", edit)
    runs = [episode(f"e{number}", [unread, ("Read", {"file_path": "a.py"}), ("Edit", edit)]) for number in range(3)]
    assert checks(runs, ["Edit"]) == {}


def test_what_one_episode_ran_into_however_often_is_no_check() -> None:
    runs = [episode("e0", [LOGIN, "login", "post_tweet", LOGIN, "login", "post_tweet"]), episode("e1", ["post_tweet"])]
    assert checks(runs, ["post_tweet"]) == {}


def test_what_the_person_stopped_is_no_check() -> None:
    no = failing("post_tweet", "The user doesn't want to take this action right now. STOP what you are doing.")
    runs = [episode(f"e{number}", [no, "login", "post_tweet"]) for number in range(3)]
    assert checks(runs, ["post_tweet"]) == {}


def test_failures_of_other_calls_and_those_nobody_got_past_are_left_out() -> None:
    runs = [episode(f"e{number}", [failing("other", "Error: x"), "other", LOGIN, "login"]) for number in range(3)]
    assert checks(runs, ["post_tweet"]) == {}


def test_moves_that_a_third_made_just_before_a_step_are_optional() -> None:
    sequences = [("a", "x", "b"), ("a", "x", "b"), ("a", "b"), ("a", "b"), ("a", "y", "b")]
    assert optional(sequences, ("a", "b")) == [(), ("x",)]


def test_moves_after_the_last_step_belong_to_nothing() -> None:
    assert optional([("a", "x"), ("a", "x")], ("a",)) == [()]


def test_the_commonest_two_are_told_and_steps_of_the_skill_are_not() -> None:
    sequences = [("x", "y", "z", "a"), ("x", "y", "z", "a"), ("x", "y", "b", "a"), ("x", "b", "a")]
    assert optional(sequences, ("a",)) == [("x", "y")]


def test_a_proposed_skill_tells_both_at_its_steps() -> None:
    runs = [
        episode(f"e{number}", ["open_shop", *extra, LOGIN, "post_tweet", "close_shop"])
        for number, extra in enumerate([["count_stock"], ["count_stock"], [], [], []])
    ]
    (found,) = [one for one in propose(runs) if one.steps[0].tool == "open_shop"]
    assert [step.tool for step in found.steps] == ["open_shop", "post_tweet", "close_shop"]
    assert found.steps[1].note == ("some use count_stock first; if it fails with “Error: not logged in”, try it again")


def test_what_a_shell_ran_before_it_worked_is_told_by_the_program() -> None:
    revise = {"command": "alembic revision -m x"}
    runs = [
        episode(
            f"e{number}",
            [
                failing("Bash", "FAILED: the database is not up to date.", revise),
                ("Bash", {"command": f"git {['log', 'status'][number]}"}),  # of which each agent does another
                ("Bash", {"command": "alembic upgrade head"}),
                ("Bash", revise),
            ],
        )
        for number in range(2)
    ]
    (note,) = checks(runs, ["Bash:alembic revision"]).values()
    assert note == "if it fails with “FAILED: the database is not up to date.”, run alembic upgrade first"
