"""Every command is documented, and docs/cli.md is what the commands say."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from prowess.server.cli.exits import MEANINGS, Exit
from prowess.server.cli.main import cli
from prowess.server.cli.misplaced import commands
from prowess.server.cli.reference import reference

ALL = {" ".join(words): command for words, command in commands(cli)}
DOCS = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_docs_are_made_from_the_commands() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference(), "python -I -m prowess.server.cli.reference > docs/cli.md"


def test_all_commands_are_there() -> None:
    assert set(ALL) == {
        *(
            "serve",
            "demo",
            "import jsonl",
            "import claude-code",
            "import codex",
            "import cursor",
            "reflect",
            "find",
            "evolve",
            "hub logs",
            "hub restart",
            "hub start",
            "hub status",
            "hub stop",
            "forget",
            "rebuild",
            "backup",
            "restore",
        ),
        *("install", "uninstall", "config plugins", "hook"),
        *("token create", "token list", "token rotate", "token revoke"),
        *("memories add", "memories list", "memories private"),
        *("memskill show", "memskill edit", "memskill remove", "memskill reset"),
        *("sync status", "sync now", "sync pause", "sync resume", "sync reset"),
        *(
            "status",
            "doctor",
            "stats",
            "config claude-desktop",
            "episodes list",
            "episodes show",
            "skills list",
            "skills show",
        ),
        *("skills export", "skills import", "skills pin", "skills private", "skills archive", "skills restore"),
    }


@pytest.mark.parametrize("name", ALL)
def test_each_command_has_help_and_an_example_of_itself(name: str) -> None:
    command = ALL[name]
    assert (command.epilog or "").startswith(f"Example: prowess {name}")
    assert 10 < len(command.get_short_help_str(200)) <= 80
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.show_default, f"{name} {parameter.opts}"


def test_no_line_of_a_group_s_help_is_cut_at_80_columns() -> None:
    root = click.Context(cli, info_name="prowess")
    inner = {name: cli.get_command(root, name) for name in cli.list_commands(root)}
    groups = {"": cli, **{name: command for name, command in inner.items() if isinstance(command, click.Group)}}
    lines = [line for name, group in groups.items() for line in _help_of(name, group)]
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == []


def _help_of(name: str, command: click.Command) -> list[str]:
    with click.Context(command, info_name=f"prowess {name}", terminal_width=80) as context:
        return command.get_help(context).splitlines()


@pytest.mark.parametrize("name", sorted(set(ALL) - {"serve", "hook"}))
def test_each_command_takes_the_common_options(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert {"--json", "--store", "--color"} <= options


def test_each_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Exit)
