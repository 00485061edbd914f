"""``prowess config``: entries for the configuration files of MCP clients, ready to paste."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import click

from prowess.server import install as installer
from prowess.server.cli.command import Run, command

__all__ = ["config"]

_CURSOR = "~/.cursor/plugins/local/prowess"


@click.group("config")
def config() -> None:
    """Print what a client's configuration needs."""


def show(run: Run, entry: dict[str, Any]) -> None:
    click.echo(json.dumps(entry, indent=2))


@command("claude-desktop", example="prowess config claude-desktop", show=show, group=config)
async def claude_desktop(run: Run) -> dict[str, Any]:
    """Print the entry for claude_desktop_config.json.

    It also serves in Claude Code's .mcp.json and Cursor's mcp.json. The interpreter's path in it is absolute.
    """
    store = run.store or (Path(home) if (home := os.environ.get("PROWESS_HOME")) else None)
    return {"mcpServers": {"prowess": installer.mcp_entry(store)}}


def show_plugins(run: Run, told: dict[str, Any]) -> None:
    for client, lines in told["commands"].items():
        run.out.print(f"{client}:", *lines, sep="\n  ")


@command("plugins", example="prowess config plugins", show=show_plugins, group=config)
async def plugins(run: Run) -> dict[str, Any]:
    """Tell where the plugins are and how each client takes one.

    A plugin is the other way to install: use it or `prowess install`, not both. It starts `prowess` from the PATH.
    """
    folder = Path(installer.__file__).with_name("plugins")
    where = shlex.quote(str(folder))
    return {
        "folder": str(folder),
        "commands": {
            "claude-code": [f"claude plugin marketplace add {where}", "claude plugin install prowess@prowess"],
            "codex": [f"codex plugin marketplace add {where}", "codex plugin add prowess@prowess"],
            "cursor": [f"mkdir -p {_CURSOR}", f"cp -R {shlex.quote(f'{folder}/cursor/.')} {_CURSOR}"],
        },
    }
