"""``prowess reflect`` and ``prowess find``: the tools of the same name, for a person."""

from __future__ import annotations

from typing import Any

import click

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.times import Time
from prowess.server.cli.tool import call_tool, show_answer

__all__ = ["find", "reflect"]

KINDS = ("sequence", "decision", "recovery", "context", "failure")


@command("reflect", example="prowess reflect --kind recovery --min-support 3", show=show_answer)
@click.option("--project", help="Only this project.")
@click.option("--task-id", help="Only this task.")
@click.option("--since", type=Time(), help="Only episodes from this time (ISO 8601 with a zone).")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind, line by line; may be repeated."
)
@click.option("--min-support", type=click.IntRange(1, 1_000_000), help="Episodes that must show a pattern (2).")
@click.option("--limit", type=click.IntRange(1, 200), help="Patterns to show (10).")
async def reflect(run: Run, kinds: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Find what leads to high or low reward.

    Looks over all stored episodes, tells patterns with their effect, and keeps the lessons.
    """
    return await call_tool(run, "reflect", {**options, "kinds": list(kinds) or None})


@command("find", example="prowess find 'return two items of a delivered order' --limit 1", show=show_answer)
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 20), help="Skills to show (3).")
@click.option("--project", help="Skills of this project and of all projects.")
@click.option("--context", help="The situation in words.")
@click.option("--max-tokens", type=click.IntRange(200, 20_000), help="How long the answer may be (1000).")
async def find(run: Run, query: str, **options: Any) -> dict[str, Any]:
    """Find skills and lessons for the task QUERY."""
    if not query.strip():
        raise Failed("the query is empty", hint="say what the task is, in words", code=Exit.USAGE)
    return await call_tool(run, "find_skill", {**options, "query": query})
