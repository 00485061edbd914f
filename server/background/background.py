"""What a server does by itself: learn, remember, make backups and reach those that were away; see docs/background.md.

It looks at the store now and then, and works when nothing was written for a while. One chore runs at a time. Learning
computes in a worker process of its own and gives way to an agent that wants to decide about skills; what is cut short
is done again later, since what was learned is known by a mark in the store.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import anyio

from prowess.server.background.backups import Backups
from prowess.server.background.forgetting import Forgetting
from prowess.server.background.outdated import Outdated
from prowess.server.background.remembering import Remembering
from prowess.storage.errors import StoreError
from prowess.tools.errors import ToolError

if TYPE_CHECKING:
    from prowess.server.opening import Opening
    from prowess.server.runtime import Runtime
    from prowess.tools.context import Compute, Context

__all__ = ["LEARNED_AT", "MARK", "Background", "Chore", "Learning", "is_enough"]

CHECK_SECONDS = 10.0  # between looks at the store; a look at one where nothing changed costs nothing
QUIET_SECONDS = 30.0  # without a write before work begins, so that a burst of calls is over
PATIENCE_SECONDS = 600.0  # agents that never pause: from then on work begins all the same
WORK_SECONDS = 600.0  # for one chore; mining 100,000 steps takes seconds, so beyond this something is stuck
FIRST_RETRY_SECONDS = 60.0  # doubled after each failure in a row
LAST_RETRY_SECONDS = 6 * 3600.0
GIVE_WAY_SECONDS = 0.1  # what an agent's call waits at most for a decision that is under way

MARK = "learned"
LEARNED_AT = "learned-at"  # the mark with the time of it, in seconds since 1970
SESSION = "background"

_log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
MakeCompute = Callable[[], "AbstractAsyncContextManager[Compute]"]


class _GaveWay(Exception):
    """An agent wanted to decide; the chore begins anew later."""


class Chore(Protocol):
    """Something to be done now and then."""

    name: str

    async def due(self, runtime: Runtime) -> bool:
        """Whether there is enough to do."""
        ...

    async def work(self, runtime: Runtime) -> None:
        """Do it; harmless to repeat, and to cancel anywhere."""
        ...


@dataclass(slots=True)
class _Plan:
    """A chore with when to do it. Times are those of the injected clock."""

    chore: Chore
    not_before: float = 0.0
    due_since: float | None = None
    failures: int = 0


class Background:
    """The chores of one server. ``run`` works until it is cancelled; ``check`` is one look, for those who time it."""

    def __init__(
        self,
        opening: Opening,
        *,
        chores: Sequence[Chore] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self._opening = opening
        self._clock = clock
        self._sleep = sleep
        self._plans = [_Plan(chore) for chore in (_standing(sleep) if chores is None else chores)]
        self._runtime: Runtime | None = None
        self._head = -1
        self._written = clock()
        self._now_doing: list[str] = []

    def working(self) -> list[str]:
        """What goes on now, a few words each."""
        trainer = self._runtime.trainer if self._runtime else None
        return [*self._now_doing, *(trainer.working() if trainer else ())]

    async def run(self) -> None:
        """Look at the store now and then, and do what is due. A training that runs is ended with it."""
        try:
            while True:
                await self._sleep(CHECK_SECONDS)
                await self.check()
        finally:
            if self._runtime is not None and self._runtime.trainer is not None:
                with anyio.CancelScope(shield=True):
                    await self._runtime.trainer.leave()

    async def check(self) -> None:
        """Do every chore that is due, unless agents are busy or it failed a short time ago."""
        if self._opening.state != "open":  # asking for it would make it try again
            return
        try:
            self._runtime = runtime = await self._opening.opened()
            self._notice(runtime.store.head)
        except StoreError:
            return
        for plan in self._plans:
            if self._clock() >= plan.not_before and await self._is_time(plan, runtime):
                await self._carry_out(plan, runtime)

    def _notice(self, head: int) -> None:
        if head != self._head:
            self._head, self._written = head, self._clock()

    async def _is_time(self, plan: _Plan, runtime: Runtime) -> bool:
        try:
            due = await plan.chore.due(runtime)
        except Exception as error:
            self._failed(plan, error)
            return False
        now = self._clock()
        plan.due_since = (now if plan.due_since is None else plan.due_since) if due else None
        quiet = now - self._written >= QUIET_SECONDS
        return plan.due_since is not None and (quiet or now - plan.due_since >= PATIENCE_SECONDS)

    async def _carry_out(self, plan: _Plan, runtime: Runtime) -> None:
        self._now_doing.append(plan.chore.name)
        began = self._clock()
        try:
            with anyio.fail_after(WORK_SECONDS):
                await plan.chore.work(runtime)
            plan.failures, plan.due_since = 0, None
            _log.info("%s took %.1f seconds", plan.chore.name, self._clock() - began)
        except _GaveWay:
            plan.not_before = self._clock() + QUIET_SECONDS
            _log.info("%s gave way to a call and begins anew later", plan.chore.name)
        except Exception as error:
            self._failed(plan, error)
        finally:
            self._now_doing.remove(plan.chore.name)
            self._head = runtime.store.head  # what a chore writes itself disturbs no other

    def _failed(self, plan: _Plan, error: Exception) -> None:
        pause = min(FIRST_RETRY_SECONDS * 2**plan.failures, LAST_RETRY_SECONDS)
        plan.failures = min(plan.failures + 1, 20)
        plan.not_before = self._clock() + pause
        told = f"{plan.chore.name} failed, next try in {pause:g} seconds"
        if isinstance(error, StoreError | ToolError):
            _log.warning("%s: %s", told, error)
        elif isinstance(error, TimeoutError):
            _log.warning("%s: it took longer than %g seconds", told, WORK_SECONDS)
        else:
            _log.error(told, exc_info=error)


def _standing(sleep: Sleep) -> Sequence[Chore]:
    return (Outdated(), Learning(sleep=sleep), Remembering(), Forgetting(), Backups())


def _own_worker() -> AbstractAsyncContextManager[Compute]:
    """A worker beside the agents' own, behind them in the queue for a processor, which leaves soon."""
    from prowess.server.compute import WORKER, Compute

    nice = shutil.which("nice")
    command = (nice, "-n", "10", *WORKER) if nice else WORKER
    return Compute(command=command, idle_seconds=10.0, call_seconds=WORK_SECONDS)


def is_enough(fresh: Mapping[str, int], scored: Mapping[str, int], wanted: int) -> bool:
    """Whether to learn from the ``fresh`` ones among all ``scored`` episodes, by project.

    So it is with ``wanted`` of them; or earlier, when a project has as many new ones as it had before: its first ones
    teach most, and the second session is to know what the first one met. A project that was forgotten between the two
    counts has none.
    """
    if sum(fresh.values()) >= wanted:
        return True
    return any(new >= max(1, scored[name] - new) for name, new in fresh.items() if name in scored)


class Learning:
    """Reflect and evolve, as the tools do it, in every project that has new scored episodes."""

    name = "learning"

    def __init__(self, *, make_compute: MakeCompute = _own_worker, sleep: Sleep = anyio.sleep) -> None:
        self._make_compute = make_compute
        self._sleep = sleep
        self._looked = -1
        self._enough = False
        self._done: dict[str, int] = {}

    async def due(self, runtime: Runtime) -> bool:
        """Whether enough episodes were scored since the mark: in all, or in a project that has few."""
        wanted, store = runtime.settings.learn_after, runtime.store
        if not wanted:
            return False
        if store.head != self._looked:
            self._looked = store.head
            fresh = await store.newly_scored(await store.mark(MARK))
            self._enough = is_enough(fresh, await store.newly_scored(0) if fresh else {}, wanted)
        return self._enough

    async def work(self, runtime: Runtime) -> None:
        """Learn in one project after the other; the mark moves when all are done."""
        store, self._looked = runtime.store, -1
        upto, mark = store.head, await store.mark(MARK)
        async with self._make_compute() as compute:
            for project in sorted(await store.newly_scored(mark)):
                # Where the last try got this far, only news since then is worth another.
                if project in await store.newly_scored(self._done.get(project, mark)):
                    await self._learn(project, runtime, compute)
                    self._done[project] = upto
        await store.set_mark(MARK, upto)
        await store.set_mark(LEARNED_AT, int(time.time()))
        self._done = {}

    async def _learn(self, project: str, runtime: Runtime, compute: Compute) -> None:
        base = runtime.context(client="prowess", session=SESSION, project=project, actor="machine")
        failure: Exception | None = None
        done = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._give_way, base, anyio.get_current_task().id, tasks.cancel_scope)
            try:
                await _reflect_and_evolve(replace(base, compute=compute))
                done = True
            except Exception as error:
                failure = error  # kept out of the task group, which would wrap it
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if not done:
            raise _GaveWay

    async def _give_way(self, context: Context, task: int, work: anyio.CancelScope) -> None:
        """End the work as soon as it holds up somebody's decision about skills."""
        while True:
            turn = context.turn.statistics()
            if turn.owner is not None and turn.owner.id == task and turn.tasks_waiting:
                return work.cancel()
            await self._sleep(GIVE_WAY_SECONDS)


async def _reflect_and_evolve(context: Context) -> None:
    from prowess.tools.registry import call, find

    await call(find("reflect"), {}, context)
    await call(find("evolve_skills"), {"mode": "auto"}, context)
