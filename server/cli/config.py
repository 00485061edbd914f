"""``prowess config``: entries for the configuration files of MCP clients, ready to paste."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from prowess.server.cli.command import Run, command
from prowess.server.install import mcp_entry

__all__ = ["config"]


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
    return {"mcpServers": {"prowess": mcp_entry(store)}}
