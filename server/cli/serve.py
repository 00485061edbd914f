"""``prowess serve``, as the help and the docs show it; ``entry`` runs it without this module."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["serve"]


@click.command("serve", epilog="Example: prowess serve --store ~/agents/memory")
@click.option("--in-process", is_flag=True, help="Open the store in this process instead of a shared hub.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The store's folder (or PROWESS_HOME).",
)
@click.option("--project", metavar="NAME", help="The agent's project (or PROWESS_PROJECT); else its folder tells.")
def serve(in_process: bool, store: Path | None, project: str | None) -> int:
    """Serve MCP over standard input and output.

    An agent starts it; see `prowess config claude-desktop`. It carries lines to the store's hub, which it starts if
    none runs, so that several agents share one memory. The output carries protocol lines and nothing else; everything
    said to people goes to standard error.
    """
    from prowess.server.entry import main

    words = ["serve", "--in-process"] if in_process else ["serve"]
    words += ["--store", str(store)] if store else []
    return main([*words, "--project", project] if project else words)
