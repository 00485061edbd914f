"""``prowess hook``, as the help and the docs show it; ``entry`` runs it without this module."""

from __future__ import annotations

from pathlib import Path

import click

from prowess.server.hooks.events import EVENTS

__all__ = ["hook"]


@click.command("hook", epilog="Example: prowess hook claude-code PostToolUse < event.json")
@click.argument("client", type=click.Choice(sorted(EVENTS)))
@click.argument("event")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The store's folder (or PROWESS_HOME).",
)
def hook(**_: object) -> int:
    """Take an agent's event from standard input.

    A client starts it at its own events, once `prowess install` has written it into the client's configuration; see
    docs/hooks.md. It always ends with exit code 0.
    """
    raise AssertionError("entry runs it")
