"""The five tools, and the one way to call them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio.to_thread

from prowess.storage.errors import InvalidInput, StoreError
from prowess.tools import evolve_skills, find_skill, reflect, score_reward, track_execution
from prowess.tools.base import Input, Output, Tool
from prowess.tools.confined import check_project
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.large import is_large
from prowess.tools.text import clean_text, quote

__all__ = ["TOOLS", "call", "find", "unforeseen"]

TOOLS: tuple[Tool, ...] = (
    track_execution.TOOL,
    score_reward.TOOL,
    reflect.TOOL,
    find_skill.TOOL,
    evolve_skills.TOOL,
)

_log = logging.getLogger(__name__)


def find(name: str) -> Tool:
    """The tool called ``name``. Raises ``ToolError`` that lists those there are."""
    for tool in TOOLS:
        if tool.name == name:
            return tool
    names = ", ".join(tool.name for tool in TOOLS)
    raise ToolError(f"there is no tool {quote(name)}", hint=f"The tools are {names}.")


async def call(tool: Tool, arguments: Mapping[str, Any], ctx: Context) -> Output:
    """Carry out one call. Whatever fails is a ``ToolError``; what nobody foresaw is logged under a reference."""
    # A key names one call of one tool: another tool's first answer would make no sense here.
    ctx = replace(ctx, key=clean_text(f"{tool.name}:{ctx.key}")) if ctx.key else ctx
    try:
        told, notes = await _parsed(tool, arguments)
        check_project(told, ctx)
        answer = await tool.handle(told, ctx)
    except (ToolError, InvalidInput) as error:
        if isinstance(error, ToolError) and error.hint == _whole(error.hint):
            raise
        raise ToolError(str(error), hint=_whole(error.hint)) from error
    except StoreError as error:
        raise ToolError(str(error), hint=error.hint) from error
    except Exception as error:
        raise unforeseen(tool.name, error) from error
    answer.notes[:0] = notes
    return answer


async def _parsed(tool: Tool, arguments: Mapping[str, Any]) -> tuple[Input, list[str]]:
    """The input, read in a thread where that would hold the event loop for more than a few milliseconds."""
    if is_large(arguments):
        return await anyio.to_thread.run_sync(tool.parse, arguments)
    return tool.parse(arguments)


def _whole(hint: str) -> str:
    """``hint`` with what became of the call: what is refused is refused whole, before anything is written."""
    if "nothing was" in hint.lower():
        return hint
    return f"{hint} Nothing was stored." if hint.endswith((".", "}")) else f"{hint}; nothing was stored"


def unforeseen(what: str, error: Exception) -> ToolError:
    """An error that says nothing of ``error`` but where the log tells more."""
    reference = secrets.token_hex(4)
    _log.error("%s failed (reference %s)", what, reference, exc_info=error)
    return ToolError(
        f"{what} failed inside prowess (reference {reference})",
        hint="Your own work need not wait: go on without it. The server's log has the details (`prowess hub logs`, or"
        " stderr where no hub serves).",
    )
