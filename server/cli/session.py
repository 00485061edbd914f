"""The store for one command: opened in this process, closed at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from prowess.server.cli.command import Failed, Run
from prowess.server.cli.exits import Exit
from prowess.server.settings import Settings, load
from prowess.storage.models import Origin

if TYPE_CHECKING:
    from prowess.storage.store import Store
    from prowess.tools.context import Context

__all__ = ["PERSON", "SESSION", "open_context", "open_store", "settings"]

MODEL_SECONDS = 30.0  # a command can wait for the embedding model, as nobody else does
SESSION = "cli"
PERSON = Origin(client="prowess", session=SESSION, actor="person")


def settings(run: Run) -> Settings:
    """The settings with the command's own options. Raises ``BadSetting``."""
    return load({"home": str(run.store) if run.store else None})


def _check_there(values: Settings) -> None:
    """A mistyped folder is told, not made into an empty store."""
    from prowess.storage.backup import log_path

    path = log_path(values.home, values.redb_path)
    if not path.exists():
        hint = "name another with --store or PROWESS_HOME; `prowess import jsonl` and `prowess serve` make one"
        raise Failed(f"there is no store at {values.home}", hint=hint, code=Exit.NOT_FOUND)


@asynccontextmanager
async def open_store(run: Run) -> AsyncIterator[Store]:
    """The store alone, for commands that only look or keep it in order."""
    from prowess.learning.redaction import mask
    from prowess.storage.store import Store

    values = settings(run)
    _check_there(values)
    async with Store.open(values.home, redb_path=values.redb_path, mask=mask) as store:
        yield store


@asynccontextmanager
async def open_context(run: Run, *, project: str | None = None, create: bool = False) -> AsyncIterator[Context]:
    """What a tool call needs, on behalf of the person at the terminal; ``create`` makes a store where there is none."""
    from prowess.server.runtime import open_runtime

    values = settings(run)
    if not create:
        _check_there(values)
    async with open_runtime(values, patience=MODEL_SECONDS) as runtime:
        context = runtime.context(client="prowess", session=SESSION, actor="person")
        yield context if project is None else replace(context, project=project)
