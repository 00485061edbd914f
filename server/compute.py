"""The parent's side of the worker process: start it, ask it, and keep its troubles away from the server.

The child is started by the first call, stays warm for a while and leaves by itself. One call runs at a time, since each
of them fills a processor. A child that dies during a call is replaced once; a call that is cancelled or takes too long
costs the child its life, because nothing else stops a computation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from prowess.server.worker import READY, pack, unpack_size
from prowess.storage import errors
from prowess.storage.models import Pattern, Skill, Trajectory

__all__ = ["WORKER", "Compute", "ComputeFailed"]

WORKER = (sys.executable, "-I", "-m", "prowess.server.worker")

IDLE_SECONDS = 120.0  # a burst of calls shares one start; a quiet server gives the memory back
CALL_SECONDS = 300.0  # mining 100,000 steps takes seconds: beyond this something is stuck
# Mining makes and drops arrays of megabytes all the time. glibc would map each anew, and the system clear its pages:
# a tenth of the time. The process leaves when idle, so what it keeps meanwhile comes back.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(64 << 20), "MALLOC_TRIM_THRESHOLD_": str(256 << 20)}
START_SECONDS = 30.0  # a cold interpreter on a busy laptop takes one or two
PIECE = 1 << 18  # bytes of a request handed to the pipe at once: what it has no room for is copied

T = TypeVar("T")


class ComputeFailed(errors.StoreError):
    """The worker process could not do what it was asked."""


class _WorkerDied(Exception):
    """The pipe ended or broke; the call may be tried once more."""


class _Worker:
    """A running child."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        worker = cls(await anyio.open_process(command, stderr=None, env={**ALLOCATOR, **os.environ}))
        try:
            with anyio.fail_after(START_SECONDS):
                greeting = await worker._read(len(READY))
        except BaseException:
            await worker.kill()
            raise
        if greeting != READY:
            await worker.kill()
            raise _WorkerDied(f"expected {READY!r}, got {greeting!r}")
        return worker

    async def ask(self, frame: bytes) -> list[Any]:
        try:
            for begin in range(0, len(frame), PIECE):  # the pipe takes it bit by bit, and a copy waits meanwhile
                await self._requests.send(frame[begin : begin + PIECE])
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise _WorkerDied from error
        size = unpack_size(await self._read(4))
        answer: list[Any] = msgspec.msgpack.decode(await self._read(size))
        return answer

    async def _read(self, size: int) -> bytes:
        try:
            return await self._answers.receive_exactly(size)
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise _WorkerDied from error

    async def kill(self) -> None:
        with anyio.CancelScope(shield=True):
            if self.running:
                self._process.kill()
            await self._process.aclose()


class Compute:
    """Mining and synthesis outside of this process. Close it, or use it as a context manager.

    ``idle_seconds`` without a call end the child, and one call may take ``call_seconds``. Every failure is a
    ``StoreError``: what the child raised where it is one of ours, else ``ComputeFailed``.
    """

    def __init__(
        self,
        *,
        idle_seconds: float = IDLE_SECONDS,
        call_seconds: float = CALL_SECONDS,
        command: Sequence[str] = WORKER,
    ) -> None:
        self._call_seconds = call_seconds
        self._command = [*command, "--idle", str(idle_seconds)]
        self._turn = anyio.Lock()
        self._worker: _Worker | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def pid(self) -> int | None:
        """The child's process id while one runs."""
        return self._worker.pid if self._worker and self._worker.running else None

    async def aclose(self) -> None:
        """End the child. A call that is under way fails."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.kill()

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
        """Patterns over the episodes of the catalog file, which the child reads itself; ``project`` "" means all."""
        wanted = {"project": project or None, "since": since, "task_id": task_id}
        options = {"kinds": kinds, "min_support": min_support, "limit": limit, "project": project}
        arguments = {"catalog": str(catalog_path), "wanted": wanted, "options": options}
        return await self._call("mine", arguments, list[Pattern])

    async def propose(
        self,
        trajectories: Sequence[Trajectory],
        existing: Sequence[Skill],
        *,
        min_support: int = 2,
        project: str = "",
    ) -> list[Skill]:
        """Skill drafts shared by at least ``min_support`` of the successful ``trajectories`` (with their raw steps)."""
        options = {"min_support": min_support, "project": project}
        arguments = {"trajectories": list(trajectories), "existing": list(existing), "options": options}
        return await self._call("propose", arguments, list[Skill])

    async def _call(self, job: str, arguments: Mapping[str, Any], shape: type[T]) -> T:
        # In a thread: of 1,000 trajectories it takes 40 ms.
        frame = await anyio.to_thread.run_sync(_encoded, job, arguments)
        async with self._turn:
            try:
                with anyio.fail_after(self._call_seconds):
                    result, failure = await self._ask_twice(frame)
            except TimeoutError as error:
                raise ComputeFailed(
                    f"{job} took longer than {self._call_seconds:g} seconds and was stopped",
                    hint="narrow it down (a project, since, fewer episodes) and try again",
                ) from error
        if failure:
            raise _failure(job, *failure)
        return msgspec.convert(result, shape)

    async def _ask_twice(self, frame: bytes) -> list[Any]:
        try:
            return await self._ask(frame)
        except _WorkerDied:
            pass  # it left when idle, or was killed: what it does has no effect, so ask another
        try:
            return await self._ask(frame)
        except _WorkerDied as error:
            raise ComputeFailed(
                "the worker process died twice on the same request",
                hint="it may have run out of memory; narrow the request down, and see `prowess doctor`",
            ) from error

    async def _ask(self, frame: bytes) -> list[Any]:
        try:
            if self._worker is None or not self._worker.running:
                await self.aclose()
                self._worker = await _Worker.start(self._command)
            return await self._worker.ask(frame)
        except OSError as error:
            raise ComputeFailed(f"the worker process does not start: {error}", hint="see `prowess doctor`") from error
        except BaseException:
            await self.aclose()
            raise


def _encoded(job: str, arguments: Mapping[str, Any]) -> bytes:
    try:
        return pack([job, {name: _apart(value) for name, value in arguments.items()}])
    except (TypeError, ValueError, OverflowError) as error:
        raise ComputeFailed(f"cannot hand {job} its input: {error}", hint=errors.StoreDefect.usual_hint) from error


def _apart(value: Any) -> Any:
    """A list with each item encoded by itself, so that other threads get the interpreter in between."""
    return [msgspec.Raw(msgspec.msgpack.encode(item)) for item in value] if isinstance(value, list) else value


def _failure(job: str, kind: str, message: str, hint: str) -> errors.StoreError:
    known = getattr(errors, kind, None) if kind in errors.__all__ else None
    return known(message, hint=hint) if known else ComputeFailed(f"{job} failed: {message}", hint=hint)
