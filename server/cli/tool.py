"""A tool's call as a command: the same input, the same answer as an agent gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from prowess.server.cli.command import Run
from prowess.server.cli.named import note_unknown
from prowess.server.cli.session import here_or_there, open_context, settings
from prowess.server.hub import client as hub

__all__ = ["call_tool", "show_answer"]


async def call_tool(run: Run, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer, with its text under ``text`` unless JSON is wanted. Raises ``ToolError``."""
    given = {key: value for key, value in arguments.items() if value is not None}
    values = settings(run)
    answer = await here_or_there(
        values, lambda: _call_there(run, values.home, name, given), lambda: _call_here(run, name, given)
    )
    if run.json:
        structured: dict[str, Any] = answer["structured"]
        return structured
    for note in answer["notes"]:
        run.note(note)
    return {"text": answer["text"]}


async def _call_there(run: Run, home: Path, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = await hub.call_tool(home, name, arguments)
    if _needs_word(name, arguments):
        async with hub.open_calls(home) as store:
            await note_unknown(run, store, arguments["project"])
    return answer


def _needs_word(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a project is named to a tool that says nothing of one that there is not."""
    return name == "find_skill" and bool(arguments.get("project"))


async def _call_here(run: Run, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from prowess.tools.registry import call, find

    tool = find(name)
    looks = tool.annotations.read_only or arguments.get("mode") == "status" or arguments.get("dry_run") is True
    async with open_context(run, looks=looks) as ctx:
        answer = await call(tool, arguments, ctx)
        if _needs_word(name, arguments):
            await note_unknown(run, ctx.store, arguments["project"])
    return {"structured": answer.structured(), "text": answer.text(), "notes": answer.notes}


def show_answer(run: Run, answer: dict[str, Any]) -> None:
    """The text as agents get it, in which nothing is left that a terminal would obey."""
    click.echo(answer["text"])
