"""``prowess serve``, as the help and the docs show it; ``entry`` runs it without this module."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["serve"]


@click.command("serve", epilog="Example: prowess serve --store ~/agents/memory")
@click.option("--in-process", is_flag=True, help="Open the store in this process instead of a shared hub.")
@click.option("--http", metavar="HOST:PORT", help="Let the hub serve Streamable HTTP there until this command ends.")
@click.option(
    "--allow-host", multiple=True, metavar="NAME", help="A further name in the Host header, such as a proxy's. Repeat."
)
@click.option("--allow-origin", multiple=True, metavar="URL", help="Pages of this origin may ask. Repeat.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The store's folder (or PROWESS_HOME).",
)
@click.option("--project", metavar="NAME", help="The agent's project (or PROWESS_PROJECT); else its folder tells.")
def serve(**_: object) -> int:
    """Serve MCP over standard input and output, or over HTTP.

    An agent starts it; see `prowess config claude-desktop`. It carries lines to the store's hub, which it starts if
    none runs, so that several agents share one memory. The output carries protocol lines and nothing else; everything
    said to people goes to standard error. It ends with its input: `prowess hub start` is for who wants a hub without an
    agent. With --http it is you who start it: docs/http.md.
    """
    raise AssertionError("entry runs it")
