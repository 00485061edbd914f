"""What an event of a client's session means, and its place in the store.

Which task a call belongs to is decided by the rules of transcripts (``transcripts.tasks``), and steps are made as
importers make them, so that a later import finds all of it there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from prowess.server.capture import worth
from prowess.server.capture.sessions import ClientSession, Happening, Sessions
from prowess.server.hub.hello import Hello
from prowess.server.transcripts import claude_code, codex
from prowess.server.transcripts.episodes import step_of
from prowess.server.transcripts.evidence import command_of
from prowess.server.transcripts.model import Call, Session
from prowess.server.transcripts.saved_result import saved_text
from prowess.server.transcripts.tasks import Divider
from prowess.storage.errors import InvalidInput, StepConflict, StoreError, UnknownEpisode
from prowess.storage.models import NewStep, Origin, Where, format_time, parse_time

if TYPE_CHECKING:
    from prowess.server.hub.connections import ProjectOf
    from prowess.server.runtime import Runtime

__all__ = ["HOPELESS", "Filing", "call_of"]

_TYPED = {"claude-code": claude_code.typed, "codex": codex.typed}
MAX_TASK = 16_000  # characters

_log = logging.getLogger(__name__)


# What would be no better the next time.
HOPELESS = (InvalidInput, StepConflict, UnknownEpisode)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A step that is stored together with those that follow it in its episode."""

    name: str
    session: ClientSession
    where: Where
    step: NewStep


@dataclass(slots=True)
class Filing:
    """Stores events; ``file`` and ``finish`` raise the store's errors, and what they were given is filed again then.

    An event is stored for sure only after ``finish``. What would fail the next time as well is in ``refused`` by name.
    """

    sessions: Sessions
    project_of: ProjectOf
    refused: dict[str, Exception] = field(default_factory=dict)
    _waiting: list[_Waiting] = field(default_factory=list)

    async def file(self, name: str, told: Mapping[str, Any], runtime: Runtime) -> None:
        """One event; ``name`` is that of its file, by which it is known when it comes again.

        Raises ValueError where it tells no time: kept with its session it would spoil all that follow.
        """
        parse_time(_text(told, "at"))
        session = self.sessions.get(_text(told, "client"), _text(told, "session"))
        if name in session.handled:
            return
        kind = _text(told, "kind")
        if kind != "step":
            await self.finish(runtime)
        await self._settle_in(session, told)
        handlers = {
            "start": self._start,
            "prompt": self._prompt,
            "step": self._step,
            "compact": self._compact,
            "stop": self._stop,
            "end": self._end,
        }
        if kind == "bind":
            _bind(session, _text(told, "task_id"))
        elif kind in handlers:
            await handlers[kind](name, session, told, runtime)
        if kind != "step":
            session.has_handled(name)

    async def _settle_in(self, session: ClientSession, told: Mapping[str, Any]) -> None:
        """The project is that of the folder in which the session began."""
        cwd = _text(told, "cwd")
        if cwd and not session.cwd:
            session.cwd = cwd
            hello = Hello(protocol=0, kind="hook", version="", cwd=cwd, project=_text(told, "project"))
            session.project = await self.project_of(hello)
        session.version = _text(told, "version") or session.version
        session.since = session.since or _text(told, "at")
        session.task_id = session.task_id or f"{session.alias}:start"

    # ---- what the user said

    async def _start(self, _name: str, session: ClientSession, told: Mapping[str, Any], _runtime: Runtime) -> None:
        if _text(told, "source") != "resume":  # which has the context of its first start, if any
            session.unbriefed = True
            session.told = []

    async def _compact(self, _name: str, session: ClientSession, _told: Mapping[str, Any], _runtime: Runtime) -> None:
        """Cursor begins no session anew behind it, as others do: what its context held is told by its next prompt."""
        session.unbriefed = True
        session.told = []

    async def _prompt(self, name: str, session: ClientSession, told: Mapping[str, Any], runtime: Runtime) -> None:
        text = _TYPED.get(session.client, str.strip)(_text(told, "text"))
        if not text:
            return
        session.prompt = text
        identity = _text(told, "prompt_id") or name.partition("-")[0]
        command = text.startswith("/") and "/" not in text.split()[0][1:]
        prompt = Happening("prompt", text, identity, _text(told, "at"), command=command)
        await self._take(session, prompt, runtime)
        session.fresh = not any(item.kind == "call" for item in session.happenings)

    async def _take(self, session: ClientSession, happening: Happening, runtime: Runtime) -> None:
        """Let the rules decide whether it begins a task; the one before is closed then.

        Where that is refused nothing has happened yet: the event is filed again.
        """
        if session.has_taken(happening):
            return
        divider = _divider(session)
        before = divider.tasks[-1]
        known, earlier = len(before.reactions), session.reactions
        divider.take(happening.event())
        session.reactions = [*earlier, *before.reactions[known:]]
        task = divider.tasks[-1]
        if task is not before:
            try:
                await self._conclude(session, runtime, final=True)
            except BaseException:
                session.reactions = earlier
                raise
        session.happened(happening)
        if task is not before:
            _begin(session, task.id, happening)
        session.task = task.text[:MAX_TASK] or session.task

    # ---- what the agent did

    async def _step(self, name: str, session: ClientSession, told: Mapping[str, Any], runtime: Runtime) -> None:
        call = await anyio.to_thread.run_sync(call_of, name, told)
        failed = bool(call.is_error or call.exit_code)
        await self._take(session, Happening("call", command_of(call), name, _text(told, "at"), failed=failed), runtime)
        session.worked_in(_text(told, "cwd"))
        step = step_of(Session(session.client, session.id), call, call.at)
        where = session.where()
        if self._waiting and self._waiting[-1].where != where:
            await self.finish(runtime)
        self._waiting.append(_Waiting(name, session, where, step))

    def begin(self) -> None:
        """Anew, after whatever kept the last events from being stored."""
        self.refused.clear()
        self._waiting.clear()

    async def finish(self, runtime: Runtime) -> None:
        """Store what waits, all of it in one commit unless some of it is refused."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            await self._store(waiting, runtime)
        except (StoreError, OSError) as error:
            if not isinstance(error, HOPELESS):
                raise
            await self._store_singly(waiting, error, runtime)
        except Exception as error:
            await self._store_singly(waiting, error, runtime)

    async def _store_singly(self, waiting: list[_Waiting], error: Exception, runtime: Runtime) -> None:
        """So that one step keeps no others out."""
        if len(waiting) == 1:
            self.refused[waiting[0].name] = error
            return
        for one in waiting:
            self._waiting.append(one)
            await self.finish(runtime)

    async def _store(self, waiting: list[_Waiting], runtime: Runtime) -> None:
        session, where, steps = waiting[0].session, waiting[0].where, [one.step for one in waiting]
        origin = Origin(machine=runtime.machine, client=session.client, session=session.id)
        async with self.sessions.turn(session):
            if self.sessions.may_be_known(session):
                await self._recognise(session, where, steps, origin, runtime)
            await runtime.store.track(where, steps, origin=origin, late=True)
        for one in waiting:
            session.has_handled(one.name)
        session.stepped = True
        self.sessions.stepped(session)

    async def _recognise(
        self, session: ClientSession, where: Where, steps: list[NewStep], origin: Origin, runtime: Runtime
    ) -> None:
        """The agent may have told of them first: side by side with the call, or while the hub was busy."""
        recorded = self.sessions.recorded(session)
        if await recorded.catch_up(where, runtime.store) and recorded.calls.unclaimed:
            await recorded.recognise(where, steps, runtime.store, origin)
        else:
            self.sessions.agent_told(session, told=False)

    async def _conclude(self, session: ClientSession, runtime: Runtime, *, final: bool) -> None:
        await self.finish(runtime)
        await worth.conclude(session, self.sessions.recorded(session), runtime, final=final)

    async def _stop(self, name: str, session: ClientSession, told: Mapping[str, Any], runtime: Runtime) -> None:
        if said := _text(told, "said"):
            await self._take(session, Happening("said", said, name, _text(told, "at")), runtime)
        await self._conclude(session, runtime, final=False)
        self.sessions.worked(session)

    async def _end(self, name: str, session: ClientSession, told: Mapping[str, Any], runtime: Runtime) -> None:
        await self._conclude(session, runtime, final=True)
        self.sessions.let_go(session)
        if session.made_up:
            self.sessions.drop(session)

    async def settle(self, session: ClientSession, runtime: Runtime) -> None:
        """Close what a client left without a word."""
        await self._conclude(session, runtime, final=True)
        self.sessions.drop(session)


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _bind(session: ClientSession, task_id: str) -> None:
    if task_id and not task_id.startswith(session.alias):
        session.bound = [*[name for name in session.bound if name != task_id][-20:], task_id]


def _divider(session: ClientSession) -> Divider:
    """The rules, at the point where the session is."""
    divider = Divider(Session(session.client, session.id))
    divider.tasks[-1].id = session.task_id
    for happening in session.happenings:
        divider.take(happening.event())
    # The prompt with which the task began makes a task of its own of the first one.
    divider.tasks[-1].id = session.task_id
    return divider


def _begin(session: ClientSession, task_id: str, happening: Happening) -> None:
    command = next((item for item in reversed(session.happenings[:-1]) if item.command), None)
    starts = happening.kind == "call" and command is not None  # a slash command that work follows
    session.happenings = [command, happening] if starts and command else [happening]
    session.task_id, session.since = task_id, happening.at
    session.reactions, session.bound, session.folders = [], [], []


def call_of(name: str, told: Mapping[str, Any]) -> Call:
    """The call as an importer would read it.

    Codex tells a hook neither the exit code nor the tool that was called; Claude Code of a long output no more than its
    beginning.
    """
    ended = _text(told, "at")
    duration = told.get("duration_ms")
    duration = float(duration) if isinstance(duration, int | float) else None
    args = told.get("args")
    call = Call(
        id=_text(told, "call") or name,
        tool=_text(told, "tool"),
        args=args if isinstance(args, dict) else {},
        at=_before(ended, duration),
        observation=_text(told, "observation"),
        is_error=True if told.get("is_error") is True else None,
        exit_code=code if isinstance(code := told.get("exit_code"), int) else None,
        ended=ended,
        duration_ms=duration,
    )
    path, saved = _text(told, "transcript"), _text(told, "saved")
    if _text(told, "client") == claude_code.CLIENT and path and saved:
        call.observation = saved_text(saved, Path(path)) or call.observation
    if _text(told, "client") == codex.CLIENT and path and (written := codex.call_in(Path(path), call.id)) is not None:
        call.tool, call.args, call.at = written.tool, written.args, written.at or call.at
        call.is_error, call.exit_code = written.is_error, written.exit_code
        call.duration_ms, call.context = written.duration_ms, written.context
    return call


def _before(ended: str, duration: float | None) -> str | None:
    try:
        return format_time(parse_time(ended) - timedelta(milliseconds=duration or 0.0))
    except (ValueError, OverflowError):
        return None
