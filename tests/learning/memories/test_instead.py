"""Lessons that tell what was called when it worked, and what is another try at what failed."""

from __future__ import annotations

import pytest
from made_episodes import episode, failing
from msgspec.structs import replace

from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import lessons_of
from prowess.learning.memories.quotations import example_in, with_example
from prowess.learning.mining.patterns import mine
from prowess.storage.models import Memory, Step

ERROR = "tool: error: it does not work so"


def ran(line: str, *, tool: str = "Bash") -> Step:
    """A call that worked as its summary tells it: the action has the command line or file, the arguments names only."""
    name = "command" if tool == "Bash" else "file_path"
    return Step(
        episode_id="", number=1, action=f"{tool}: {line}", at="", tool=tool, args={name: None}, outcome="success"
    )


def broke(line: str, *, tool: str = "Bash", error: str = ERROR) -> Step:
    return replace(ran(line, tool=tool), error=error, outcome="failure")


def taught(*steps: Step) -> list[str]:
    found = lessons_of(episode("e", steps), (), at="2026-11-29T13:50:01.000Z", trust="own")
    return [memory.text.removeprefix("When ") for memory in found if memory.support]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("./dev it", "./dev it --fresh", "./dev it --fresh"),
        ("git commit -m 'a; b'", "git commit -m 'N-1: a' && git log", "git commit -m 'N-1: a'"),
        ("git add . && ./ok", "echo x >> N && git add -u && ./ok", "echo x >> N && git add -u && ./ok"),
    ],
)
def test_a_lesson_tells_what_was_called_when_it_worked(old: str, new: str, shown: str) -> None:
    (text,) = taught(broke(old), ran(new))
    assert text.endswith(f"it worked with `{shown}` instead of `{old}`")


def test_what_stands_before_the_same_long_line_is_told_alone() -> None:
    (text,) = taught(broke("terraform plan -out=tf.plan -lock"), ran("export P=x && terraform plan -out=tf.plan -lock"))
    assert text.endswith("it worked with `export P=x &&` before it")


@pytest.mark.parametrize(
    ("old", "new", "done"),
    [
        ("make test", "make migrate && make test", "make migrate"),
        ("tflint", "tflint --init && tflint 2>&1 | tail -3", "tflint --init"),
        ("cd web && npm test", "cd web && npm ci && npm run build && npm test", "npm ci && npm run build"),
        ("git add . && ./ok", "echo x >> N && git add . && ./ok", "echo x >> N"),
    ],
)
def test_what_a_line_does_before_the_same_commands_was_done_before(old: str, new: str, done: str) -> None:
    (text,) = taught(broke(old), ran(new))
    assert text.endswith(f"it worked after `{done}`")


def test_what_was_done_before_is_one_lesson_in_a_line_of_its_own_or_with_the_call() -> None:
    apart = lesson("a", broke("make test"), ran("make migrate"), ran("make test"), day=1)
    joined = lesson("b", broke("make test"), ran("make migrate && make test"), day=2)
    (known,) = merged([apart], [joined]).values()
    assert (known.support, known.text) == (
        2,
        f"When Bash:make test failed with “{ERROR}”, it worked after `make migrate`",
    )
    both = [
        episode("a", [broke("make test"), ran("make migrate"), ran("make test")]),
        episode("b", [broke("make test"), ran("make migrate && make test")]),
    ]
    (found,) = [pattern for pattern in mine(both) if pattern.kind == "recovery"]
    assert (found.detail["fix"], found.support) == (["Bash:make migrate"], 2)


def test_what_a_line_does_beside_changes_of_files_teaches_nothing() -> None:
    steps = [broke("pytest -q"), ran("/p/a.py", tool="Edit"), ran("rm -f out.json && pytest -q")]
    assert taught(*steps) == []
    (found,) = [pattern for pattern in mine([episode(key, steps) for key in "ab"]) if pattern.kind == "recovery"]
    assert found.detail["fix"] == ["Edit"]


def test_a_look_with_an_editor_changes_nothing_for_patterns_either() -> None:
    steps = [broke("make test"), ran("sed -n 1,5p Makefile"), ran("make migrate && make test")]
    (text,) = taught(*steps)
    assert text.endswith("it worked after `make migrate`")
    (found,) = [pattern for pattern in mine([episode(key, steps) for key in "ab"]) if pattern.kind == "recovery"]
    assert found.detail["fix"] == ["Bash:sed", "Bash:make migrate"]


def test_what_only_shows_something_before_the_same_call_is_not_what_helped() -> None:
    (text,) = taught(broke("make test"), ran("cat Makefile && make test"))
    assert text.endswith("it worked after calling it again")


def test_folders_left_teach_nothing_and_folders_gone_into_do() -> None:
    lost = broke("pytest tests", error="ERROR: file or directory not found: tests")
    assert taught(lost, ran("cd ../.. && pytest tests")) == []
    assert taught(lost, ran("cd .."), ran("pytest tests")) == []
    for steps in ([ran("cd rust && cargo test")], [ran("cd rust"), ran("cargo test")]):
        (text,) = taught(broke("cargo test"), *steps)
        assert text.endswith("it worked after `cd rust`")
    (text,) = taught(lost, ran("cd .. && uv sync"), ran("pytest tests"))
    assert text.endswith("it worked after `uv sync`")


def test_what_was_missing_is_got_over_where_the_next_try_fails_otherwise() -> None:
    gone = broke("pytest -q", error="bash: line 1: pytest: command not found")
    other = broke("uv run pytest -q", error="No module named 'openpyxl'")
    found = taught(gone, other, ran("uv run --extra xlsx pytest -q"))
    assert [text.partition("it worked")[2] for text in found] == [
        " with `uv run --extra xlsx pytest -q` instead of `pytest -q`",
        " with `uv run --extra xlsx pytest -q` instead of `uv run pytest -q`",
    ]


def test_what_was_done_between_two_errors_belongs_to_the_way_out() -> None:
    found = taught(
        broke("make test", error="error: .env is missing"),
        broke("cp .env.example .env && make test", error="cannot open the database"),
        ran("make migrate"),
        ran("make test"),
    )
    assert found[0].endswith("“error: .env is missing”, it worked after `cp .env.example .env` → `make migrate`")


@pytest.mark.parametrize(
    "between",
    [
        [broke("make test", error="error: .env is missing")],
        [ran("/p/a.py", tool="Edit"), broke("make test", error="assert 1 == 2")],
    ],
)
def test_a_try_that_fails_alike_or_after_changes_ends_the_way_out(between: list[Step]) -> None:
    missing = broke("make test", error="error: .env is missing")
    (text,) = {*taught(missing, *between, ran("make up"), ran("make test"))}
    assert text.endswith("it worked after `make up`")
    assert not taught(broke("make test", error="assert 1 == 2"), missing, ran("make test"))[1:]


def test_folders_gone_to_and_trims_of_the_output_are_left_out() -> None:
    (text,) = taught(broke("cd a && ./x go"), ran("cd a && ./x go -v 2>&1 | tail -5"))
    assert text.endswith(" with `./x go -v` instead of `./x go`")


def test_the_same_call_again_has_no_example() -> None:
    assert taught(broke("./dev it"), ran("./dev it | tail -3")) == [
        f"Bash:dev failed with “{ERROR}”, it worked after calling it again"
    ]


def test_what_was_done_before_is_told_beside_the_example() -> None:
    (text,) = taught(broke("./dev it"), ran("ls"), ran("make up"), ran("./dev it --fresh"))
    assert text.endswith("it worked after `make up` with `./dev it --fresh` instead of `./dev it`")
    (text,) = taught(broke("./dev it"), ran("cat dev"), ran("./dev it --fresh"))
    assert text.endswith("it worked with `./dev it --fresh` instead of `./dev it`")


def test_of_a_line_with_several_commands_all_are_named() -> None:
    (text,) = taught(broke("npm run ty && npm run lint"), ran("npm run format"), ran("npm run ty && npm run lint"))
    assert text.startswith(f"Bash:npm run ty && npm run lint failed with “{ERROR}”, it worked after `npm run format`")
    (text,) = taught(broke("cat a | sort b"), ran("make a"), ran("cat a | sort b"))
    assert text.startswith("Bash:cat failed with ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("./dev test", "./dev check"),
        ("python one.py", "python two.py"),
        ("git add a && ./x.sh start", "git add a"),
    ],
)
def test_another_order_to_a_program_is_no_other_try(old: str, new: str) -> None:
    assert taught(broke(old), ran(new)) == []
    two = [episode(key, [broke(old), ran(new)]) for key in "ab"]
    assert not [pattern for pattern in mine(two) if pattern.kind == "recovery"]


def test_a_file_of_another_name_is_no_other_try_and_one_in_another_folder_is() -> None:
    missing = broke("/p/config/app.toml", tool="Read", error="File does not exist.")
    assert taught(missing, ran("/p/src/main.py", tool="Read")) == []
    (text,) = taught(missing, ran("/p/src/main.py", tool="Read"), ran("/p/conf/app.toml", tool="Read"))
    assert text.endswith(" with `/p/conf/app.toml` instead of `/p/config/app.toml`")


def test_tests_that_another_program_ran_are_a_lesson() -> None:
    (text,) = taught(broke("python -m pytest tests/a.py"), ran("ls"), ran("./dev test tests/a.py"))
    assert text.endswith("it worked with `./dev test tests/a.py` instead of `python -m pytest tests/a.py`")


def test_tests_that_pass_after_a_change_are_none() -> None:
    assert taught(broke("pytest tests/a.py"), ran("/p/a.py", tool="Edit"), ran("./dev test")) == []
    assert taught(broke("pytest tests/a.py"), broke("./dev test"), ran("./dev test")) == [
        f"Bash:dev failed with “{ERROR}”, it worked after calling it again"
    ]


def test_a_command_that_works_once_files_are_changed_teaches_nothing() -> None:
    assert taught(broke("make test"), ran("/p/a.py", tool="Edit"), ran("make test")) == []
    assert taught(broke("pytest -q"), ran("/p/a.py", tool="Edit"), ran("pytest -q tests/a.py")) == []
    assert taught(broke("make test"), ran("go doc x"), ran("/p/a.py", tool="Edit"), ran("make test")) == []
    assert taught(broke("make test"), ran("/p/a.py", tool="create_file"), ran("make test")) == []
    assert taught(broke("make test"), ran("/p/a.py", tool="replace"), ran("make test")) == []
    (text,) = taught(broke("make test"), ran("npm install"), ran("make test"))
    assert text.endswith("it worked after `npm install`")


def test_an_error_that_says_nothing_is_no_lesson_where_several_commands_came_before_it_worked() -> None:
    failed = broke("./dev it", error="Exit code 1")
    assert taught(failed, ran("make a"), ran("make b"), ran("./dev it --fresh")) == []
    (text,) = taught(failed, ran("ls"), ran("make a"), ran("./dev it"))
    assert text.endswith("it worked after `make a`")


def test_to_go_around_what_another_process_kept_is_no_lesson_and_to_end_that_is() -> None:
    taken = broke("node server.mjs", error="Error: listen EADDRINUSE: address already in use 127.0.0.1:8932")
    assert taught(taken, ran("node server.mjs 8933")) == []
    assert taught(taken, ran("node server.mjs")) == []
    (text,) = taught(taken, ran("make stop"), ran("node server.mjs"))
    assert text.endswith("it worked after `make stop`")


def test_long_calls_begin_where_they_differ() -> None:
    start = "/srv/data/of/checkouts/of/the/shop/and/its/many/parts/under/one/roof/for/all/of/them"
    (text,) = taught(broke(f"{start}/lib/x.py", tool="Read"), ran(f"{start}/src/x.py", tool="Read"))
    assert text.endswith(" with `…for/all/of/them/src/x.py` instead of `…for/all/of/them/lib/x.py`")


def test_an_error_is_cut_where_an_example_follows() -> None:
    error = f"tool: error: {'so ' * 60}"
    (text,) = taught(broke("./dev it", error=error), ran("./dev it -f"))
    assert text.startswith(f"Bash:dev failed with “{error[:118].strip()}…”, it worked with ")


def test_a_lesson_of_patterns_takes_the_example_of_an_episode() -> None:
    told, seen = f"When Bash:dev failed with “{ERROR}”, it worked after calling it again", " (seen in 2 episodes)"
    example = " with `./dev it --fresh` instead of `./dev it`"
    generic = f"{told} with another command{seen}"
    whole = f"When Bash:dev failed with “{ERROR}”, it worked{example}{seen}"
    assert with_example(generic, example) == whole
    assert (example_in(whole), example_in(generic), with_example(generic, "")) == (example, "", generic)
    (fresh,) = lessons_of(episode("e", [broke("./dev it"), ran("./dev it --fresh")]), (), at="", trust="own")
    (known,) = merged([replace(fresh, text=generic, evidence=(), support=2)], [fresh]).values()
    assert known.text == whole


def lesson(key: str, *steps: Step, day: int) -> Memory:
    (found,) = lessons_of(episode(key, steps), (), at=f"2026-11-{day:02}T00:00:00.000Z", trust="own")
    return found


def test_the_newest_example_is_told_since_it_held_last() -> None:
    first = lesson("a", broke("./dev it"), ran("./dev it --old"), day=1)
    second = lesson("b", broke("./dev it"), ran("./dev it --new"), day=2)
    (known,) = merged([first], [second]).values()
    assert known.text.endswith(" with `./dev it --new` instead of `./dev it`")
    assert (known.episode_id, known.support) == ("b", 2)  # whose words it has now
    vain = replace(second, evidence=("-x",), support=0, against=1, text=second.text.replace("--new", "--no"))
    assert merged([known], [vain])[known.id].text == known.text


def test_an_error_is_quoted_as_it_was_until_episodes_differ_in_it() -> None:
    one = lesson("a", broke("./dev it", error="Error: no module 'flask'"), ran("pip install x"), ran("./dev it"), day=1)
    same = lesson(
        "b", broke("./dev it", error="Error: no module 'flask'"), ran("pip install y"), ran("./dev it"), day=2
    )
    other = lesson(
        "c", broke("./dev it", error="Error: no module 'rich'"), ran("pip install y"), ran("./dev it"), day=3
    )
    assert one.text == "When Bash:dev failed with “Error: no module 'flask'”, it worked after `pip install x`"
    (both,) = merged([one], [same]).values()
    assert both.text == one.text.replace("`pip install x`", "`pip install y`")
    (all_three,) = merged([both], [other]).values()
    assert "“Error: no module <str>”" in all_three.text


def test_what_was_only_looked_at_before_is_left_out_beside_what_was_done() -> None:
    (text,) = taught(broke("./dev it"), ran("ls"), ran("docker compose up -d db"), ran("./dev it"))
    assert text.endswith("it worked after `docker compose up -d db`")
    (text,) = taught(broke("./dev it"), ran("/p/dev.toml", tool="Edit"), ran("make x"), ran("./dev it"))
    assert text.endswith("it worked after Edit `dev.toml` → `make x`")


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("pytest", "uv run pytest", "`uv run pytest` instead of `pytest`"),
        ("cd a && pytest -q", "cd a && uv run pytest -q", "`uv run pytest -q` instead of `pytest -q`"),
        ("cd a && ruff check", "cd a && npx ruff check", "`npx ruff check` instead of `ruff check`"),
    ],
)
def test_the_same_program_that_another_one_starts_is_another_try(old: str, new: str, shown: str) -> None:
    (text,) = taught(broke(old), ran(new))
    assert text.endswith(f"it worked with {shown}")


def test_two_programs_that_one_starts_are_not_the_same_call() -> None:
    assert taught(broke("uv run pytest -q"), ran("uv run mypy src")) == []


def test_a_line_that_another_one_runs_is_tried_again() -> None:
    (text,) = taught(broke("flask db list"), ran("docker compose exec app flask db list"))
    assert text.endswith(" with `docker compose exec app flask db list` instead of `flask db list`")


def test_a_projects_own_task_for_some_tests_runs_tests() -> None:
    (text,) = taught(broke("python -m pytest tests/dags"), ran("make test-dags"))
    assert text.endswith("it worked with `make test-dags` instead of `python -m pytest tests/dags`")
    assert taught(broke("pytest tests/a.py"), ran("make latest")) == []


def test_a_line_that_goes_on_below_is_told_as_one() -> None:
    (text,) = taught(broke("./dev it"), ran("./dev it \\\n  --fresh"))
    assert text.endswith(" with `./dev it --fresh` instead of `./dev it`")


@pytest.mark.parametrize(
    "error",
    [
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "Output does not match required schema: /findings: must be array",
        "<tool_use_error>String to replace not found in file.\nString: x = 1</tool_use_error>",
        "Found 3 matches of the string to replace, but replace_all is false.",
        "InputValidationError: Read failed due to the following issue:",
    ],
)
def test_what_a_client_says_of_its_own_tools_teaches_nothing(error: str) -> None:
    edit, again = broke("/p/a.py", tool="Edit", error=error), ran("/p/a.py", tool="Edit")
    assert taught(edit, ran("/p/a.py", tool="Read"), again) == []
    failed = replace(episode("e", [edit]), episode=replace(episode("e", [edit]).episode, outcome="failure"))
    assert lessons_of(failed, (), at="2026-11-29T13:50:01.000Z", trust="own") == []


@pytest.mark.parametrize("line", ["sed -i 's/a/b/' a.py", "git apply a.patch", "tee a.py < b"])
def test_a_file_that_a_command_changed_is_no_way_out_as_one_that_a_client_changed_is_none(line: str) -> None:
    assert taught(broke("pytest -q"), ran(line), ran("pytest -q")) == []
    assert taught(broke("pytest -q"), ran("sed -n 1,9p a.py"), ran("make migrate && pytest -q"))


def test_what_a_hook_of_the_project_says_of_a_clients_tool_is_kept() -> None:
    edit = broke("/p/api.py", tool="Edit", error="Error: api.py is generated, change schema.proto")
    (text,) = taught(edit, ran("make proto"), ran("/p/api.py", tool="Edit"))
    assert text == "Edit failed with “Error: api.py is generated, change schema.proto”, it worked after `make proto`"


def test_what_does_not_hold_is_warned_of_without_the_example() -> None:
    once, again = (broke("./dev it"), ran("cat dev"), ran("./dev it -f")), (broke("./dev it"), ran("cat dev"))
    good = lessons_of(episode("a", once), (), at="2026-11-01T00:00:00.000Z", trust="own")
    bad = [
        memory
        for day, key in ((2, "b"), (3, "c"))
        for memory in lessons_of(
            episode(key, [*again, broke("./dev it")]), (), at=f"2026-11-0{day}T00:00:00.000Z", trust="own"
        )
    ]
    known = merged(good, bad)
    (warning,) = [memory for memory in known.values() if memory.kind == "warning"]
    assert warning.text == f"When Bash:dev failed with “{ERROR}”, it failed again after calling it again"


def test_an_action_in_the_agents_own_words_gives_no_example() -> None:
    failed = failing("make", ERROR)
    assert taught(failed, replace(failed, error=None, outcome="success", action="made it")) == [
        f"make failed with “{ERROR}”, it worked after calling it again"
    ]


def test_what_a_client_tells_without_end_is_read_to_a_bound() -> None:
    endless = 'pytest "' + '\\"' * 100_000
    assert len(taught(broke(endless), ran("python -m unittest"))) == 1
