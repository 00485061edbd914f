"""A model server on the loopback that plays a script: the Messages and the Responses protocol, streamed."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["Call", "Conversation", "ModelServer", "Say", "Turn"]


@dataclass(frozen=True)
class Say:
    """The model answers with words, which ends the client's turn."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model calls one of the client's tools. ``arguments`` is an object, or the text of a free-form tool."""

    name: str
    arguments: Mapping[str, Any] | str
    namespace: str = ""


# A turn may depend on what the client sent, such as the number of a process that it started.
Turn = Say | Call | Callable[[dict[str, Any]], "Say | Call"]
_Event = dict[str, Any]
_numbers = itertools.count(1)


@dataclass
class Conversation:
    """One client's script, and every request that the client made while it was played.

    Requests that offer no tools (titles, summaries) are recorded as ``asides``, answered with a word, and take nothing
    from the script. ``before`` is called with the number of the turn before it is answered. ``calls`` has the ids of
    the calls that were made.
    """

    script: Sequence[Turn]
    before: Callable[[int], None] = lambda number: None
    requests: list[dict[str, Any]] = field(default_factory=list)
    asides: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    played: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: dict[str, Any]) -> Say | Call:
        with self._lock:
            if not request.get("tools"):
                self.asides.append(request)
                return Say("ok")
            self.requests.append(request)
            number, self.played = self.played, self.played + 1
        self.before(number)
        turn = self.script[number] if number < len(self.script) else Say("There is nothing more to do.")
        return turn(request) if callable(turn) else turn


class ModelServer:
    """Listens while the ``with`` block runs. A conversation is a path below the server's address."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def play(self, script: Sequence[Turn]) -> tuple[str, Conversation]:
        """The address for a client's base URL, and what it will say there."""
        name = f"c{next(_numbers)}"
        conversation = self._server.conversations[name] = Conversation(script)
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}", conversation


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.conversations: dict[str, Conversation] = {}


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests are recorded, not logged."""

    def do_HEAD(self) -> None:
        self._reply(200, "application/json", b"")

    def do_GET(self) -> None:
        self._reply(404, "application/json", b'{"error": {"type": "not_found_error", "message": "not here"}}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        _, name, *rest = self.path.split("?")[0].split("/")
        conversation = self.server.conversations.get(name)
        encode = _PROTOCOLS.get("/".join(rest))
        if conversation is None or encode is None:
            self.do_GET()
            return
        request = json.loads(body)
        turn, number = conversation.answer(request), next(_numbers)
        if isinstance(turn, Call):
            conversation.calls.append(_CALL_IDS[encode].format(number))
        events = encode(request, turn, number)
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._reply(200, "text/event-stream", lines.encode())

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _messages(request: dict[str, Any], turn: Say | Call, number: int) -> Iterator[_Event]:
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": f"msg_{number:024}", "type": "message", "role": "assistant", "model": request["model"]}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    if isinstance(turn, Say):
        block: _Event = {"type": "text", "text": ""}
        delta: _Event = {"type": "text_delta", "text": turn.text}
    else:
        block = {"type": "tool_use", "id": _CALL_IDS[_messages].format(number), "name": turn.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(turn, Say) else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _responses(request: dict[str, Any], turn: Say | Call, number: int) -> Iterator[_Event]:
    identity = f"resp_{number:024}"
    item = _item(number, turn)
    yield {"type": "response.created", "response": {"id": identity}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    yield {"type": "response.completed", "response": {"id": identity, "output": [item], "usage": usage}}


def _item(number: int, turn: Say | Call) -> dict[str, Any]:
    if isinstance(turn, Say):
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    call = {"call_id": _CALL_IDS[_responses].format(number), "name": turn.name}
    if isinstance(turn.arguments, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", **call, "input": turn.arguments}
    if turn.name == "tool_search":
        return {
            "type": "tool_search_call",
            "execution": "client",
            "call_id": call["call_id"],
            "arguments": turn.arguments,
        }
    space = {"namespace": turn.namespace} if turn.namespace else {}
    return {"type": "function_call", "id": f"fc_{number}", **call, **space, "arguments": json.dumps(turn.arguments)}


_PROTOCOLS = {"v1/messages": _messages, "v1/responses": _responses}
_CALL_IDS = {_messages: "toolu_{:024}", _responses: "call_{:024}"}
