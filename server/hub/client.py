"""The command line's side of a hub: ask how it is, ask it to leave, and use the store through it."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio.abc import SocketStream

from prowess import __version__
from prowess.server.hub.hello import OTHER_VERSION
from prowess.server.hub.lock import holder, is_running
from prowess.server.hub.wire import SocketWire, is_ours
from prowess.server.shim import places
from prowess.server.shim.stream import PROTOCOL
from prowess.storage.errors import StoreError

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = [
    "HubError",
    "HubGone",
    "HubStore",
    "ask",
    "call_tool",
    "http_served",
    "is_running",
    "open_calls",
    "wait_until_gone",
]

ANSWER_SECONDS = 10.0  # a hub whose loop is alive answers at once
CONNECTIONS = 16  # calls that one command makes at once
POLL_SECONDS = 0.05


class HubError(StoreError):
    """The hub does not do what it was asked."""


class HubGone(StoreError):
    """There is no hub to talk to, or it is leaving; nothing was asked of it."""


class _LeftError(HubError):
    """The connection ended before the answer."""


async def wait_until_gone(home: Path, seconds: float, pid: int | None = None) -> bool:
    """Whether the hub has left within ``seconds``: the process ``pid``, after which another may serve, or any."""
    deadline = time.monotonic() + seconds
    while is_running(home) and (pid is None or holder(home)[0] in (pid, 0)):
        if time.monotonic() > deadline:
            return False
        await anyio.sleep(POLL_SECONDS)
    return True


@asynccontextmanager
async def _greeted(home: Path, command: str) -> AsyncIterator[SocketWire]:
    """A control connection. Raises HubGone, and HubError where the hub refuses."""
    stream = await _connected(home)
    async with stream:
        wire = SocketWire(stream)
        hello = {"protocol": PROTOCOL, "kind": "control", "version": __version__, "command": command}
        try:
            told = (await _answer(wire, {"prowess": hello})).get("prowess", {})
        except _LeftError as error:
            raise HubGone("the hub left") from error
        if told.get("status") == "retiring":
            raise HubGone(f"the hub is leaving: {told.get('reason', '')}")
        if told.get("status") != "ok":
            raise HubError(str(told.get("reason", "the hub does not answer as one")), hint=str(told.get("hint", "")))
        yield wire


async def _connected(home: Path) -> SocketStream:
    told = places.read_state(home).get("socket")
    for path in dict.fromkeys(path for path in (places.socket_path(home), told) if isinstance(path, str)):
        try:
            stream = await _connection(path)
        except OSError:
            continue
        if is_ours(stream):
            return stream
        await stream.aclose()
    raise HubGone("no hub is running")


async def _connection(path: str) -> SocketStream:
    """Raises OSError where nobody listens, and HubError where the queue of a hub that hangs is full."""
    raw = socket.socket(socket.AF_UNIX)
    raw.setblocking(False)
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            while not _connects(raw, path):  # noqa: ASYNC110 - the system tells nobody of room in another's queue
                await anyio.sleep(POLL_SECONDS)
        return await SocketStream.from_socket(raw)
    except TimeoutError as error:
        raw.close()
        raise _silence() from error
    except BaseException:
        raw.close()
        raise


def _connects(raw: socket.socket, path: str) -> bool:
    try:
        raw.connect(path)
    except BlockingIOError:
        return False
    return True


async def _answer(wire: SocketWire, asked: Mapping[str, Any] | None, *, bounded: bool = True) -> dict[str, Any]:
    try:
        with anyio.fail_after(ANSWER_SECONDS if bounded else None):
            if asked is not None:
                await wire.write(json.dumps(asked).encode() + b"\n")
            line = await wire.next_line()
    except TimeoutError as error:
        raise _silence() from error
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
        raise _LeftError("the hub left in the middle of a call", hint="run the command again") from error
    try:
        answer = json.loads(line or b"")
    except ValueError as error:
        raise HubError("the hub's answer cannot be read", hint=OTHER_VERSION) from error
    return answer if isinstance(answer, dict) else {}


def _silence() -> HubError:
    hint = "`prowess hub logs` may tell why; `prowess hub stop` ends it"
    return HubError(f"the hub did not answer within {ANSWER_SECONDS:g} seconds", hint=hint)


async def ask(home: Path, command: str) -> dict[str, Any]:
    """The hub's answer to ``status``, ``stop``, ``yield`` or one about sync.

    Raises HubGone, HubError and what the hub says against it.
    """
    async with _greeted(home, command) as wire:
        return _unless_error(await _answer(wire, None))  # the hello was the question


def _unless_error(answer: dict[str, Any]) -> dict[str, Any]:
    from prowess.server.hub.calls import decode_error

    if "error" in answer:
        raise decode_error(answer["error"])
    return answer


@asynccontextmanager
async def http_served(home: Path, asked: Mapping[str, Any]) -> AsyncIterator[tuple[dict[str, Any], SocketWire]]:
    """The hub serves HTTP as ``asked`` while the block runs: where, and the connection that ends with the hub.

    Raises HubGone, HubError and what the hub says against it.
    """
    async with _greeted(home, "http") as wire:
        answer = _unless_error(await _answer(wire, asked))
        yield answer.get("result", {}), wire


class _Calls:
    """Control connections of one command: a free one is used again, and calls at once get one each."""

    def __init__(self, home: Path, command: str = "calls") -> None:
        self._home = home
        self._command = command
        self._free: list[SocketWire] = []
        self._limit = anyio.Semaphore(CONNECTIONS)
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> _Calls:
        self._free.append(await self._opened())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _opened(self) -> SocketWire:
        return await self._stack.enter_async_context(_greeted(self._home, self._command))

    async def result(self, asked: Mapping[str, Any]) -> Any:
        from prowess.server.hub.calls import decode_error
        from prowess.storage.behind import looking

        async with self._limit:
            wire = self._free.pop() if self._free else await self._opened()
            answer = await _answer(wire, asked, bounded=False)  # a backup takes what it takes
            self._free.append(wire)
        _unless_error(answer)
        if (behind := looking()) is not None and "behind" in answer:
            behind.reason = decode_error(answer["behind"])
        return answer.get("result")


class HubStore:
    """The methods of ``Store`` that need no arrays (``calls.METHODS``), carried out by the hub."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        from prowess.server.hub.calls import METHODS

        if name not in METHODS:
            raise AttributeError(f"the hub does not offer {name}")

        async def method(*args: Any, **kwargs: Any) -> Any:
            return await self._call(name, args, kwargs)

        return method

    async def _call(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        from prowess.server.hub.calls import decode_result, store_call

        return decode_result(name, await self._calls.result(store_call(name, args, kwargs)))


@asynccontextmanager
async def open_calls(home: Path, command: str = "calls") -> AsyncIterator[Store]:
    """The store of a running hub. Raises HubGone where there is none, and HubError.

    As ``command`` a child of the hub names itself, which must not keep the hub from leaving.
    """
    async with _Calls(home, command) as calls:
        yield cast("Store", HubStore(calls))


async def call_tool(home: Path, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's answer (``structured``, ``text``, ``notes``) from a running hub, as the person at the terminal."""
    async with _Calls(home) as calls:
        answer: dict[str, Any] = await calls.result({"tool": name, "arguments": dict(arguments)})
    return answer
