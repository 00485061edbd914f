"""What a step's note says: what goes wrong there, and what all or some did before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from made_episodes import call, episode, failing, skill

from prowess.learning.lifecycle import expand
from prowess.learning.synthesis import checks as checking
from prowess.learning.synthesis.compose import compose
from prowess.learning.synthesis.drafts import propose
from prowess.learning.synthesis.notes import before_in_words
from prowess.learning.synthesis.optional import before_steps
from prowess.storage.models import SkillStep, Trajectory

LOGIN = failing("post_tweet", "Error: not logged in")


def checks(runs: Sequence[Trajectory], keys: Sequence[str]) -> dict[str, str]:
    return {key: "; ".join(check.words for check in found) for key, found in checking.checks(runs, keys).items()}


def before(sequences: Sequence[tuple[str, ...]], keys: tuple[str, ...]) -> list[list[str]]:
    return [before_in_words(one.every, one.some, one.share) for one in before_steps(sequences, keys)]


def test_a_failure_that_several_episodes_got_past_in_one_way_is_told_with_it() -> None:
    runs = [episode(f"e{number}", [LOGIN, "login", "post_tweet"]) for number in range(3)]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, use login first"}


def test_what_most_did_is_told_whatever_each_did_beside_it() -> None:
    runs = [
        episode(f"e{number}", [LOGIN, *did, "post_tweet"])
        for number, did in enumerate([["login"], ["count_stock", "login"], ["login", "open_till"]])
    ]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, use login first"}


def test_where_each_did_something_else_nobody_is_told_to_try_again() -> None:
    runs = [episode(f"e{number}", [LOGIN, did, "post_tweet"]) for number, did in enumerate(["a", "b", "c"])]
    assert checks(runs, ["post_tweet"]) == {}


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


def test_each_failure_that_several_got_past_is_told_the_commonest_first() -> None:
    late = failing("post_tweet", "Error: rate limit reached")
    runs = [episode(f"e{n}", [*([late, "wait"] if n < 2 else []), LOGIN, "login", "post_tweet"]) for n in range(3)]
    # The first failure of each that worked soon is told with all that was done until then.
    assert checks(runs, ["post_tweet"]) == {
        "post_tweet": "if it fails with “Error: not logged in”, use login first; "
        "if it fails with “Error: rate limit reached”, use wait and login first"
    }


def test_failures_with_one_way_out_are_told_together() -> None:
    expired = failing("post_tweet", "Error: the token has expired")
    runs = [episode(f"e{n}", [LOGIN if n % 2 else expired, "login", "post_tweet"]) for n in range(4)]
    assert checks(runs, ["post_tweet"]) == {
        "post_tweet": "if it fails with “Error: not logged in” or “Error: the token has expired”, use login first"
    }


def test_of_many_failures_the_commonest_three_are_told() -> None:
    kinds = ["not logged in", "text too long", "rate limit reached", "no such account"]
    runs = [
        episode(f"{kind} {n}", [failing("post_tweet", f"Error: {kind}"), f"cure_{at}", "post_tweet"])
        for at, kind in enumerate(kinds)
        for n in range(2 + at)
    ]
    (note,) = checks(runs, ["post_tweet"]).values()
    assert [kind for kind in kinds if kind in note] == kinds[1:]
    assert note.startswith("if it fails with “Error: no such account”, use cure_3 first; ")


def test_changes_are_what_helps_where_nothing_else_does() -> None:
    build = {"command": "docker build -t app ."}
    away = failing("Bash", "ERROR: Cannot connect to the Docker daemon.", build)
    broken = [failing("Bash", f'ERROR: process "/bin/sh -c {n}" did not complete', build) for n in range(2)]
    edit = ("Edit", {"file_path": "Dockerfile", "old_string": "1", "new_string": "2"})
    runs = [
        *[episode(f"a{n}", [away, ("Bash", {"command": "systemctl start docker"}), ("Bash", build)]) for n in range(2)],
        *[episode(f"b{n}", [broken[n], edit, ("Bash", build)]) for n in range(2)],
    ]
    assert checks(runs, ["Bash:docker build"]) == {
        "Bash:docker build": "if it fails with “ERROR: Cannot connect to the Docker daemon.”, run `systemctl start "
        "docker` first; if it fails otherwise, change the files and run it again, as 2 of 4 episodes did"
    }


@pytest.mark.parametrize(
    ("failed", "worked", "note"),
    [
        ("npm install {}", "npm install {} --force", "run it with `--force`"),
        ("git pull --ff-only origin {}", "git pull origin {}", "run it without `--ff-only`"),
        ("npm install {} -D", "npm install {} -P", "run it with `-P`, not `-D`"),
        ("npm install {}", "npm install {}@2", None),  # each gave its own
    ],
)
def test_what_made_a_command_work_is_told_and_not_that_it_was_another(failed: str, worked: str, note: str) -> None:
    runs = [
        episode(
            key,
            [
                failing("Bash", "npm error ERESOLVE unable to resolve", {"command": failed.format(key)}),
                ("Bash", {"command": worked.replace("{}", key)}),
            ],
        )
        for key in ("zod", "vite")
    ]
    key = "Bash:git pull" if "git" in failed else "Bash:npm install"
    told = checks(runs, [key])
    assert told == ({key: f"if it fails with “npm error ERESOLVE unable to resolve”, {note}"} if note else {})


def test_an_option_that_the_step_has_is_not_asked_for() -> None:
    runs = [
        episode(
            branch,
            [
                ("Bash", {"command": f"git switch {branch}"}),
                failing("Bash", "error: failed to push some refs", {"command": f"git push origin {branch}"}),
                ("Bash", {"command": f"git push --force-with-lease origin {branch}"}),
            ],
        )
        for branch in ("aa", "bb")
    ]
    [found] = propose(runs)
    assert "--force-with-lease" in (found.steps[1].args_template or {})["command"]
    assert found.steps[1].note == ""


def test_a_command_with_a_secret_in_it_is_told_by_its_program() -> None:
    push = {"command": "docker push app"}
    login = {"command": "docker login -p [masked:docker-token]"}
    refused = failing("Bash", "denied: no access", push)
    runs = [episode(f"e{n}", [refused, ("Bash", login), ("Bash", push)]) for n in "ab"]
    assert checks(runs, ["Bash:docker push"]) == {
        "Bash:docker push": "if it fails with “denied: no access”, run docker login first"
    }


def test_failures_of_other_calls_and_those_nobody_got_past_are_left_out() -> None:
    runs = [episode(f"e{number}", [failing("other", "Error: x"), "other", LOGIN, "login"]) for number in range(3)]
    assert checks(runs, ["post_tweet"]) == {}


def test_moves_that_a_third_made_just_before_a_step_are_optional() -> None:
    sequences = [("a", "x", "b"), ("a", "x", "b"), ("a", "b"), ("a", "b"), ("a", "y", "b")]
    assert before(sequences, ("a", "b")) == [[], ["some use x first"]]


def test_moves_that_more_than_half_made_are_told_as_such() -> None:
    sequences = [("a", "x", "b"), ("a", "x", "b"), ("a", "b")]
    assert before(sequences, ("a", "b")) == [[], ["most use x first"]]


def test_moves_that_all_made_are_no_choice_whatever_their_order() -> None:
    sequences = [("build_image", "run_tests", "deploy"), ("run_tests", "build_image", "deploy")]
    assert before(sequences, ("deploy",)) == [["use build_image and run_tests first"]]


def test_moves_that_all_made_come_in_their_usual_order_the_nearest_three() -> None:
    sequences = [("v", "z", "y", "x", "a"), ("v", "z", "y", "x", "a"), ("v", "y", "z", "x", "a")]
    assert before(sequences, ("a",)) == [["use z, y and x first"]]


def test_where_each_made_one_of_two_moves_one_is_asked_for() -> None:
    sequences = [("find_by_email", "a"), ("find_by_name", "a"), ("find_by_email", "a"), ("find_by_name", "a")]
    assert before(sequences, ("a",)) == [["use find_by_email or find_by_name first"]]


def test_moves_after_the_last_step_belong_to_nothing() -> None:
    assert before([("a", "x"), ("a", "x")], ("a",)) == [[]]


def test_the_commonest_two_are_told_and_steps_of_the_skill_are_not() -> None:
    sequences = [("x", "y", "z", "a"), ("x", "y", "z", "a"), ("y", "x", "b", "a"), ("c", "a")]
    assert before(sequences, ("a",)) == [["most use x or y first"]]


def test_changing_files_is_called_so_whatever_tool_does_it() -> None:
    runs = [
        episode(
            f"e{n}",
            [
                ("Edit" if n % 2 else "Write", {"file_path": f"{n}.py", "content": "x"}),
                ("Bash", {"command": "uv sync"}),
                ("Bash", {"command": "make lint && make test"}),
            ],
        )
        for n in range(4)
    ]
    assert {one.steps[0].note for one in propose(runs)} == {"", "change the files first"}


def test_command_lines_of_several_programs_stand_apart_from_others() -> None:
    told = before_in_words((), ("Bash:git add|git commit", "Bash:git status"), "some")
    assert told == ["some run git add and git commit, or git status first"]
    assert before_in_words((), ("edit:edit|from|from",), "some") == ["some run edit and from first"]


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
                ("Bash", {"command": f"alembic upgrade {['head', '+1'][number]}"}),
                ("Bash", revise),
            ],
        )
        for number in range(2)
    ]
    (note,) = checks(runs, ["Bash:alembic revision"]).values()
    assert note == "if it fails with “FAILED: the database is not up to date.”, run alembic upgrade first"


def test_a_command_line_that_all_ran_is_told_in_full() -> None:
    test = {"command": "npm test"}
    runs = [
        episode(
            f"e{number}",
            [
                failing("Bash", "Error: Cannot find module 'vitest'", test),
                ("Bash", {"command": "npm ci"}),
                ("Bash", test),
            ],
        )
        for number in range(2)
    ]
    (note,) = checks(runs, ["Bash:npm test"]).values()
    assert note == "if it fails with “Error: Cannot find module 'vitest'”, run `npm ci` first"


def test_no_step_is_asked_for_before_itself() -> None:
    copy = {"command": "aws s3 cp a b"}
    denied = failing("bash", "aws: error: Unable to locate credentials", copy)
    runs = [episode(f"e{n}", [denied, ("bash", {"command": "sso-login"}), ("bash", copy)]) for n in range(2)]
    (note,) = checks(runs, ["bash:aws s3 cp"]).values()
    assert note == "if it fails with “aws: error: Unable to locate credentials”, run `sso-login` first"


def test_who_left_out_an_earlier_step_tells_no_check() -> None:
    runs = [episode(f"e{number}", [LOGIN, "login", "post_tweet"]) for number in range(3)]
    assert checks(runs, ["login", "post_tweet"]) == {}


def test_an_earlier_step_that_had_been_made_is_to_be_made_again() -> None:
    expired = failing("push", "Error: 401 token expired")
    runs = [episode(f"e{number}", ["login", expired, "login", "push"]) for number in range(2)]
    told = {"push": "if it fails with “Error: 401 token expired”, use login again"}
    assert checks(runs, ["login", "push"]) == checks(runs, ["push"]) == told


def test_an_error_is_told_by_what_its_cases_have_in_common() -> None:
    runs = [
        episode(
            f"e{number}",
            [failing("deploy", f"Error: {place} is locked by deploy {number}.", {"to": place}), "unlock", "deploy"],
        )
        for number, place in enumerate(["staging", "production"])
    ]
    assert checks(runs, ["deploy"]) == {
        "deploy": "if it fails with “Error: … is locked by deploy ….”, use unlock first"
    }


def test_an_error_that_says_nothing_is_not_quoted() -> None:
    runs = [episode(f"e{n}", [failing("push", "exit code 1"), "login", "push"]) for n in range(2)]
    assert checks(runs, ["push"]) == {"push": "if it fails, use login first"}


def test_what_was_read_or_noted_meanwhile_is_no_cure() -> None:
    runs = [
        episode(f"e{n}", [LOGIN, ("Read", {"file_path": "a"}), ("TodoWrite", {"todos": []}), "login", "post_tweet"])
        for n in range(2)
    ]
    assert checks(runs, ["post_tweet"]) == {"post_tweet": "if it fails with “Error: not logged in”, use login first"}


def test_a_cure_is_told_once_though_it_stands_before_the_step() -> None:
    runs = [episode(f"e{n}", [*([LOGIN, "login"] if n < 2 else []), "post_tweet", "close"]) for n in range(6)]
    notes = {step.tool: step.note for one in propose(runs, min_support=6) for step in one.steps}
    assert notes["post_tweet"] == "if it fails with “Error: not logged in”, use login first"


def test_a_cure_that_enough_took_from_the_start_is_none() -> None:
    runs = [episode(f"e{n}", ["open", *([LOGIN] if n < 2 else []), "login", "post_tweet"]) for n in range(6)]
    found = next(one for one in propose(runs, min_support=6) if one.steps[-1].tool == "post_tweet")
    assert "if it fails" not in found.steps[-1].note


@pytest.mark.parametrize(
    ("ends", "note"),
    [
        (("storage", "camera", "sms"), "repeat for each right"),
        (("sms", "sms", "sms"), "repeat with other values of right"),  # the step has a constant there
    ],
)
def test_a_step_repeats_for_what_varies(ends: tuple[str, ...], note: str) -> None:
    runs = [
        episode(
            f"e{n}",
            [
                ("find_user", {"name": f"user {n}"}),
                *(("grant", {"app": "mail", "right": right}) for right in ("radio", last)),
                "done",
            ],
        )
        for n, last in enumerate(ends)
    ]
    steps = next(one.steps for one in propose(runs) if "grant" in [step.tool for step in one.steps])
    assert [step.note for step in steps if step.tool == "grant"] == [note]


def test_a_part_asks_for_nothing_that_the_steps_before_it_do() -> None:
    part = skill("p", SkillStep(tool="mv", args_template={"to": "{to}"}, note="some use cd first; repeat for each to"))
    whole = skill("w", call("cd", folder="{folder}"), SkillStep(skill="p", args_template={"to": "{to_2}"}))
    assert [step.note for step in expand(whole, {"p": part})] == ["", "repeat for each to_2"]
    alone = skill("a", SkillStep(skill="p"))
    assert expand(alone, {"p": part})[0].note == part.steps[0].note


def test_changes_that_an_earlier_step_makes_are_not_asked_for() -> None:
    part = skill("p", SkillStep(tool="sign", args_template={}, note="change the files and use login first"))
    whole = skill("w", call("Edit", file_path="{file_path}"), SkillStep(skill="p"))
    assert [step.note for step in expand(whole, {"p": part})] == ["", "use login first"]
    other = skill("o", call("login"), SkillStep(skill="p"))
    assert [step.note for step in expand(other, {"p": part})] == ["", "change the files first"]


def test_what_earlier_steps_do_or_ask_for_is_taken_out_of_a_list() -> None:
    first = SkillStep(tool="login", args_template={}, note="use build and test first")
    part = skill(
        "p", SkillStep(tool="deploy", args_template={}, note="use login, test and sign first; if it fails, wait")
    )
    whole = skill("w", first, SkillStep(skill="p"))
    assert [step.note for step in expand(whole, {"p": part})] == [first.note, "use sign first; if it fails, wait"]


@pytest.mark.parametrize(
    ("known", "composed"),
    [("", False), ("if it fails with “Error: locked”, use unlock first", True)],
)
def test_what_is_known_of_an_error_is_not_lost_with_the_steps_that_a_part_takes_over(
    known: str, composed: bool
) -> None:
    locked = "if it fails with “Error: locked”, use unlock first; if it fails otherwise, change the files"
    part = skill("p", call("login"), SkillStep(tool="push", args_template={}, note=known))
    whole = skill("w", call("login"), SkillStep(tool="push", args_template={}, note=locked), call("tell"))
    assert [one.id for one in compose([part, whole])] == (["w"] if composed else [])
