"""``prowess serve``, as the help and the docs show it; ``entry`` runs it without this module."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["serve"]


@click.command("serve", epilog="Example: prowess serve --in-process --store ~/agents/memory")
@click.option("--in-process", is_flag=True, help="Open the store in this process (the only way in this version).")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The store's folder (or PROWESS_HOME).",
)
def serve(in_process: bool, store: Path | None) -> int:
    """Serve MCP over standard input and output.

    An agent starts it; see `prowess config claude-desktop`. The output carries protocol lines and nothing else;
    everything said to people goes to standard error.
    """
    from prowess.server.serve import main

    words = ["--in-process"] if in_process else []
    return main([*words, "--store", str(store)] if store else words)
