"""docs/cli.md, made from the commands themselves: ``python -I -m prowess.server.cli.reference > docs/cli.md``."""

from __future__ import annotations

import sys
from textwrap import fill
from typing import Any

import click

from prowess.server.cli.exits import MEANINGS
from prowess.server.cli.main import cli
from prowess.server.cli.misplaced import commands

__all__ = ["reference"]

_COMMON = ("json", "store", "color", "help")
_HEAD = """\
# Commands

Made from the commands themselves; do not edit. Every command but `serve` takes `--json`, `--store DIR` and
`--color/--no-color`.

- **`--json`** prints exactly one JSON document on standard output, also when the command fails:
  `{"error": {"message", "hint", "exit_code"}}`. [What it prints](json.md) has the fields. Without it a person reads the
  result there. Errors, remarks and progress bars go to standard error; bars only to a terminal.
- **`--store DIR`** is the store's folder. Without it `PROWESS_HOME`, then the user's data folder; see
  [settings](settings.md).
- Options stand behind the command that they belong to: `prowess status --store DIR`.
- **`--color/--no-color`**: by default colours on a terminal, unless `NO_COLOR` is set.

## Exit codes

| code | meaning |
|---|---|
"""


def reference() -> str:
    """The text of docs/cli.md."""
    codes = "".join(f"| {int(code)} | {meaning} |\n" for code, meaning in MEANINGS.items())
    return _HEAD + codes + "".join(_section(" ".join(words), command) for words, command in commands(cli))


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"prowess {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    example = (command.epilog or "").removeprefix("Example: ")
    lines = [f"\n## prowess {name}\n", "```sh", f"prowess {name} {usage}", "```\n", _paragraphs(command.help or ""), ""]
    options = [option for option in command.params if isinstance(option, click.Option) and option.name not in _COMMON]
    if name == "serve":
        options = [option for option in command.params if isinstance(option, click.Option)]
    if options:
        lines += ["| option | meaning |", "|---|---|", *(_row(option, context) for option in options), ""]
    return "\n".join([*lines, f"Example: `{example}`", ""])


def _paragraphs(text: str) -> str:
    return "\n\n".join(fill(" ".join(part.split()), width=120) for part in text.split("\n\n"))


def _row(option: click.Option, context: click.Context) -> str:
    record: Any = option.get_help_record(context)
    written, said = record
    return f"| `{written.replace('|', chr(92) + '|')}` | {said.replace('[', chr(92) + '[')} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
