"""``prowess serve --http HOST:PORT``: asks the store's hub to serve HTTP for as long as this process lives.

It holds no store and carries no bytes. When the hub ends, it starts the next one and asks again.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from prowess.server.http.names import is_loopback
from prowess.server.hub import client as hub
from prowess.server.hub.starting import start_hub
from prowess.server.settings import BadSetting, load
from prowess.storage.errors import StoreError
from prowess.tools.text import quote

__all__ = ["main"]

FAILED, WRONG_USE = 1, 2
AGAIN_SECONDS = 0.2  # between looks for a hub that comes or goes
TRIES = 5  # at a hub that ends before it served


def main(arguments: Sequence[str]) -> int:
    """``prowess serve`` with ``--http`` among its options. Returns the exit code; raises SystemExit on a wrong one."""
    options = _parser().parse_args(arguments)
    try:
        home = load({"home": options.store}).home
        host, port = _address(options.http)
    except BadSetting as error:
        return _failed(str(error), error.hint)
    except ValueError as error:
        return _failed(str(error), "give HOST:PORT, such as 127.0.0.1:8484", WRONG_USE)
    if sys.platform == "win32":
        return _failed("HTTP is served by the hub, which needs Unix sockets", "run it in WSL or in a container")
    asked = {"host": host, "port": port, "names": options.allow_host, "origins": options.allow_origin}
    try:
        anyio.run(_serve, home, asked)
    except BaseExceptionGroup as group:
        first = _first(group)
        if not isinstance(first, StoreError):
            raise
        return _failed(str(first), first.hint)
    return 0


def _address(told: str) -> tuple[str, int]:
    host, _, port = told.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{quote(told)} is no address to listen at")
    return host.removeprefix("[").removesuffix("]"), int(port)


async def _serve(home: Path, asked: dict[str, object]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, tasks.cancel_scope)
        served, tries = False, 0
        while True:
            tries += 1
            try:
                await anyio.to_thread.run_sync(start_hub, home, "http", abandon_on_cancel=True)
                async with hub.http_served(home, asked) as (told, wire):
                    served, tries = True, 0
                    asked["port"] = told["port"]  # the same again where the system chose it
                    _say_where(told, str(asked["host"]))
                    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, OSError):
                        await wire.next_line()
                _say("the hub ended; another one takes over")
            except hub.HubGone as error:
                if tries == TRIES:
                    raise hub.HubError("the hub ended each time", hint="`prowess hub logs` tells why") from error
            except hub.HubError as error:
                if tries == TRIES or not served:
                    raise
                _say(f"{error}; trying again")  # clients know this address: a hub that starts badly is not the end
            await anyio.sleep(AGAIN_SECONDS)


async def _end_on_signal(serving: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for _ in received:
            serving.cancel()
            return


def _say_where(told: dict[str, object], host: str) -> None:
    _say(f"serving MCP at {told['url']}")
    if told["revoked"]:
        _say("warning: all tokens were revoked, so nobody may ask; `prowess token create NAME` makes one")
    elif not told["tokens"]:
        _say("warning: no token was made, so every user of this machine may ask; `prowess token create NAME` ends that")
    if not is_loopback(host):
        _say("warning: tokens and texts travel unencrypted; put a proxy with TLS in front")


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _failed(reason: str, hint: str, code: int = FAILED) -> int:
    _say(f"error: {reason}")
    if hint:
        sys.stderr.write(f"hint: {hint}\n")
    return code


def _say(text: str) -> None:
    sys.stderr.write(f"prowess: {text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="prowess serve", description="Serve MCP over HTTP.", add_help=False)
    parser.add_argument("--http", metavar="HOST:PORT", required=True)
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[])
    parser.add_argument("--allow-origin", metavar="URL", action="append", default=[])
    parser.add_argument("--store", metavar="DIR")
    return parser
