"""What only got an episode past a failure is no step of the procedure."""

from __future__ import annotations

import pytest
from made_episodes import Call, episode, failing

from prowess.learning.synthesis.drafts import propose
from prowess.storage.models import Skill, Trajectory

PLAN = {"command": "terraform plan -out=tfplan"}
LOCKED, UNREADY = "Error: Error acquiring the state lock", "Error: Backend initialization required"


def bash(line: str) -> Call:
    return ("Bash", {"command": line})


def edit(path: str) -> Call:
    return ("Edit", {"file_path": path, "old_string": "1", "new_string": "2"})


def applied(key: str, *before: object) -> Trajectory:
    plan, apply = bash(PLAN["command"]), bash("terraform apply tfplan")
    return episode(key, [edit(f"{key}.tf"), *before, plan, apply])  # type: ignore[list-item]


def lines(skill: Skill) -> list[str]:
    return [str((step.args_template or {}).get("command", step.tool)) for step in skill.steps]


def test_ways_past_a_failure_are_notes_of_one_procedure_and_make_no_others() -> None:
    made = [
        applied("a"),
        *[applied(key, failing("Bash", UNREADY, PLAN), bash("terraform init")) for key in "bc"],
        *[applied(key, failing("Bash", LOCKED, PLAN), bash(f"terraform force-unlock 00{key}")) for key in "de"],
    ]
    [found] = propose(made)
    assert lines(found) == ["Edit", "terraform plan -out=tfplan", "terraform apply tfplan"]
    assert found.support == 5
    assert found.steps[1].note == (
        "if it fails with “Error: Backend initialization required”, run `terraform init` first; "
        "if it fails with “Error: Error acquiring the state lock”, run terraform force-unlock first"
    )


def test_what_nearly_all_do_before_a_command_is_a_step() -> None:
    made = [
        applied("a", bash("terraform init")),
        *[applied(key, failing("Bash", UNREADY, PLAN), bash("terraform init")) for key in "bc"],
    ]
    [found] = propose(made)
    assert lines(found) == ["Edit", "terraform init", "terraform plan -out=tfplan", "terraform apply tfplan"]


@pytest.mark.parametrize("between", [[edit("b.tf"), bash("terraform init")], [bash("terraform init"), edit("b.tf")]])
def test_where_files_were_changed_it_was_the_work_that_went_on(between: list[Call]) -> None:
    made = [applied("a"), *[applied(key, failing("Bash", UNREADY, PLAN), *between) for key in "bc"]]
    assert any("terraform init" in lines(found) for found in propose(made))


def test_of_other_tools_it_is_a_note_where_several_got_past_one_error_so_and_else_a_step() -> None:
    def booked(key: str, error: str) -> Trajectory:
        no = failing("book_flight", error)
        return episode(key, ["search", *([no, "add_card"] if error else []), "book_flight"])

    [found] = propose([booked("a", ""), *[booked(key, "Error: no card") for key in "bc"]])
    assert [step.tool for step in found.steps] == ["search", "book_flight"]
    assert found.steps[1].note == "if it fails with “Error: no card”, use add_card first"
    apart = propose([booked("a", ""), booked("b", "Error: no card"), booked("c", "Error: the seat is taken")])
    assert any("add_card" in lines(found) for found in apart)


def test_changes_that_a_failure_asked_for_are_told_at_the_command_that_failed() -> None:
    def mended(key: str, *failed: str) -> Trajectory:
        steps: list[object] = [edit(f"{key}.rs")]
        for line in ("cargo build --locked", "cargo test --locked", "cargo clippy --locked"):
            if line in failed:
                look = ("Read", {"file_path": f"{key}.rs"})
                steps += [
                    failing("Bash", f"error: {key}", {"command": line}),
                    look,
                    bash("git diff"),
                    edit(f"{key}.rs"),
                ]
            steps.append(bash(line))
        return episode(key, steps)  # type: ignore[arg-type]

    made = [mended("a"), *[mended(key, "cargo build --locked", "cargo clippy --locked") for key in "bc"]]
    [found] = propose(made)
    assert lines(found) == ["Edit", "cargo build --locked", "cargo test --locked", "cargo clippy --locked"]
    assert found.support == 3
    again = "if it fails, change the files and run it again, as 2 of 3 episodes did"
    assert [step.note for step in found.steps] == ["", again, "", again]


def test_who_saw_a_failure_first_and_then_began_to_change_did_the_work_then() -> None:
    run = {"command": "cargo test --locked"}
    made = [
        episode(key, [failing("Bash", f"error: {key}", run), edit(f"{key}.rs"), bash(run["command"])]) for key in "ab"
    ]
    assert [lines(found) for found in propose(made)] == [["Edit", "cargo test --locked"]]


def test_how_an_agent_looks_around_in_a_project_is_not_asked_for() -> None:
    made = [
        episode(key, [bash("git status"), bash("git log --oneline"), edit(f"{key}.rs"), bash("cargo test --locked")])
        for key in "abc"
    ]
    assert {step.note for found in propose(made) for step in found.steps} == {""}
