"""What the command line asks of a running hub: how it is, to leave, and to carry out its calls on the store."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import anyio

from prowess import __version__
from prowess.server.hooks.events import DOCTOR
from prowess.server.hub.calls import METHODS, arguments_of, encode_error, encode_result
from prowess.server.hub.hello import OTHER_VERSION, Hello
from prowess.server.hub.sync import COMMANDS
from prowess.server.hub.wire import SocketWire
from prowess.server.origins import PERSON
from prowess.server.shim.stream import PROTOCOL
from prowess.storage.behind import Behind, as_far_as_known
from prowess.storage.errors import InvalidInput, StoreError
from prowess.tools.errors import ToolError
from prowess.tools.registry import call, find, unforeseen

if TYPE_CHECKING:
    from prowess.server.hub.hub import Hub

__all__ = ["Control"]

WHOLE = ("forget", "receive", "trim")  # half of it would be no use to anyone
MODEL_SECONDS = 30.0  # a person can wait for the embedding model, as no agent does

_log = logging.getLogger(__name__)


class Control:
    """Answers control connections of ``hub``."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def serve(self, hello: Hello, wire: SocketWire) -> None:
        """Carry out the hello's command: ``status``, ``stop`` and ``yield`` answer one line, ``calls`` any number.

        ``http`` serves HTTP until the connection ends.
        """
        commands = {"status": self._status, "stop": self._stop, "yield": self._yield}
        if hello.command in ("calls", "sync"):
            await self._carry_out_all(wire)
        elif hello.command == "http":
            await self._serve_http(wire)
        elif hello.command in COMMANDS:
            await wire.write(await self._synced(hello.command))
        elif hello.command in commands:
            await wire.write(json.dumps(commands[hello.command]()).encode() + b"\n")
        else:
            refusal = InvalidInput(f"the hub knows no command {hello.command!r}", hint=OTHER_VERSION)
            await wire.write(encode_error(refusal))

    async def _synced(self, command: str) -> bytes:
        try:
            return json.dumps(await self._hub.syncer.command(command)).encode() + b"\n"
        except StoreError as error:
            return encode_error(error)

    def _status(self) -> dict[str, object]:
        return {"version": __version__, "protocol": PROTOCOL, **self._hub.describe()}

    def _stop(self) -> dict[str, object]:
        self._hub.leave("stopped by a person")
        return {"leaving": True, "clients": len(self._hub.connections.clients), "pid": os.getpid()}

    def _yield(self) -> dict[str, object]:
        """Leave if that disturbs nobody."""
        if idle := self._hub.idle():
            self._hub.leave("a command wants the store for itself")
        users = len(self._hub.connections.clients) + self._hub.connections.commands
        return {"leaving": idle, "clients": users, "work": self._hub.working()}

    async def _serve_http(self, wire: SocketWire) -> None:
        from prowess.server.http.serving import read_asked, serve_http  # most hubs serve no HTTP

        try:
            asked = read_asked(await wire.next_line() or b"")
            async with serve_http(
                asked,
                self._hub.opening,
                home=self._hub.home,
                leaving=lambda: self._hub.connections.leaving,
                calling=self._hub.connections.calling,
            ) as served:
                self._hub.http.append(served.url)
                try:
                    await wire.write(encode_result(served))
                    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, OSError):
                        await wire.next_line()
                finally:
                    self._hub.http.remove(served.url)
        except StoreError as error:
            await wire.write(encode_error(error))

    async def _carry_out_all(self, wire: SocketWire) -> None:
        while not self._hub.connections.leaving:
            try:
                line = await wire.next_line()
            except anyio.EndOfStream:
                return
            with self._hub.connections.calling():
                await wire.write(await self._answer(line))

    async def _answer(self, line: bytes | None) -> bytes:
        try:
            asked = json.loads(line or b"")
            asked = asked if isinstance(asked, dict) else {}
            with as_far_as_known() if asked.get("looks") else nullcontext(Behind()) as behind:
                result = await self._carry_out(asked)
            return encode_result(result, behind.reason)
        except (StoreError, ToolError) as error:
            return encode_error(error)
        except Exception as error:
            return encode_error(unforeseen("the command", error))

    async def _carry_out(self, asked: Mapping[str, Any]) -> Any:
        arguments = asked.get("arguments", {})
        if "tool" in asked:
            return await self._call_tool(asked["tool"], arguments)
        if asked.get("store") not in METHODS:
            raise InvalidInput("the hub does not know this call", hint=OTHER_VERSION)
        runtime = await self._hub.opening.opened()
        given = arguments_of(asked["store"], arguments)
        forgets = asked["store"] == "forget" and not str(given.get("project") or "").startswith(DOCTOR)
        with anyio.CancelScope(shield=asked["store"] in WHOLE):
            if forgets:  # what waits in the spool would be recorded after it
                await self._hub.capture.take_all()
            answer = await getattr(runtime.store, asked["store"])(**given)
            if forgets or getattr(answer, "forgot", False):
                await self._hub.capture.forget()
            return answer

    async def _call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        tool = find(name)
        runtime = await self._hub.opening.opened()
        await runtime.index.settled(MODEL_SECONDS)
        context = runtime.context(client=PERSON.client, session=PERSON.session, actor="person")
        answer = await call(tool, arguments, context)
        return {"structured": answer.structured(), "text": answer.text(), "notes": answer.notes}
