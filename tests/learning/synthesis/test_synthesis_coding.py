"""What is learned from the work of coding agents."""

from __future__ import annotations

from made_episodes import Call, call, episode, failing

from prowess.learning.synthesis.clients import plain_args
from prowess.learning.synthesis.drafts import propose, replays
from prowess.learning.synthesis.placeholders import placeholder_in_words
from prowess.storage.models import Skill, SkillStep, Trajectory


def edit(path: str) -> Call:
    return ("Edit", {"file_path": path, "old_string": f"old of {path}", "new_string": "new", "replace_all": False})


def bash(line: str, why: str = "") -> Call:
    return ("Bash", {"command": line, "description": why or f"Run {line}", "timeout": 1000})


def read(path: str) -> Call:
    return ("Read", {"file_path": path, "limit": 20})


def lines(skill: Skill) -> list[str]:
    return [str((step.args_template or {}).get("command", step.tool)) for step in skill.steps]


def work(key: str, calls: list[Call], task: str = "") -> Trajectory:
    return episode(key, list(calls), task=task)


def test_reading_and_noting_carry_the_work_and_are_no_steps_of_it() -> None:
    made = [
        work(
            key,
            [read(f"{key}.go"), edit(f"{key}.go"), ("TodoWrite", {"todos": [key]}), bash("mise run lint"), read("z")],
        )
        for key in ("aa", "bb")
    ]
    [found] = propose(made)
    assert found.steps == (call("Edit", file_path="{file_path}"), call("Bash", command="mise run lint"))
    assert found.name == "edit-go-files-and-check-code"
    assert found.description == "Edit Go files and check the code with mise. Use when changing Go files."
    assert all(replays(found, one) for one in made)


def test_how_often_an_agent_went_round_makes_no_other_procedure() -> None:
    once = work("a", [edit("a.py"), bash("pytest -q")])
    often = work(
        "b",
        [edit("b.py"), bash("pytest -q"), edit("b.py"), bash("pytest -q"), read("c"), edit("b.py"), bash("pytest -q")],
    )
    [found] = propose([once, often])
    assert lines(found) == ["Edit", "pytest -q"]
    assert found.support == 2


def test_what_places_a_command_or_trims_its_output_makes_no_other_procedure() -> None:
    made = [
        work("a", [edit("a.py"), bash("cd /home/ann/app && mise run test 2>&1 | tail -20")]),
        work("b", [edit("b.py"), bash("mise run test", "Make sure that all is well")]),
    ]
    [found] = propose(made)
    assert lines(found) == ["Edit", "mise run test"]
    assert all(replays(found, one) for one in made)


def test_a_usual_command_with_nothing_of_its_own_is_no_skill() -> None:
    assert propose([work(key, [bash(f"git -C /srv/{key} push")]) for key in "ab"]) == []
    assert propose([work(key, [edit(f"{key}.py"), edit(f"{key}.md")]) for key in "ab"]) == []
    assert propose([work(key, [bash("git status"), bash("git push")]) for key in "ab"]) == []


def test_a_projects_own_command_is_a_skill_by_itself() -> None:
    made = [work(key, [bash("mise run fmt && mise run lint && mise run test:ci")]) for key in "ab"]
    [found] = propose(made)
    assert found.name == "format-check-code-and-run-ci-tests"
    assert found.description == "Format and check the code, and run the ci tests with mise."


def test_a_usual_command_with_options_that_all_chose_is_a_skill() -> None:
    made = [work(key, [bash(f"pytest tests/{key}.py -q --maxfail 1")]) for key in ("aa", "bb")]
    [found] = propose(made)
    assert lines(found) == ["pytest {path} -q --maxfail 1"]


def test_of_commands_in_several_forms_the_common_form_is_told() -> None:
    made = [work(key, [edit(f"{key}.go"), bash("mise run test")]) for key in "abc"]
    made.append(work("d", [edit("d.go"), bash("mise run test -- -run TestX ./...")]))
    [found] = propose(made)
    assert lines(found) == ["Edit", "mise run test"]
    assert found.support == 3


def test_where_no_two_commands_have_one_form_there_is_no_skill() -> None:
    made = [
        work("a", [edit("a.go"), bash("mise run test")]),
        work("b", [edit("b.go"), bash("mise run test -- -run TestX ./...")]),
    ]
    assert propose(made) == []


def test_commands_after_changes_say_so() -> None:
    made = [
        work(key, [edit(f"{key}.py"), bash(f"git add {key}.py"), bash("make fmt && make lint && make test")])
        for key in ("aa", "bb")
    ]
    others = [
        work(key, [("Write", {"file_path": f"{key}.py", "content": key}), bash("make fmt && make lint && make test")])
        for key in "cd"
    ]
    found = {one.name: one for one in propose([*made, *others])}
    told = found["format-check-code-and-run-tests"]
    assert (
        told.description == "Format and check the code, and run the tests with make. Use after changing Python files."
    )


def test_rounds_that_several_agents_went_are_told() -> None:
    made = [
        episode(
            key,
            [
                edit(f"{key}.go"),
                failing("Bash", f"{key}.go:3: unused {key}", {"command": "mise run lint 2>&1 | tail -5"}),
                edit(f"{key}.go"),
                bash("mise run lint"),
            ],
        )
        for key in ("aa", "bb")
    ]
    [found] = propose(made)
    assert found.steps[-1].note == "if it fails, change the files and run it again, as 2 of 2 episodes did"
    assert found.description == (
        "Edit Go files and check the code with mise. Repeat after further changes until nothing fails. "
        "Use when changing Go files."
    )


def test_what_hands_the_work_in_is_not_to_be_repeated() -> None:
    broken = {"command": "docker build -t app ."}
    made = [
        episode(
            key,
            [
                edit(f"/srv/{key}/Dockerfile"),
                failing("Bash", f"ERROR: process {key} did not complete", broken),
                edit(f"/srv/{key}/Dockerfile"),
                bash(broken["command"]),
                bash("docker push registry/app"),
            ],
        )
        for key in ("aa", "bb")
    ]
    [found] = propose(made)
    assert "change the files and run it again" in found.steps[1].note
    assert found.description == (
        "Edit Dockerfiles, and build and push an image with docker. Use when changing Dockerfiles."
    )


def test_changes_to_files_of_many_kinds_are_told_as_changes_to_a_file() -> None:
    made = [work(key, [edit(f"a.{key}"), bash("mise run lint")]) for key in ("go", "py", "md")]
    [found] = propose(made)
    assert found.name == "edit-file-and-check-code"
    assert found.description == "Edit a file and check the code with mise."


def test_one_procedure_with_other_programs_is_called_by_them() -> None:
    made = [
        work(f"{key}{line[:2]}", [edit(f"{key}.go"), bash(line)])
        for key in "ab"
        for line in ("go test ./...", "mise run test")
    ]
    assert {one.name for one in propose(made)} == {
        "edit-go-files-and-run-tests",
        "edit-go-files-and-run-tests-with-mise",
    }


def test_a_part_that_no_more_episodes_show_than_the_whole_is_not_told_again() -> None:
    made = [work(key, [edit(f"{key}.rs"), bash("just fmt"), bash("just test")]) for key in "abc"]
    assert [lines(one) for one in propose(made)] == [["Edit", "just fmt", "just test"]]


def test_a_part_is_not_told_when_the_whole_is_known_already() -> None:
    made = [work(key, [edit(f"{key}.rs"), bash("just fmt"), bash("just test")]) for key in "abc"]
    assert propose(made, existing=propose(made)) == []


def test_branches_and_pull_requests_of_two_tasks_are_their_own() -> None:
    made = [
        work(
            key,
            [
                edit(f"{key}.go"),
                bash("gh api repos/me/app/pulls/169/comments --jq .body"),
                bash("git push --force-with-lease"),
            ],
        )
        for key in "ab"
    ]
    [found] = propose(made)
    assert lines(found) == ["Edit", "gh api {endpoint} --jq .body", "git push --force-with-lease"]


def test_surroundings_and_folders_that_two_tasks_share_are_no_tasks_own() -> None:
    line = "source .venv/bin/activate && pytest tests/unit -q"
    [found] = propose([work(key, [edit(f"{key}.py"), bash(line)]) for key in "ab"])
    assert lines(found) == ["Edit", line]
    own = "git checkout feature/orders && cargo run src/orders && pytest tests/unit/test_orders.py"
    [found] = propose([work(key, [edit(f"{key}.py"), bash(own)]) for key in "ab"])
    assert lines(found) == ["Edit", "git checkout {branch} && cargo run src/orders && pytest {path}"]


def test_the_main_branch_of_where_it_comes_from_is_no_tasks_own() -> None:
    made = [
        work(key, [bash(f"git switch {key}"), bash("git rebase origin/main"), bash("make x")]) for key in ("aa", "bb")
    ]
    [found] = propose(made)
    assert lines(found) == ["git switch {branch}", "git rebase origin/main", "make x"]


def test_what_was_named_before_it_was_answered_is_no_answer() -> None:
    def sources(named: bool) -> list[str]:
        made = [
            episode(
                key,
                [
                    ("search", {"text": f"{key}.py" if named else key * 2}, f"found /srv/{key}.py"),
                    ("open_file", {"name": f"{key}.py"}),
                    "done",
                ],
            )
            for key in ("aaaa", "bbbb")
        ]
        [found] = propose(made)
        return [one.source for one in found.parameters if one.name in ("name", "text")][-1:]

    assert (sources(True), sources(False)) == (["unknown"], ["observation"])


def test_that_one_file_is_changed_or_looked_for_is_no_skill() -> None:
    assert propose([work(key, [edit("src/lib.rs")]) for key in "abc"]) == []
    assert propose([work(key, [bash(f"grep -rn {key}{key} ."), edit(f"{key}.py")]) for key in "ab"]) == []
    [found] = propose([work(key, [edit("version.py"), bash("make x"), edit("CHANGES.md")]) for key in "ab"])
    assert lines(found) == ["Edit", "make x", "Edit"]


def test_placeholders_of_commands_are_called_by_what_they_stand_for() -> None:
    made = [
        work(
            key,
            [
                edit(f"{key}.go"),
                bash(
                    f"git checkout {key} && git add {key}.go {key}.md && git commit -m '{key} it' && go test ./{key} -v"
                ),
            ],
        )
        for key in ("aa", "bb")
    ]
    [found] = propose(made)
    assert lines(found)[1] == (
        "git checkout {branch} && git add {file_path} {files} && git commit -m '{message}' && go test {path} -v"
    )


def test_operands_with_options_among_them_are_told_as_arguments() -> None:
    made = [
        work("a", [edit("a.go"), bash("gh pr view 3"), bash("git push -f")]),
        work("b", [edit("b.go"), bash("gh pr view 4 --json title"), bash("git push -f")]),
    ]
    [found] = propose(made)
    assert lines(found) == ["Edit", "gh pr view {gh_pr_view_args}", "git push -f"]
    made = [work(key, [edit(f"{key}.go"), bash(f"gh pr view {key * 2}"), bash("git push -f")]) for key in "ab"]
    [found] = propose(made)
    assert lines(found) == ["Edit", "gh pr view {pull_request}", "git push -f"]


def test_all_that_a_program_was_given_is_told_as_its_arguments() -> None:
    made = [
        work("a", [edit("a.go"), bash("go test ./a")]),
        work("b", [edit("b.go"), bash("go test -v -run TestX ./b")]),
    ]
    [found] = propose(made)
    [_, given] = found.parameters
    assert lines(found) == ["Edit", "go test {go_test_args}"]  # not {packages}, which options are not
    assert placeholder_in_words(given) == 'The arguments of go test, such as "-v -run TestX ./b".'


def test_a_skill_that_tells_all_arguments_of_a_client_tool_replays_still() -> None:
    one = work("a", [edit("a.go"), bash("go build ./... 2>&1", "Build")])
    steps = (
        SkillStep(tool="Edit", args_template={"file_path": "{f}", "old_string": "{o}", "new_string": "{n}"}),
        SkillStep(tool="Bash", args_template={"command": "go build ./...", "description": "{d}"}),
    )
    assert replays(Skill(id="x", name="x", description="", steps=steps), one)


def test_clients_that_tell_commands_as_lists_and_changes_as_patches_are_read_too() -> None:
    made = [
        episode(
            key,
            [
                ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: {key}.py"}),
                ("shell", {"command": ["bash", "-lc", "cd /srv && make lint"], "workdir": f"/{key}", "timeout_ms": 9}),
            ],
        )
        for key in "ab"
    ]
    [found] = propose(made)
    assert found.steps == (call("apply_patch"), call("shell", command="make lint"))
    assert found.description == "Apply the patch and check the code with make."


def test_tools_of_other_kinds_keep_all_their_arguments() -> None:
    job = {"script": "cd /srv && make all", "description": "d", "timeout": 3, "command": ["a", "b"]}
    assert plain_args("create_job", job) == job
    args = {"description": "d", "limit": 3, "content": "c", "prompt": "p"}
    assert plain_args("create_ticket", args) == args
    assert plain_args("write", {"text": "t", "content": "c"}) == {"text": "t", "content": "c"}
    assert plain_args("Edit", {"file_path": "a", "old_string": "b"}) == {"file_path": "a"}


def test_an_order_for_an_agent_that_names_no_kind_of_it_is_read_too() -> None:
    order = ("Task", {"subagent_type": ["Explore"], "prompt": "look"})
    [found] = propose([work(key, [order, edit(f"{key}.py"), bash("mise run test")]) for key in "ab"])
    assert lines(found) == ["Task", "Edit", "mise run test"]


def test_how_every_agent_commits_and_pushes_is_no_skill() -> None:
    def told(line: str) -> list[Skill]:
        return propose([work(key, [edit(f"{key}.py"), bash(line.replace("{it}", key))]) for key in ("aa", "bb")])

    for line in ("git add -A && git commit -m '{it}'", "git commit -am '{it}' && git push -u origin main"):
        assert told(line) == []
    assert told("git commit --signoff -m '{it}'")
