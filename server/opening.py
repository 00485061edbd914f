"""A store that opens while clients already talk, and what becomes of calls meanwhile.

A store that cannot be opened is told to the client by every call; each later call tries again.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import BadSetting, Settings
from prowess.storage.errors import StoreClosed, StoreError, StoreInUse
from prowess.storage.ids import new_id
from prowess.tools.context import Context, Progress

__all__ = ["Opening"]

RETRY_SECONDS = 0.1

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """One try at opening the store, and what became of it."""

    done: anyio.Event = field(default_factory=anyio.Event)
    runtime: Runtime | None = None
    failure: StoreError | None = None


Tell = Callable[[StoreError], None]


def _to_stderr(failure: StoreError) -> None:
    sys.stderr.write(f"prowess: {failure.explain()}\n")


class Opening:
    """A store that opens while clients already talk; calls wait for it and are told what went wrong.

    ``run`` has to run in a task; it ends after ``close``.
    """

    def __init__(
        self,
        settings: Settings | Callable[[], Settings] | BadSetting,
        *,
        tell: Tell = _to_stderr,
        patience: float = 0.0,
    ) -> None:
        """``settings`` may be read anew at each attempt; ``tell`` hears why one failed.

        ``patience`` is how many seconds an attempt waits for another process that has the store open.
        """
        self._settings = settings
        self._tell = tell
        self._patience = patience
        self._session = new_id()
        self._attempt = _Attempt()
        self._wanted = anyio.Event()
        self._closing = anyio.Event()

    @property
    def state(self) -> str:
        """``open``, ``opening``, or why it is not open."""
        if self._attempt.runtime is not None:
            return "open"
        return str(self._attempt.failure) if self._attempt.failure else "opening"

    @property
    def hint(self) -> str:
        """What helps where it did not open."""
        return self._attempt.failure.hint if self._attempt.failure else ""

    @property
    def damage(self) -> str:
        """What is damaged in the log, see ``Store.damage``."""
        runtime = self._attempt.runtime
        return "" if runtime is None else runtime.store.damage

    @property
    def renewed(self) -> str:
        """How often the log was opened anew for that, see ``Store.renewed``."""
        runtime = self._attempt.runtime
        return "" if runtime is None else runtime.store.renewed

    async def context(self, *, client: str, key: str | None, progress: Progress, request: object = None) -> Context:
        """One call's surroundings. Raises ``StoreError`` where the store does not open."""
        runtime = await self.opened()
        return runtime.context(client=client, session=self._session, key=key, progress=progress)

    async def opened(self) -> Runtime:
        """What is open, once it is. Raises ``StoreError`` where the store does not open."""
        if self._attempt.failure is not None:
            self._attempt = _Attempt()
            self._wanted.set()
        attempt = self._attempt
        await attempt.done.wait()
        if attempt.runtime is None:
            raise attempt.failure or StoreClosed("the server is ending", hint="ask again: the next one answers")
        return attempt.runtime

    async def run(self) -> None:
        """Open the store, again whenever a call comes after a failure, and keep it open until ``close``."""
        while not self._closing.is_set():
            attempt = self._attempt
            try:
                await self._wait_for_others(attempt)
            except Exception as error:  # the client is told whatever it was, and may go on without us
                attempt.failure = _as_store_error(error)
                self._tell(attempt.failure)
            attempt.runtime = None
            attempt.done.set()
            if not self._closing.is_set():
                await self._wanted.wait()
                self._wanted = anyio.Event()

    async def _wait_for_others(self, attempt: _Attempt) -> None:
        deadline = anyio.current_time() + self._patience
        while True:
            try:
                return await self._keep_open(attempt)
            except StoreInUse:
                if attempt.runtime is not None or anyio.current_time() >= deadline or self._closing.is_set():
                    raise
                await anyio.sleep(RETRY_SECONDS)

    async def _keep_open(self, attempt: _Attempt) -> None:
        async with open_runtime(self._read_settings()) as runtime:
            attempt.runtime = runtime
            attempt.done.set()
            await self._closing.wait()

    def _read_settings(self) -> Settings:
        if isinstance(self._settings, BadSetting):
            raise self._settings
        return self._settings() if callable(self._settings) else self._settings

    def close(self) -> None:
        """Let ``run`` close the store and end."""
        self._closing.set()
        self._wanted.set()


def _as_store_error(error: BaseException) -> StoreError:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, StoreError):
        return error
    _log.error("the store did not open", exc_info=error)
    return StoreError(f"the store did not open: {type(error).__name__}", hint="The server's log says more.")
