"""``prowess config``: entries for the configuration files of MCP clients, ready to paste."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from prowess.server import shim
from prowess.server.cli.command import Run, command

__all__ = ["client_entry", "config"]


@click.group("config")
def config() -> None:
    """Print what a client's configuration needs."""


def client_entry(store: Path | None) -> dict[str, Any]:
    """How a client starts this server: absolute, since a desktop program has no shell's PATH.

    ``-I`` keeps the code of the project that the agent works in off the interpreter's path; ``-S`` saves the time that
    installed packages take to find, none of which the shim needs.
    """
    where = ["--store", str(store.absolute())] if store else []
    shim_path = str(Path(shim.__file__).with_name("__main__.py"))
    return {"mcpServers": {"prowess": {"command": sys.executable, "args": ["-I", "-S", shim_path, *where]}}}


def show(run: Run, entry: dict[str, Any]) -> None:
    click.echo(json.dumps(entry, indent=2))


@command("claude-desktop", example="prowess config claude-desktop", show=show, group=config)
async def claude_desktop(run: Run) -> dict[str, Any]:
    """Print the entry for claude_desktop_config.json.

    It also serves in Claude Code's .mcp.json and Cursor's mcp.json. The interpreter's path in it is absolute.
    """
    return client_entry(run.store or (Path(home) if (home := os.environ.get("PROWESS_HOME")) else None))
