"""A server that speaks Hrana's pipeline over HTTP and misbehaves when it is told to."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

__all__ = ["FAULTS", "Double", "double"]

FAULTS = (
    "hang",
    "refuse",
    "cut before",
    "cut after",
    "half",
    "garbage",
    "html",
    "busy",
    "denied",
    "wrong shape",
    "twice",
)


class Double:
    """``fault`` is called for each request and names what goes wrong, or is empty; ``lie`` changes what is answered."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.fault: Callable[[], str] = str
        self.lie: Callable[[Any], Any] = lambda answer: answer
        self.asked = 0
        self.token = ""  # of the last request
        self.port = 0
        self.after = ""  # when a busy one wants to be asked again

    def close(self) -> None:
        self._database.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                while True:
                    self.token, body = await _request(stream)
                    await self._answer(stream, body)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _answer(self, stream: SocketStream, body: bytes) -> None:
        self.asked += 1
        fault = self.fault()
        if fault == "hang":
            await anyio.sleep_forever()
        if fault in ("refuse", "cut before"):
            raise anyio.EndOfStream
        if fault in ("busy", "denied", "html", "garbage"):
            status = {"busy": 503, "denied": 401}.get(fault, 200)
            await stream.send(
                _response({"garbage": b"\xff\x00{", "html": b"<html></html>"}.get(fault, b"no"), status, self.after)
            )
            return
        if fault == "locked":
            count = len(json.loads(body)["requests"][0]["batch"]["steps"])
            error = {"message": "database is locked", "code": "SQLITE_BUSY"}
            told = {"step_results": [None] * count, "step_errors": [error, *[None] * (count - 1)]}
            answer = {"results": [{"type": "ok", "response": {"type": "batch", "result": told}}]}
            await stream.send(_response(json.dumps(answer).encode()))
            return
        if fault == "blocked":
            error = {"message": "operation was blocked", "code": "BLOCKED"}
            await stream.send(_response(json.dumps({"results": [{"type": "error", "error": error}]}).encode()))
            return
        told = json.dumps(self.lie(self._carry_out(json.loads(body)))).encode()
        if fault == "twice":
            told = json.dumps(self._carry_out(json.loads(body))).encode()
        if fault == "cut after":
            raise anyio.EndOfStream
        if fault == "wrong shape":
            told = told.replace(b'"step_results"', b'"stepresults"')
        whole = _response(told)
        await stream.send(whole[: len(whole) // 2] if fault == "half" else whole)
        if fault == "half":
            raise anyio.EndOfStream

    def _carry_out(self, asked: Any) -> Any:
        results: list[Any] = []
        errors: list[Any] = []
        for step in asked["requests"][0]["batch"]["steps"]:
            result, error = None, None
            if _holds(step.get("condition"), results, errors):
                try:
                    result = self._run(step["stmt"])
                except sqlite3.Error as failure:
                    error = {"message": str(failure), "code": "SQLITE_ERROR"}
            results.append(result)
            errors.append(error)
        told = {"step_results": results, "step_errors": errors}
        return {"results": [{"type": "ok", "response": {"type": "batch", "result": told}}]}

    def _run(self, statement: Any) -> Any:
        rows = self._database.execute(statement["sql"], [_decoded(value) for value in statement["args"]]).fetchall()
        return {"rows": [[_encoded(value) for value in row] for row in rows]}


def _holds(condition: Any, results: list[Any], errors: list[Any]) -> bool:
    if condition is None:
        return True
    kind = condition["type"]
    if kind == "ok":
        return results[condition["step"]] is not None
    if kind == "not":
        return not _holds(condition["cond"], results, errors)
    return all(_holds(each, results, errors) for each in condition["conds"])


def _decoded(value: Any) -> Any:
    kind = value["type"]
    if kind == "blob":
        return base64.b64decode(value["base64"] + "==")
    return int(value["value"]) if kind == "integer" else value.get("value")


def _encoded(value: Any) -> Any:
    if value is None:
        return {"type": "null"}
    if isinstance(value, bytes):
        return {"type": "blob", "base64": base64.b64encode(value).decode().rstrip("=")}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    return {"type": "float", "value": value} if isinstance(value, float) else {"type": "text", "value": value}


async def _request(stream: SocketStream) -> tuple[str, bytes]:
    """The token that came with it, in small letters, and its body."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += await stream.receive()
    head, _, body = said.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields[b"content-length"]):
        body += await stream.receive()
    return fields.get(b"authorization", b"").removeprefix(b"bearer ").decode(), body


def _response(body: bytes, status: int = 200, after: str = "") -> bytes:
    head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{f'Retry-After: {after}' if after else 'X: x'}\r\n\r\n".encode() + body


@asynccontextmanager
async def double(path: Path) -> AsyncIterator[Double]:
    with closing(Double(path)) as found:
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            found.port = listener.extra(SocketAttribute.local_port)
            tasks.start_soon(listener.serve, found.serve)
            yield found
            tasks.cancel_scope.cancel()
