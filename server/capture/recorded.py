"""What the steps of the task at work tell, each read once, however many there are and whoever told them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from prowess.server.transcripts.evidence import Findings, command_of
from prowess.server.transcripts.model import Call
from prowess.server.transcripts.recognising import Calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.storage.models import NewStep, Origin, Step, Where
    from prowess.storage.store import Store

__all__ = ["Recorded"]


class Recorded:
    """Of one session; what its last task told is let go of when the next begins.

    ``episode`` is the id of the task's newest attempt, "" before the first step. ``calls`` and ``findings`` are as of
    the last ``catch_up``; ``told`` is the evidence that was told last.
    """

    def __init__(self) -> None:
        self._turn = anyio.Lock()
        self._begin("")

    def _begin(self, episode: str) -> None:
        self.episode = episode
        self.calls = Calls()
        self.findings = Findings()
        self.told: dict[str, Any] = {}
        self._upto = 0
        self._changed: set[int] = set()

    async def catch_up(self, where: Where, store: Store) -> bool:
        """Take in what was stored since the last time; whether there is an episode. Raises the store's errors."""
        async with self._turn:
            await self._catch_up(where, store)
            return bool(self.episode)

    async def _catch_up(self, where: Where, store: Store) -> None:
        while True:  # a long task's steps at once may be more than fit into memory
            found = await store.later_steps(where, self.episode, self._upto, self._changed)
            episode, steps = found or ("", ())
            if episode != self.episode:
                self._begin(episode)
            self._changed.clear()
            if not steps:
                return
            await anyio.to_thread.run_sync(self._take, steps)

    def _take(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.findings.take(_call(step), (step.at, step.number))
            if step.number > self._upto:
                self.calls.add(step)
                self._upto = step.number

    async def recognise(self, where: Where, steps: Sequence[NewStep], store: Store, origin: Origin) -> None:
        """Give the agent's steps the identity of those of ``steps`` that they tell of; they gain what was left out."""
        async with self._turn:
            if await self._recognise(steps, store, origin):
                return
            self._begin("")  # an import told of some of them meanwhile: all are read again
            await self._catch_up(where, store)
            await self._recognise(steps, store, origin)

    async def _recognise(self, steps: Sequence[NewStep], store: Store, origin: Origin) -> bool:
        """Whether the store agreed with what is known here."""
        found = await self.calls.recognise(self.episode, steps, store, origin)
        self._changed.update(number for number, given in found.items() if given)
        return all(found.values())


def _call(step: Step) -> Call:
    """The step as a transcript would have it."""
    call = Call("", step.tool or step.action, step.args or {}, step.at, observation=step.observation or "")
    call.is_error = step.outcome == "failure" or None
    if step.outcome == "success" and command_of(call):
        call.exit_code = 0
    return call
