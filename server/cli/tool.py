"""A tool's call as a command: the same input, the same answer as an agent gets."""

from __future__ import annotations

from typing import Any

import click

from prowess.server.cli.command import Run
from prowess.server.cli.session import open_context

__all__ = ["call_tool", "show_answer"]


async def call_tool(run: Run, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer, with its text under ``text`` unless JSON is wanted. Raises ``ToolError``."""
    from prowess.tools.registry import call, find

    given = {key: value for key, value in arguments.items() if value is not None}
    async with open_context(run) as ctx:
        answer = await call(find(name), given, ctx)
    if run.json:
        return answer.structured()
    for note in answer.notes:
        run.note(note)
    return {"text": answer.text()}


def show_answer(run: Run, answer: dict[str, Any]) -> None:
    """Stored text may hold control characters: a terminal must not obey them."""
    text = "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in answer["text"])
    click.echo(text)
