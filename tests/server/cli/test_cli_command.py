"""What all commands share: one document, exit codes, hints, colour."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import anyio
import click
import pytest
from clikit import Command

from prowess.server.cli.command import PathGiven
from prowess.server.cli.exits import Exit, exit_of
from prowess.server.cli.main import COMMANDS, cli
from prowess.server.settings import UnreadableSettings
from prowess.server.shim.places import PlaceError
from prowess.storage import errors
from prowess.storage.store import Store
from prowess.tools.errors import ToolError


def test_help_lists_every_command(prowess: Command) -> None:
    ended = prowess("--help", store=False)
    assert ended.code == Exit.OK
    assert all(name in ended.out for name in COMMANDS)


def test_no_command_shows_the_help_and_is_a_usage_error(prowess: Command) -> None:
    assert prowess(store=False).code == Exit.USAGE


def test_the_version_is_the_distributions(prowess: Command) -> None:
    assert prowess("--version", store=False).out.strip().endswith(version("prowess"))


@pytest.mark.parametrize("words", [["no-such"], ["stats", "--no-such"], ["episodes", "list", "--limit", "0"], ["find"]])
def test_a_wrong_command_line_is_a_usage_error(prowess: Command, words: list[str]) -> None:
    ended = prowess(*words, store=False)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "Error" in ended.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["statsu"], "No such command 'statsu'. Did you mean 'stats' or 'status'?"),
        (["no-such"], "No such command 'no-such'."),
        (["hub", "strat", "--json"], "No such command 'strat'."),
    ],
)
def test_a_command_that_is_misspelt_is_told_with_those_that_may_be_meant(
    prowess: Command, words: list[str], told: str
) -> None:
    ended = prowess(*words, store=False)
    assert ended.code == Exit.USAGE
    assert f"Error: {told}" in ended.err
    if "--json" in words:
        assert ended.json["error"]["message"].startswith(told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--store", "a", "status"], "`prowess status --store DIR`"),
        (["--json", "skills", "list"], "`prowess skills list --json`"),
        (["skills", "--project", "shop", "list"], "`prowess skills list --project VALUE`"),
        (["--http", "127.0.0.1:1"], "`prowess serve --http HOST:PORT`"),
        (["hub", "--no-color"], "`prowess hub logs --no-color`, `prowess hub restart --no-color`, `prowess hub start"),
    ],
)
def test_an_option_before_its_command_is_told_where_it_belongs(prowess: Command, words: list[str], told: str) -> None:
    ended = prowess(*words, store=False)
    assert ended.code == Exit.USAGE
    assert f"hint: options stand behind the command: {told}" in ended.err
    if "--json" in words:
        assert ended.json["error"]["hint"] == f"options stand behind the command: {told}"


def test_an_option_that_nothing_knows_belongs_nowhere(prowess: Command) -> None:
    for words in (["--nope", "status"], ["skills", "--nope"], ["status", "--limit", "3"]):
        assert "hint:" not in prowess(*words, store=False).err


@pytest.mark.parametrize("words", [["stats"], ["episodes", "list"], ["skills", "list"], ["rebuild"], ["find", "x"]])
def test_a_folder_without_a_store_is_told_and_left_alone(prowess: Command, home: Path, words: list[str]) -> None:
    ended = prowess(*words)
    assert (ended.code, ended.out) == (Exit.NOT_FOUND, "")
    assert ended.err.startswith(f"error: there is no store at {home}\nhint: ")
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("episodes", "list", "--task-id", "nothing"), "no episode fits; "),
        (("skills", "list", "--status", "retired"), "no skill fits; "),
        (("memories", "list"), "no memory fits; "),
    ],
)
def test_a_list_of_nothing_says_so_and_is_empty(
    prowess: Command, filled: str, words: tuple[str, ...], told: str
) -> None:
    ended = prowess(*words)
    assert (ended.code, ended.out) == (Exit.OK, "")
    assert ended.err.startswith(told)
    assert prowess(*words, "--json").json == []


def test_a_failure_as_json_is_one_document_with_hint_and_code(prowess: Command, home: Path) -> None:
    ended = prowess("stats", "--json")
    error = ended.json["error"]
    assert error["message"] == f"there is no store at {home}"
    assert error["hint"]
    assert error["exit_code"] == ended.code == Exit.NOT_FOUND


def test_the_folder_comes_from_the_environment_too(
    prowess: Command, home: Path, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(home))
    assert prowess("stats", "--json", store=False).json["episodes"] == 2


def test_a_store_in_use_has_an_exit_code_of_its_own(home: Path, filled: str) -> None:
    async def second() -> int:
        command = [sys.executable, "-I", "-m", "prowess.server", "stats", "--store", str(home)]
        async with Store.open(home):
            with anyio.fail_after(60):
                return (await anyio.run_process(command, check=False)).returncode

    assert anyio.run(second) == Exit.IN_USE


def test_a_foreign_file_in_place_of_the_log_is_told_as_damage(prowess: Command, home: Path) -> None:
    home.mkdir()
    (home / "log.redb").write_bytes(b"not a database" * 100)
    ended = prowess("stats")
    assert ended.code == Exit.DAMAGED
    assert (home / "log.redb").read_bytes() == b"not a database" * 100


def test_a_setting_that_makes_no_sense_is_a_usage_error(
    prowess: Command, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_DAILY_USD", "much")
    assert prowess("stats").code == Exit.USAGE


@pytest.mark.parametrize(("words", "coloured"), [([], False), (["--color"], True), (["--no-color"], False)])
def test_colour_only_where_wanted(prowess: Command, filled: str, words: list[str], coloured: bool) -> None:
    assert ("\x1b[" in prowess("skills", "list", *words).out) is coloured


def test_control_characters_of_stored_text_do_not_reach_the_terminal(prowess: Command, home: Path) -> None:
    line = '{"task_id": "a\\u001b[31m", "steps": [{"action": "b\\u0007"}]}\n'
    path = home.parent / "x.jsonl"
    path.write_text(line)
    assert prowess("import", "jsonl", path).code == Exit.OK
    out = prowess("episodes", "list").out + prowess("episodes", "show", "a\x1b[31m").out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_reader_that_has_enough_is_no_error(home: Path, filled: str) -> None:
    command = [sys.executable, "-I", "-m", "prowess.server", "episodes", "list", "--json", "--store", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


NAMED = (
    ["episodes", "show", "gone"],
    ["evolve", "adjust", "--skill", "gone"],
    ["evolve", "create", "--from", "gone"],
    ["evolve", "create", "--pattern", "gone"],
    ["evolve", "rollback", "--skill", "gone"],
    ["import", "claude-code", "gone"],
    ["import", "codex", "gone"],
    ["import", "jsonl", "gone"],
    ["memories", "private", "gone"],
    ["memskill", "edit", "insert", "--file", "gone"],
    ["memskill", "remove", "gone"],
    ["memskill", "show", "gone"],
    ["restore", "gone"],
    ["skills", "archive", "gone"],
    ["skills", "import", "gone"],
    ["skills", "show", "gone"],
    ["token", "revoke", "gone"],
    ["token", "rotate", "gone"],
)


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
def test_what_is_named_and_not_there_is_not_found(prowess: Command, filled: str, words: list[str]) -> None:
    ended = prowess(*words, "--json")
    assert (ended.code, ended.json["error"]["exit_code"]) == (Exit.NOT_FOUND, Exit.NOT_FOUND)
    assert ended.json["error"]["hint"]


def test_every_path_of_a_command_is_checked_alike() -> None:
    paths = [(words, param) for words, found in commands() for param in found.params if _is_path(param)]
    started_alone = (["serve"], ["hook"])  # their options are read without the command line
    assert len(paths) > len(NAMED)
    assert [words for words, param in paths if not isinstance(param.type, PathGiven)] == list(started_alone)


def _is_path(param: click.Parameter) -> bool:
    return isinstance(param.type, (click.Path, click.File))


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command with the words that call it."""
    context = click.Context(cli)
    todo: list[tuple[list[str], click.Command]] = [([], cli)]
    while todo:
        words, found = todo.pop(0)
        if isinstance(found, click.Group):
            inner = ((name, found.get_command(context, name)) for name in found.list_commands(context))
            todo += [([*words, name], each) for name, each in inner if each is not None]
        else:
            yield words, found


def test_each_error_of_the_store_has_its_code() -> None:
    wanted = {
        errors.UnknownSkill: Exit.NOT_FOUND,
        errors.StoreInUse: Exit.IN_USE,
        errors.StoreNewer: Exit.DAMAGED,
        errors.StoreDamaged: Exit.DAMAGED,
        errors.WriteUncertain: Exit.UNAVAILABLE,
        errors.StoreBusy: Exit.FAILED,
    }
    assert {kind: exit_of(kind("x")) for kind in wanted} == wanted


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_refusal_by_folder_or_disk_has_one_code_wherever_it_is_met(number: int) -> None:
    met = [OSError(number, "x"), PlaceError("x", "y"), UnreadableSettings("x"), errors.StoreUnavailable("x")]
    assert {exit_of(error) for error in met} == {Exit.UNAVAILABLE}


def test_a_tools_error_has_the_code_of_its_cause() -> None:
    error = ToolError("x")
    error.__cause__ = errors.UnknownEpisode("y")
    assert exit_of(error) == Exit.NOT_FOUND
    assert exit_of(ToolError("x")) == Exit.FAILED


@pytest.mark.parametrize("before", [[], ["--"]])
def test_serve_is_dispatched_without_the_command_line(before: list[str]) -> None:
    program = f"""
import sys
import prowess.server.entry as entry
import types
fake = types.ModuleType("prowess.server.serve")
fake.main = lambda words: print(words, sorted(m for m in sys.modules if "click" in m or "server.cli" in m)) or 7
sys.modules["prowess.server.serve"] = fake
sys.exit(entry.main([*{before}, "serve", "--in-process", "--store", "x"]))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (7, "['--in-process', '--store', 'x'] []\n")


@pytest.mark.parametrize(
    ("loading", "code", "said"),
    [
        ("click", -signal.SIGINT, ""),  # as any program that does not answer it
        ("prowess.server.cli.stats", Exit.INTERRUPTED, "\ninterrupted\n"),
    ],
)
def test_an_interrupt_while_the_program_loads_shows_no_traceback(loading: str, code: int, said: str) -> None:
    program = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {loading!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
sys.argv = ["prowess", "stats"]
from prowess.server.entry import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


def test_interrupts_that_are_ignored_stay_so() -> None:
    program = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.argv = ["prowess", "--version"]
from prowess.server.entry import main
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (Exit.OK, "")


SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"


@pytest.mark.parametrize(
    "words",
    [
        (SECRET,),
        ("hub", SECRET),
        ("episodes", "list", "--limit", SECRET),
        ("episodes", "list", "--since", SECRET),
        ("skills", "list", "--status", SECRET),
        ("episodes", "show", SECRET),
        ("memories", "private", SECRET),
        ("token", "revoke", SECRET),
        ("evolve", "rollback", "--skill", SECRET),
        ("import", "jsonl", SECRET),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_refusal_repeats_a_secret(
    prowess: Command, filled: str, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    ended = prowess(*words, *form)
    assert ended.code != Exit.OK
    assert "[masked:" in ended.out + ended.err
    assert SECRET not in ended.out + ended.err
