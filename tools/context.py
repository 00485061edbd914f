"""What a tool call may use: the store, what computes and embeds, and who is asking.

The protocols here are all that the tools know of the processes and models behind them; the server provides them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from prowess.storage.models import Origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prowess.providers.language import LanguageModel
    from prowess.storage.models import Pattern, Skill, Trajectory
    from prowess.storage.store import Store

__all__ = ["Compute", "Context", "Heard", "Index", "Listener", "Progress", "Trainer", "Unasked", "no_progress"]

Progress = Callable[[float, float | None, str], Awaitable[None]]


class Compute(Protocol):
    """Work that needs a processor, done away from the event loop. Both raise ``StoreError`` when it cannot be done."""

    async def mine(
        self,
        catalog_path: Path,
        *,
        project: str = "",
        kinds: Sequence[str] | None = None,
        min_support: int = 2,
        limit: int = 50,
        since: str | None = None,
        task_id: str | None = None,
    ) -> list[Pattern]:
        """``learning.mining.mine`` over the episodes of the catalog file; ``project`` "" means all."""
        ...

    async def propose(
        self, trajectories: Sequence[Trajectory], existing: Sequence[Skill], *, min_support: int = 2, project: str = ""
    ) -> list[Skill]:
        """``learning.synthesis.propose``: drafts from successful trajectories with their raw steps."""
        ...


class Index(Protocol):
    """The dense side of search. ``state`` says why ``queries`` may answer None."""

    @property
    def state(self) -> str:
        """``ready``, ``catching up``, ``loading``, ``off`` or ``failed``."""
        ...

    async def queries(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The unit vectors of ``texts``, shape (n, dim), or None where no model is ready in time."""
        ...

    async def refresh(self, *, wait: bool = True) -> None:
        """Embed what was saved just now, as far as a short bound allows; the rest follows in the background."""
        ...


class Trainer(Protocol):
    """Training as a process of its own, one run at a time. All raise ``StoreError`` for what cannot be done.

    A run is told as plain fields: ``run_id``, ``status``, ``progress``, ``result``, ``reason`` and more.
    """

    async def start(self, settings: Mapping[str, Any], *, project: str = "", run_id: str | None = None) -> str:
        """Start a run in the background, or go on with one that was interrupted; its id."""
        ...

    async def status(self, run_id: str | None = None) -> dict[str, Any]:
        """How a run is; without ``run_id`` the one that goes on, or the newest."""
        ...

    async def cancel(self, run_id: str | None = None) -> dict[str, Any]:
        """End the run that goes on; how it is then."""
        ...


@dataclass(frozen=True, slots=True)
class Heard:
    """A rule in the words in which a person typed it, when that was, and the episode's id where there is one."""

    words: str
    at: str
    episode_id: str = ""


class Listener(Protocol):
    """What hooks heard. Raises the store's errors."""

    async def heard(self, words: str, project: str) -> Heard | None:
        """What a person typed last in the project's sessions that has these words; None where nobody did."""
        ...


@dataclass(frozen=True, slots=True)
class Unasked:
    """Progress of a call whose caller did not ask for it, as far as one can tell; told to who hears it all the same."""

    report: Progress

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        await self.report(done, total, message)


async def no_progress(done: float, total: float | None, message: str) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One call's surroundings.

    ``project`` and ``session`` stand in where the caller names none; ``confined`` is a caller who may reach no other
    project, ``shared`` a session that several agents may have; of the projects ``private`` nothing may reach other
    machines; ``key`` is the call's idempotency key;
    ``unused_days`` is the age from which a skill that was never used is archived, ``withhold`` the share of an active
    skill's matches that are withheld (0: none of any), ``memory_cap`` how many memories a project keeps. ``turn`` is
    held by calls that read, decide and then write, so that two of them do not decide the same. ``trainer`` is None in a
    build without training, ``listener`` where no hooks tell this process what a person types.
    """

    store: Store
    compute: Compute
    index: Index
    origin: Origin
    language: LanguageModel | None = None
    trainer: Trainer | None = None
    listener: Listener | None = None
    project: str = ""
    confined: bool = False
    private: tuple[str, ...] = ()
    session: str = ""
    shared: bool = False
    key: str | None = None
    progress: Progress = no_progress
    unused_days: int = 30
    withhold: float = 0.0
    memory_cap: int = 500
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    def assumes(self, named: str | None) -> bool:
        """Whether a task may be one of another project: the caller ``named`` none, and may have before."""
        return named is None and not self.confined and not self.shared
