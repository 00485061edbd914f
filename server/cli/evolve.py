"""``prowess evolve``: make, better, combine and archive skills."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio.to_thread
import click

from prowess.server.cli.command import Failed, PathGiven, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.files import text_of
from prowess.server.cli.session import check_there, settings
from prowess.server.cli.tool import call_tool, show_answer
from prowess.storage.errors import InvalidInput

__all__ = ["evolve"]

MODES = ("auto", "create", "adjust", "compose", "prune", "status", "rollback", "train", "cancel")
SETTINGS_HINT = 'give the trainer\'s settings as {"iterations": 30}: docs/memskill.md lists them'


@command("evolve", example="prowess evolve rollback --skill return_items --dry-run", show=show_answer)
@click.argument("mode", type=click.Choice(MODES), default="auto")
@click.option("--skill", "names", multiple=True, help="adjust, rollback: this one, by name or id; may be repeated.")
@click.option("--pattern", "patterns", multiple=True, metavar="ID", help="Build on this pattern; may be repeated.")
@click.option(
    "--from",
    "file",
    type=PathGiven(exists=True, dir_okay=False, path_type=Path),
    help="create, adjust: a JSON file with skills worded by you, as the tool takes them.",
)
@click.option("--project", help="Only this project.")
@click.option("--run-id", help="train, cancel, status: the training run.")
@click.option(
    "--settings",
    "settings_file",
    type=PathGiven(exists=True, dir_okay=False, path_type=Path),
    help='train: a JSON file with the trainer\'s settings, such as {"iterations": 30}.',
)
@click.option(
    "--set",
    "singly",
    multiple=True,
    metavar="NAME=VALUE",
    help="train: one of the trainer's settings, before those of the file; resume=false begins anew. Repeat.",
)
@click.option("--dry-run", is_flag=True, help="Show the changes and make none.")
async def evolve(
    run: Run,
    mode: str,
    names: tuple[str, ...],
    patterns: tuple[str, ...],
    file: Path | None,
    settings_file: Path | None,
    singly: tuple[str, ...],
    **options: Any,
) -> dict[str, Any]:
    """Make skills of what worked, and better them.

    MODE: auto (the default) does all that applies; create, adjust, compose and prune one thing; rollback takes the last
    version of a skill back; status tells how things stand. What a person wrote or pinned is never changed. train lets
    the hub, which is started where none runs, learn what to remember (docs/memskill.md, with the settings); cancel ends
    that.
    """
    if mode != "train" and (settings_file or singly):
        raise Failed(f"mode {mode} takes no settings", hint="they are train's: docs/memskill.md", code=Exit.USAGE)
    if mode == "rollback" and not names and not file:
        raise Failed("rollback needs to know which skills", hint="name each with --skill", code=Exit.USAGE)
    told = _settings(settings_file, singly)
    if mode == "train":
        await _have_hub(run)
    skills = [*names, *(_worded(file) if file else ())]
    wanted = {
        **options,
        "mode": mode,
        "skills": skills or None,
        "patterns": list(patterns) or None,
        "settings": told,
    }
    return await call_tool(run, "evolve_skills", wanted)


async def _have_hub(run: Run) -> None:
    """A trainer ends with the process that started it, so that has to be a hub, which stays."""
    from prowess.server.hub.starting import start_hub
    from prowess.server.trainer.supervisor import check_installed

    values = settings(run)
    check_there(values)
    check_installed()
    await anyio.to_thread.run_sync(start_hub, values.home, "cli", abandon_on_cancel=True)


def _worded(file: Path) -> list[Any]:
    value = _json(file, "give a list of skills as evolve_skills takes them: docs/tools.md")
    return value if isinstance(value, list) else [value]


def _settings(file: Path | None, singly: Sequence[str]) -> dict[str, Any] | None:
    """What the trainer is told; None where nothing was given. Raises ``Failed``."""
    from prowess.learning.memskill.settings import understood

    if file is None and not singly:
        return None
    told = _json(file, SETTINGS_HINT) if file else {}
    if not isinstance(told, dict):
        raise Failed(f"{file} holds no JSON object", hint=SETTINGS_HINT)
    try:
        return understood({**told, **dict(map(_setting, singly))})
    except InvalidInput as error:
        raise Failed(str(error), hint=error.hint, code=Exit.USAGE) from error


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Failed(f"--set {text}: this is no NAME=VALUE", hint="such as --set iterations=30", code=Exit.USAGE)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value  # a word needs no quotes


def _json(file: Path, hint: str) -> Any:
    try:
        return json.loads(text_of(file))
    except (ValueError, RecursionError) as error:
        raise Failed(f"{file} is no JSON: {error}", hint=hint) from error
