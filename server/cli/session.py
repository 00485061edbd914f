"""The store for one command: opened in this process, closed at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from prowess.server.cli.command import Run
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


@asynccontextmanager
async def open_store(run: Run) -> AsyncIterator[Store]:
    """The store alone, for commands that only look or keep it in order."""
    from prowess.learning.redaction import mask
    from prowess.storage.store import Store

    values = settings(run)
    async with Store.open(values.home, redb_path=values.redb_path, mask=mask) as store:
        yield store


@asynccontextmanager
async def open_context(run: Run, *, project: str | None = None) -> AsyncIterator[Context]:
    """What a tool call needs, on behalf of the person at the terminal."""
    from prowess.server.runtime import open_runtime

    async with open_runtime(settings(run), patience=MODEL_SECONDS) as runtime:
        context = runtime.context(client="prowess", session=SESSION, actor="person")
        yield context if project is None else replace(context, project=project)
