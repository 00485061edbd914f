"""``prowess serve --in-process``: the MCP server over stdin and stdout, with the store opened in this process.

Protocol first: the handshake is answered while the store still opens (see ``opening``).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from prowess.server.app import converse, create_server
from prowess.server.background.background import Background
from prowess.server.lines import line_transport
from prowess.server.opening import Opening
from prowess.server.pauses import keep_pauses_short
from prowess.server.project import project_of
from prowess.server.settings import BadSetting, Settings, load
from prowess.server.shim.command import WRONG_USE, WrongUseError, options
from prowess.storage.log.lock import called

__all__ = ["main"]

CLOSE_SECONDS = 15.0  # a disk that hangs must not keep a process that nobody talks to


async def serve(opening: Opening, source: int, target: int) -> None:
    """Serve one client over two file descriptors until its input ends or the process is asked to leave."""
    serving = anyio.CancelScope()
    async with anyio.create_task_group() as signals:
        signals.start_soon(_cancel_on_signal, serving)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening.run)
            tasks.start_soon(keep_pauses_short, opening)
            try:
                with serving:
                    await _serve_client_and_learn(opening, source, target)
            finally:
                opening.close()
                tasks.cancel_scope.deadline = anyio.current_time() + CLOSE_SECONDS
        signals.cancel_scope.cancel()


async def _serve_client_and_learn(opening: Opening, source: int, target: int) -> None:
    async with anyio.create_task_group() as beside:
        beside.start_soon(Background(opening).run)
        await converse(create_server(opening), line_transport(source, target))
        beside.cancel_scope.cancel()


async def _cancel_on_signal(serving: anyio.CancelScope) -> None:
    if sys.platform == "win32":  # there a client ends us by closing our input
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for _ in received:
            serving.cancel()
            return


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
    """``prowess serve`` with its options. Returns the exit code."""
    try:
        store, project, _ = options(arguments)
    except WrongUseError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_USE
    try:
        settings = load({"home": store, "project": project})
        settings = replace(settings, project=project_of(_here(), settings.project))
    except BadSetting as error:
        return _serve_with("WARNING", error)
    return _serve_with(settings.log_level, settings)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the folder is gone
        return Path()


def _serve_with(level: str, settings: Settings | BadSetting) -> int:
    logging.basicConfig(level=level, stream=sys.stderr, format="prowess: %(levelname)s %(name)s: %(message)s")
    source, target = _take_stdio()
    with called("prowess serve --in-process"):
        anyio.run(serve, Opening(settings), source, target)
    return 0
