"""The store for one command: through the hub while one runs, else opened in this process and closed at the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
from msgspec.structs import replace as replaced

from prowess.server.cli.command import Failed, Run
from prowess.server.cli.exits import Exit
from prowess.server.hub import client as hub
from prowess.server.origins import PERSON
from prowess.server.settings import Settings, load, of_hub
from prowess.storage.behind import Behind, as_far_as_known
from prowess.storage.errors import StoreInUse, StoreReadOnly

if TYPE_CHECKING:
    from prowess.storage.store import Store
    from prowess.tools.context import Context

__all__ = [
    "check_there",
    "here_or_there",
    "open_context",
    "open_store",
    "project_here",
    "send_hub_away",
    "settings",
]

MODEL_SECONDS = 30.0  # a command can wait for the embedding model, as nobody else does
HUB_SECONDS = 50.0  # for a hub that starts or leaves just now; it ends itself by then
POLL_SECONDS = 0.1

T = TypeVar("T")


def settings(run: Run) -> Settings:
    """The settings with the command's own options. Raises ``BadSetting``."""
    return load({"home": str(run.store) if run.store else None})


def check_there(values: Settings) -> None:
    """A mistyped folder is told, not made into an empty store."""
    from prowess.storage.backup import log_path

    path = log_path(values.home, values.redb_path)
    if not path.exists():
        hint = (
            "an agent makes one (`prowess install` connects it), and so does `prowess import`; "
            "name another with --store or PROWESS_HOME"
        )
        raise Failed(f"there is no store at {values.home}", hint=hint, code=Exit.NOT_FOUND)


def project_here(run: Run, name: str | None) -> str:
    """The project of that name, else that of the folder of the command. Raises ``Failed`` where that is none's."""
    from prowess.server.project import project_of

    if not (told := name or project_of(Path.cwd(), settings(run).project)):
        raise Failed("this folder belongs to no project", hint="go to one, or name it with --project", code=Exit.USAGE)
    return told


async def here_or_there(values: Settings, there: Callable[[], Awaitable[T]], here: Callable[[], Awaitable[T]]) -> T:
    """``there`` by the hub, ``here`` where none runs. A hub that starts or leaves just now is waited for."""
    deadline = time.monotonic() + HUB_SECONDS
    while True:
        try:
            if hub.is_running(values.home):
                _check_same_log(values)
                return await there()
            return await here()
        except (hub.HubGone, StoreInUse) as error:
            # Only a hub is waited for: any other process that has the store open may keep it for ever.
            starting = hub.is_running(values.home) or isinstance(error, hub.HubGone)
            if starting and time.monotonic() > deadline:
                raise hub.HubError(
                    f"a hub that starts or leaves did neither within {HUB_SECONDS:g} s",
                    hint="`prowess hub stop` ends one that hangs; `prowess hub logs` may tell why it does",
                ) from error
            if not starting:
                raise
        await anyio.sleep(POLL_SECONDS)


def _check_same_log(values: Settings) -> None:
    if values.redb_path != of_hub(values.home).redb_path:
        raise Failed(
            "a hub runs that does not go by your REDB_PATH",
            hint="write redb_path into config.toml in the store's folder, and run `prowess hub stop`",
            code=Exit.IN_USE,
        )


async def send_hub_away(values: Settings) -> None:
    """Let an idle hub leave, since a command wants the files for itself. Raises ``Failed`` where agents use it."""
    hint = "close the agents, or run `prowess hub stop`; their hub starts again with their next call"
    while hub.is_running(values.home):
        try:
            told = await hub.ask(values.home, "yield")
        except hub.HubGone:
            told = {"leaving": True}
        if not told.get("leaving") or not await hub.wait_until_gone(values.home, HUB_SECONDS):
            raise Failed(f"the hub is in use (agents and commands: {told.get('clients')})", hint=hint, code=Exit.IN_USE)


async def _entered(
    stack: AsyncExitStack,
    values: Settings,
    there: Callable[[], AbstractAsyncContextManager[T]],
    here: Callable[[], AbstractAsyncContextManager[T]],
) -> T:
    return await here_or_there(
        values, lambda: stack.enter_async_context(there()), lambda: stack.enter_async_context(here())
    )


@asynccontextmanager
async def open_store(
    run: Run, *, replace_catalog: bool = False, looks: bool = False, create: bool = False
) -> AsyncIterator[Store]:
    """The store alone, for commands that only look or keep it in order. Of a hub's: what ``HubStore`` offers.

    ``replace_catalog`` moves a damaged catalog aside, which no hub could have opened. A command that ``looks``, and
    changes nothing, is answered also where a full disk keeps the newest events out of the catalog. ``create`` makes a
    store where there is none.
    """
    values = settings(run)
    async with AsyncExitStack() as stack:
        if looks:
            stack.callback(_tell_behind, run, stack.enter_context(as_far_as_known()))
        yield await _entered(
            stack,
            values,
            lambda: hub.open_calls(values.home),
            lambda: _store_here(run, values, replace_catalog, create, looks),
        )


def _tell_behind(run: Run, behind: Behind) -> None:
    for note in behind.notes():
        run.note(note)


@asynccontextmanager
async def _store_here(
    run: Run, values: Settings, replace_catalog: bool, create: bool, looks: bool
) -> AsyncIterator[Store]:
    if not create:
        check_there(values)
    from prowess.server.runtime import store_of

    async with AsyncExitStack() as stack:
        yield await _entered_or_read_only(
            run,
            stack,
            lambda: store_of(values, replace_catalog=replace_catalog),
            (lambda: store_of(values, read_only=True)) if looks else None,
        )


async def _entered_or_read_only(
    run: Run,
    stack: AsyncExitStack,
    usual: Callable[[], AbstractAsyncContextManager[T]],
    read_only: Callable[[], AbstractAsyncContextManager[T]] | None,
) -> T:
    """What is open; of a store that cannot be written, for a command that only looks, what can be read of it."""
    try:
        return await stack.enter_async_context(usual())
    except StoreReadOnly as error:
        if read_only is None:
            raise
        run.note(str(error))
        return await stack.enter_async_context(read_only())


@asynccontextmanager
async def open_context(
    run: Run, *, project: str | None = None, create: bool = False, looks: bool = False
) -> AsyncIterator[Context]:
    """What calls of ``track_execution`` and ``score_reward`` need, on behalf of the person at the terminal.

    ``create`` makes a store where there is none; a command that only ``looks`` is answered also where none can be
    written. Only in this process is there a worker and a model too.
    """
    values = settings(run)
    async with AsyncExitStack() as stack:
        context = await _entered(
            stack, values, lambda: _context_there(values), lambda: _context_here(run, values, create, looks)
        )
        yield context if project is None else replace(context, project=project)


@asynccontextmanager
async def _context_here(run: Run, values: Settings, create: bool, looks: bool) -> AsyncIterator[Context]:
    from prowess.server.runtime import open_runtime

    if not create:
        check_there(values)
    async with AsyncExitStack() as stack:
        runtime = await _entered_or_read_only(
            run,
            stack,
            lambda: open_runtime(values, patience=MODEL_SECONDS),
            (lambda: open_runtime(values, patience=MODEL_SECONDS, read_only=True)) if looks else None,
        )
        yield runtime.context(client=PERSON.client, session=PERSON.session, actor="person")


@asynccontextmanager
async def _context_there(values: Settings) -> AsyncIterator[Context]:
    from prowess.server.runtime import machine_of
    from prowess.tools.context import Context

    nothing = cast("Any", None)  # the hub has the worker and the model
    async with hub.open_calls(values.home) as store:
        yield Context(
            store=store,
            compute=nothing,
            index=nothing,
            origin=replaced(PERSON, machine=machine_of(values.home)),
            project=values.project,
            session=PERSON.session,
            unused_days=values.unused_days,
            withhold=values.withhold,
            memory_cap=values.memory_cap,
        )
