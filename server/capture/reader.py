"""Takes events from the spool: at the hub's start, when a hook pokes, and before a call that may depend on one."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from prowess.server.capture import briefing
from prowess.server.capture.binding import BoundStore
from prowess.server.capture.filing import HOPELESS, Filing
from prowess.server.capture.listening import Listening
from prowess.server.capture.sessions import Quiet, Sessions
from prowess.server.hooks import losses, spool
from prowess.storage.errors import StoreError, StoreUnavailable
from prowess.tools.errors import ToolError
from prowess.tools.text import clean, clean_text, cut

if TYPE_CHECKING:
    from prowess.server.hub.connections import ProjectOf
    from prowess.server.hub.hello import Hello
    from prowess.server.hub.wire import SocketWire
    from prowess.server.opening import Opening
    from prowess.server.runtime import Runtime
    from prowess.tools.context import Context

__all__ = ["Capture"]

LOOK_SECONDS = 5.0  # between looks into the spool without a poke: a hook that could not connect gave none
RETRY_SECONDS = 5.0  # after the store refused
SWEEP_SECONDS = 600.0
CALL_SECONDS = 2.0  # that a call waits for events that came before it
BATCH = 50  # events between two writes of what is known of sessions
MAX_QUESTION = 256 * 1024  # a character may take twelve bytes, and a failure's question has 12,000 of them
MAX_NESTED = 4_000  # characters of what is nested too deep
MAX_PATIENCE = 10.0  # seconds for which a hook may say that it waits
_DOCTOR = "`prowess doctor` tells why."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Event:
    name: str
    told: Mapping[str, Any] | None  # None for what holds no event, or none that can be filed


class Capture:
    """The reader of one hub's spool: background work, and what answers hooks."""

    def __init__(self, opening: Opening, home: Path, project_of: ProjectOf) -> None:
        self._opening = opening
        self._home = str(home)
        self._sessions = Sessions(home)
        self._filing = Filing(self._sessions, project_of)
        self._turn = anyio.Lock()
        self._poked = anyio.Event()
        self._loaded = False
        self._pokes = 1  # what lay there before
        self._heeded = 0
        self._busy = False
        self._refused: set[str] = set()  # names of files that cannot be opened, told once

    def working(self) -> list[str]:
        """What goes on now, a few words each."""
        return ["reading what hooks left"] if self._busy else []

    async def run(self) -> None:
        """Read whenever there is something, until cancelled."""
        swept = time.monotonic() - SWEEP_SECONDS
        while True:
            try:
                await self.drain()
                if time.monotonic() - swept >= SWEEP_SECONDS:
                    swept = time.monotonic()
                    await self.settle(time.time())
            except (StoreError, OSError) as error:
                _log.warning("hooks' events wait: %s", type(error).__name__)
                await anyio.sleep(RETRY_SECONDS)
            with anyio.move_on_after(LOOK_SECONDS):
                await self._poked.wait()
            self._poked = anyio.Event()

    def poke(self) -> None:
        """There is something in the spool."""
        self._pokes += 1
        self._poked.set()

    async def drain(self) -> None:
        """Store all events that are in the spool now. Raises the store's errors, and OSError."""
        async with self._turn:
            await self._load()
            pokes = self._pokes
            staying: set[str] = set()  # they keep nothing up that comes after them
            while names := await anyio.to_thread.run_sync(self._waiting, staying):
                for start in range(0, len(names), BATCH):
                    staying |= await self._take(names[start : start + BATCH])
            self._heeded = pokes

    async def _load(self) -> None:
        if not self._loaded:
            await anyio.to_thread.run_sync(self._sessions.load)
            with suppress(OSError):  # then there was no room for it before either
                await anyio.to_thread.run_sync(losses.prepare, self._home)
            self._loaded = True

    async def catch_up(self) -> None:
        """``drain`` within a bound, for a call that may depend on what hooks left; it is told itself what is wrong."""
        with anyio.move_on_after(CALL_SECONDS), suppress(StoreError, OSError):
            await self.drain()

    async def take_all(self) -> None:
        """``drain`` to its end, before something is forgotten: what came later would bring it back.

        Raises the store's errors.
        """
        try:
            await self.drain()
        except OSError as error:
            raise StoreUnavailable(f"what hooks left cannot be taken in: {error.strerror}", hint=_DOCTOR) from error

    def _waiting(self, staying: set[str]) -> list[str]:
        return [name for name in spool.names(self._home) if name not in staying]

    async def _take(self, names: list[str]) -> set[str]:
        """The names of those that were not taken: what a newer hub's hook left, and what cannot be opened, stays."""
        runtime = await self._opening.opened()
        self._busy = True
        try:
            events = await anyio.to_thread.run_sync(self._read, names)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._clear, await self._file_all(events, runtime))
        finally:
            self._busy = False
        return set(names) - {event.name for event in events}

    def _read(self, names: list[str]) -> list[_Event]:
        found = []
        for name in names:
            try:
                told = spool.read(self._home, name)
            except spool.UnreadableError:
                found.append(_Event(name, None))
            except OSError as error:
                if name not in self._refused:
                    _log.warning("the hook's event %s cannot be read: %s", name, error.strerror)
                self._refused.add(name)
            else:
                found += [_Event(name, _fit(told))] if told is not None else []
        return found

    async def _file_all(self, events: list[_Event], runtime: Runtime) -> list[_Event]:
        """The events, without what those told that are to be set aside."""
        self._filing.begin()
        filed = [await self._file(event, runtime) for event in events]
        await self._filing.finish(runtime)
        refused = self._filing.refused
        return [self._refuse(event, refused[event.name]) if event.name in refused else event for event in filed]

    async def _file(self, event: _Event, runtime: Runtime) -> _Event:
        if event.told is None:
            return event
        try:
            await self._filing.file(event.name, event.told, runtime)
        except HOPELESS as error:
            return self._refuse(event, error)
        except (StoreError, OSError):
            raise
        except Exception as error:
            return self._refuse(event, error)
        return event

    def _refuse(self, event: _Event, error: Exception) -> _Event:
        """What would fail again the next time, and keep up what comes after it and all calls."""
        if isinstance(error, HOPELESS):
            _log.warning(
                "the hook's event %s could not be stored; it was dropped: %s", event.name, type(error).__name__
            )
            return event
        _log.error("the hook's event %s cannot be filed", event.name, exc_info=error)
        return _Event(event.name, None)

    def _clear(self, events: list[_Event]) -> None:
        """What was decided is written before the events go, so that a kill in between changes nothing."""
        self._sessions.save()
        for event in events:
            if event.told is not None:
                spool.remove(self._home, event.name)
            else:
                _log.warning(
                    "a file of the spool holds no event that can be used; it is %s now",
                    spool.set_aside(self._home, event.name),
                )

    async def settle(self, now: float) -> None:
        """Close what clients left without a word a day before ``now`` (seconds since 1970)."""
        await anyio.to_thread.run_sync(spool.tidy, self._home, now)
        async with self._turn:
            for session in self._sessions.settled(now):
                await self._filing.settle(session, await self._opening.opened())

    async def forget(self) -> None:
        """Keep nothing of what was said in sessions that go on."""
        async with self._turn:
            await self._load()  # an earlier hub's as well
            await anyio.to_thread.run_sync(self._sessions.forget)
            await anyio.to_thread.run_sync(spool.remove_aside, self._home)

    # ---- hooks that ask, and agents' own calls

    async def serve(self, hello: Hello, wire: SocketWire) -> None:
        """One hook's connection: a poke, or a question that is answered by one line."""
        self.poke()
        if hello.command != "context":
            return
        wire.limit(MAX_QUESTION)
        asked = _question(await wire.next_line() or b"")
        answer: dict[str, str] = {}
        with anyio.move_on_after(asked["seconds"]), suppress(StoreError, OSError):
            answer = await self._context(asked)
        await wire.write(json.dumps(answer).encode() + b"\n")
        with anyio.CancelScope(shield=True), suppress(OSError):
            async with self._turn:  # or another hub would tell it once more
                await anyio.to_thread.run_sync(self._sessions.save)

    async def _context(self, asked: Mapping[str, Any]) -> dict[str, str]:
        await self.drain()
        session = self._sessions.find(str(asked.get("client")), str(asked.get("session")))
        if session is None:
            return {}
        runtime = await self._opening.opened()
        if asked.get("kind") == "failure":
            if told := await briefing.at_failure(session, runtime, asked):
                self._sessions.changed(session)  # after it: what was being written meanwhile has it not
            return told
        if asked.get("kind") == "start":
            quiet = self._sessions.quiet.get(session.client, Quiet())
            told = await briefing.at_start(session, quiet, runtime, source=str(asked.get("source")))
        else:
            told = await briefing.at_prompt(session, runtime, key=str(asked.get("event")))
        self._sessions.briefed(session)
        return told

    async def bound(self, context: Context) -> Context:
        """``context``, with calls on a task that hooks record led to its episode, and what a person typed heard."""
        listener = Listening(self._sessions, context.store)
        if self._heeded == self._pokes and not self._sessions:
            return replace(context, listener=listener)  # no hook is at work here, so no call pays for a look
        await self.catch_up()
        store = BoundStore(context.store, self._sessions)
        return replace(context, store=store, listener=listener)  # type: ignore[arg-type]


def _fit(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the store and JSON can hold: no lone surrogates, nothing nested without end."""
    fit = {}
    for name, value in told.items():
        try:
            fit[name] = clean(value)
        except ToolError:
            fit[name] = {"input": clean_text(cut(repr(value), MAX_NESTED))}
    return fit


def _question(line: bytes) -> dict[str, Any]:
    """What a hook asks, and how many ``seconds`` it waits."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        asked = {}
    asked = asked if isinstance(asked, dict) else {}
    seconds = asked.get("seconds")
    known = isinstance(seconds, int | float) and 0 < seconds < MAX_PATIENCE
    return {**asked, "seconds": seconds if known else 1.0}
