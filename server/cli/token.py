"""``prowess token``: who may ask over HTTP."""

from __future__ import annotations

from typing import Any

import click

from prowess.server.cli.command import Run, command
from prowess.server.cli.session import settings
from prowess.server.cli.terminal import table
from prowess.server.http.tokens import SCOPES, Tokens

__all__ = ["token"]

FIELDS = ("name", "scopes", "project", "created", "rotated")  # all but the digest


@click.group("token")
def token() -> None:
    """Say who may ask over HTTP."""


def show_secret(run: Run, told: dict[str, Any]) -> None:
    run.note(f"the token {told['name']}; it is shown once, and only its hash is kept:")
    click.echo(told["token"])


@command("create", example="prowess token create ci --scope read --scope write", show=show_secret, group=token)
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    help="read: find_skill; write: track_execution, score_reward; evolve: reflect, evolve_skills. Repeat; else all.",
)
@click.option("--project", metavar="NAME", help="The one project that its calls reach.")
async def create(run: Run, name: str, scopes: tuple[str, ...], project: str | None) -> dict[str, Any]:
    """Make a token and print it."""
    return {"name": name, "token": _tokens(run).create(name, scopes=scopes or SCOPES, project=project)}


@command("rotate", example="prowess token rotate ci", show=show_secret, group=token)
@click.argument("name")
async def rotate(run: Run, name: str) -> dict[str, Any]:
    """Replace a token by a new one of the same name.

    The old one is refused from now on.
    """
    return {"name": name, "token": _tokens(run).rotate(name)}


def show_revoked(run: Run, told: dict[str, Any]) -> None:
    run.out.print(f"{told['revoked']} may ask no longer")


@command("revoke", example="prowess token revoke ci", show=show_revoked, group=token)
@click.argument("name")
async def revoke(run: Run, name: str) -> dict[str, Any]:
    """Forget a token; it is refused from now on."""
    _tokens(run).revoke(name)
    return {"revoked": name}


def show_tokens(run: Run, told: list[dict[str, Any]]) -> None:
    if not told:
        revoked = _tokens(run).needed()
        run.out.print("all tokens were revoked, so nobody may ask over HTTP" if revoked else "no token was made")
        run.note("`prowess token create NAME` makes one")
        return
    rows = [[" ".join(row[name]) if name == "scopes" else row[name] for name in FIELDS] for row in told]
    run.out.print(table([name.upper() for name in FIELDS], rows))


@command("list", example="prowess token list --json", show=show_tokens, group=token)
async def list_tokens(run: Run) -> list[dict[str, Any]]:
    """List the tokens by name; the secrets themselves are not kept."""
    return [{name: getattr(each, name) for name in FIELDS} for each in _tokens(run).all()]


def _tokens(run: Run) -> Tokens:
    return Tokens(settings(run).home)
