"""``prowess evolve``: make, better, combine and archive skills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from prowess.server.cli.command import Failed, PathGiven, Run, command
from prowess.server.cli.tool import call_tool, show_answer

__all__ = ["evolve"]

MODES = ("auto", "create", "adjust", "compose", "prune", "status", "rollback", "train", "cancel")


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
@click.option("--dry-run", is_flag=True, help="Show the changes and make none.")
async def evolve(
    run: Run, mode: str, names: tuple[str, ...], patterns: tuple[str, ...], file: Path | None, **options: Any
) -> dict[str, Any]:
    """Make skills of what worked, and better them.

    MODE: auto (the default) does all that applies; create, adjust, compose and prune one thing; rollback takes the last
    version of a skill back; status tells how things stand. What a person wrote or pinned is never changed. train starts
    learning what to remember (docs/memskill.md), cancel ends that.
    """
    skills = [*names, *(_worded(file) if file else ())]
    wanted = {**options, "mode": mode, "skills": skills or None, "patterns": list(patterns) or None}
    return await call_tool(run, "evolve_skills", wanted)


def _worded(file: Path) -> list[Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        hint = "give a list of skills as evolve_skills takes them: docs/tools.md"
        raise Failed(f"{file} is no JSON: {error}", hint=hint) from error
    return value if isinstance(value, list) else [value]
