"""``prowess serve --in-process``: the MCP server over stdin and stdout, with the store opened in this process.

Protocol first: the handshake is answered while the store still opens. A store that cannot be opened is told to the
client by every call, and on stderr; each later call tries again.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
from mcp.server.runner import serve_dual_era_loop

from prowess.server.app import create_server
from prowess.server.lines import line_transport
from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import BadSetting, Settings, load
from prowess.storage.errors import StoreClosed, StoreError
from prowess.storage.ids import new_id
from prowess.tools.context import Context, Progress

__all__ = ["Opening", "main", "serve_in_process"]

CLOSE_SECONDS = 15.0  # a disk that hangs must not keep a process that nobody talks to

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """One try at opening the store, and what became of it."""

    done: anyio.Event = field(default_factory=anyio.Event)
    runtime: Runtime | None = None
    failure: StoreError | None = None


class Opening:
    """A store that opens while clients already talk; calls wait for it and are told what went wrong.

    ``run`` has to run in a task; it ends after ``close``.
    """

    def __init__(self, settings: Settings | BadSetting) -> None:
        self._settings = settings
        self._session = new_id()
        self._attempt = _Attempt()
        self._wanted = anyio.Event()
        self._closing = anyio.Event()

    async def context(self, *, client: str, key: str | None, progress: Progress) -> Context:
        """One call's surroundings. Raises ``StoreError`` where the store does not open."""
        runtime = await self._opened()
        return runtime.context(client=client, session=self._session, key=key, progress=progress)

    async def _opened(self) -> Runtime:
        if self._attempt.failure is not None:
            self._attempt = _Attempt()
            self._wanted.set()
        attempt = self._attempt
        await attempt.done.wait()
        if attempt.runtime is None:
            raise attempt.failure or StoreClosed("the server is ending")
        return attempt.runtime

    async def run(self) -> None:
        """Open the store, again whenever a call comes after a failure, and keep it open until ``close``."""
        while not self._closing.is_set():
            attempt = self._attempt
            try:
                await self._keep_open(attempt)
            except Exception as error:  # the client is told whatever it was, and may go on without us
                attempt.failure = _as_store_error(error)
                sys.stderr.write(f"prowess: {attempt.failure.explain()}\n")
            attempt.runtime = None
            attempt.done.set()
            if not self._closing.is_set():
                await self._wanted.wait()
                self._wanted = anyio.Event()

    async def _keep_open(self, attempt: _Attempt) -> None:
        if isinstance(self._settings, BadSetting):
            raise self._settings
        async with open_runtime(self._settings) as runtime:
            attempt.runtime = runtime
            attempt.done.set()
            await self._closing.wait()

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
    return StoreError(f"the store did not open: {type(error).__name__}", hint="The server's log on stderr says more.")


async def serve(opening: Opening, source: int, target: int) -> None:
    """Serve one client over two file descriptors until its input ends or the process is asked to leave."""
    serving = anyio.CancelScope()
    async with anyio.create_task_group() as signals:
        signals.start_soon(_cancel_on_signal, serving)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening.run)
            try:
                with serving:
                    await _serve_client(opening, source, target)
            finally:
                opening.close()
                tasks.cancel_scope.deadline = anyio.current_time() + CLOSE_SECONDS
        signals.cancel_scope.cancel()


async def _serve_client(opening: Opening, source: int, target: int) -> None:
    server = create_server(opening)
    async with line_transport(source, target) as (incoming, outgoing):
        await serve_dual_era_loop(
            server,
            incoming,
            outgoing,
            lifespan_state={},
            init_options=server.create_initialization_options(),
        )


async def _cancel_on_signal(serving: anyio.CancelScope) -> None:
    if sys.platform == "win32":  # there a client ends us by closing our input
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for _ in received:
            serving.cancel()
            return


def serve_in_process(settings: Settings | BadSetting) -> int:
    """Serve over this process's stdin and stdout until the client leaves. Returns the exit code."""
    source, target = _take_stdio()
    anyio.run(serve, Opening(settings), source, target)
    return 0


def _take_stdio() -> tuple[int, int]:
    """stdin and stdout under private descriptors; whatever else prints or reads in this process misses the wire."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, target


def main(arguments: Sequence[str]) -> int:
    """``prowess serve`` with its options. Returns the exit code; raises SystemExit on a wrong option."""
    options = _parser().parse_args(arguments)
    try:
        settings = load({"home": options.store})
    except BadSetting as error:
        return _serve_logging("WARNING", error)
    return _serve_logging(settings.log_level, settings)


def _serve_logging(level: str, settings: Settings | BadSetting) -> int:
    logging.basicConfig(level=level, stream=sys.stderr, format="prowess: %(levelname)s %(name)s: %(message)s")
    return serve_in_process(settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="prowess serve", description="Serve MCP over stdin and stdout.", add_help=False
    )
    parser.add_argument(
        "--in-process", action="store_true", help="Open the store in this process (the only way for now)."
    )
    parser.add_argument("--store", metavar="DIR", help="The store's folder (or PROWESS_HOME).")
    return parser
