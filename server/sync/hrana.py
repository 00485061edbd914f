"""Batches of statements to a libSQL server: the ``/v2/pipeline`` of the Hrana protocol over HTTP.

One request is one transaction, so nothing is left open when a connection breaks. Every wait and every answer is
bounded. Written on ``httpx2`` and not on the ``libsql`` client, which can neither be told to give up nor says what kind
of error it met.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, Self

import anyio
import httpx2

from prowess.server.sync.errors import (
    RemoteAway,
    RemoteBusy,
    RemoteError,
    RemoteFailed,
    RemoteGarbage,
    RemoteRefused,
    understood,
)
from prowess.server.sync.unreached import place_of, why_not_reached

__all__ = ["Hrana", "Row", "Statement", "Value"]

Value = str | int | float | bytes | None
Row = tuple[Value, ...]

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0  # between two pieces of an answer
BATCH_SECONDS = 120.0  # for all of one: a segment over a slow line
BUSY_SECONDS = 30.0  # for other machines' transactions, each of which takes milliseconds
PAUSE = (0.02, 0.2)  # seconds before asking a busy database again
LONGEST_AFTER = 900.0  # of what a busy remote may ask for; whoever cannot wait says `prowess sync now`
MAX_ANSWER = 96 * 1024 * 1024

_SET_ANEW = "set turso_token anew in config.toml, which counts at once (or TURSO_AUTH_TOKEN, then `prowess hub stop`)"
_URL_ANEW = "set turso_url right in config.toml, which counts at once (or TURSO_DATABASE_URL, then `prowess hub stop`)"
_SEE_SERVER = "see that the server runs and that turso_url names it; it is tried again by itself"


class Statement(NamedTuple):
    """One SQL statement with a ``?`` for each of ``args``."""

    sql: str
    args: tuple[Value, ...] = ()


class Hrana:
    """A libSQL server at ``base``; to be entered. Raises RemoteError of every kind."""

    def __init__(self, base: str, token: str = "") -> None:
        self._url = f"{base}/v2/pipeline"
        self._token_is_one = token.isascii() and token.isprintable() and " " not in token
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if not self._token_is_one:  # no header could carry it
            raise RemoteRefused("the token holds characters that no token has", hint=_SET_ANEW)
        timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        # Not the environment's proxies, and no redirects: the token goes where the user sent it and nowhere else.
        self._http = await self._stack.enter_async_context(
            httpx2.AsyncClient(timeout=timeout, trust_env=False, follow_redirects=False, headers=self._headers)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def batch(self, statements: Sequence[Statement], *, write: bool = True) -> list[list[Row]]:
        """The rows of each of ``statements``, which are one transaction: all of them took place, or none."""
        steps = _steps(statements, write)
        body = json.dumps({"requests": [{"type": "batch", "batch": {"steps": steps}}, {"type": "close"}]}).encode()
        until = anyio.current_time() + BUSY_SECONDS
        while True:
            try:
                return await self._tried(body, len(statements))
            except RemoteBusy:
                if anyio.current_time() > until:
                    raise
            await anyio.sleep(random.uniform(*PAUSE))  # noqa: S311 - so that two do not meet again

    async def _tried(self, body: bytes, count: int) -> list[list[Row]]:
        answer = await self._exchange(body)
        with understood("the remote's answers"):
            return _results(answer, count)

    async def _exchange(self, body: bytes) -> Any:
        try:
            with anyio.fail_after(BATCH_SECONDS):
                status, told, after = await self._sent(body)
        except TimeoutError as error:
            said = f"{place_of(self._url)} took more than {BATCH_SECONDS:g} seconds"
            raise RemoteAway(said, hint=_SEE_SERVER) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            said = f"the remote {place_of(self._url)} cannot be reached: {why_not_reached(error)}"
            raise RemoteAway(said, hint=_SEE_SERVER) from error
        if status != 200:
            raise _refusal(status, told, after)
        try:
            return json.loads(told)
        except (ValueError, RecursionError) as error:
            raise RemoteGarbage("the remote's answer is no JSON", hint="see that the URL names a database") from error

    async def _sent(self, body: bytes) -> tuple[int, bytes, str]:
        """Status and body of the answer, and when it wants to be asked again."""
        headers = {"Content-Type": "application/json"}
        async with self._http.stream("POST", self._url, content=body, headers=headers) as response:
            told = bytearray()
            async for piece in response.aiter_bytes():
                told += piece
                if len(told) > MAX_ANSWER:
                    raise RemoteGarbage(f"the remote's answer is longer than {MAX_ANSWER >> 20} MB")
            return response.status_code, bytes(told), response.headers.get("retry-after", "")


def _steps(statements: Sequence[Statement], write: bool) -> list[dict[str, Any]]:
    """BEGIN, each statement if the one before it went well, COMMIT, and ROLLBACK unless that went well."""
    begin = Statement("BEGIN IMMEDIATE" if write else "BEGIN")
    steps: list[dict[str, Any]] = [{"stmt": _statement(begin)}]
    for statement in (*statements, Statement("COMMIT")):
        steps.append({"condition": {"type": "ok", "step": len(steps) - 1}, "stmt": _statement(statement)})
    undone = {"type": "and", "conds": [{"type": "ok", "step": 0}, _not_ok(len(steps) - 1)]}
    steps.append({"condition": undone, "stmt": _statement(Statement("ROLLBACK"))})
    return steps


def _not_ok(step: int) -> dict[str, Any]:
    return {"type": "not", "cond": {"type": "ok", "step": step}}


def _statement(statement: Statement) -> dict[str, Any]:
    return {"sql": statement.sql, "args": [_encoded(value) for value in statement.args]}


def _encoded(value: Value) -> dict[str, Any]:
    if value is None:
        return {"type": "null"}
    if isinstance(value, bytes):
        return {"type": "blob", "base64": base64.b64encode(value).decode().rstrip("=")}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    return {"type": "float", "value": value} if isinstance(value, float) else {"type": "text", "value": value}


def _decoded(value: dict[str, Any]) -> Value:
    kind = value["type"]
    if kind == "null":
        return None
    if kind == "blob":
        told = value["base64"]
        return base64.b64decode(told + "=" * (-len(told) % 4), validate=True)
    if kind == "integer":
        return int(value["value"])
    return float(value["value"]) if kind == "float" else str(value["value"])


def _results(answer: Any, count: int) -> list[list[Row]]:
    first = answer["results"][0]
    if first["type"] == "error":
        raise _failure(first["error"])
    told = first["response"]["result"]
    for error in told["step_errors"]:
        if error is not None:
            raise _failure(error)
    steps = told["step_results"]
    if steps[count + 1] is None:
        raise ValueError("the transaction was not committed")
    return [[tuple(map(_decoded, row)) for row in step["rows"]] for step in steps[1 : count + 1]]


def _failure(error: dict[str, Any]) -> RemoteError:
    code = str(error.get("code") or "")[:60]
    said = str(error.get("message") or "")
    if "BLOCKED" in code:  # Turso's word for a plan that is used up, and sqld's for a database that was closed
        return RemoteRefused(
            "the remote takes no more: its plan is used up, or it was blocked", hint="see the remote's own console"
        )
    if code == "UNAUTHORIZED" or "unauthorized" in said.lower():
        return RemoteRefused("the token may not do this", hint=f"make one with read and write access, and {_SET_ANEW}")
    if "STREAM_EXPIRED" in code or "BUSY" in code:
        return RemoteBusy(f"the remote is busy ({code})")
    return RemoteFailed(f"the remote database refused a statement ({code or 'no code'})")


def _refusal(status: int, told: bytes, after: str) -> RemoteError:
    if status == 403:
        return RemoteRefused("the token may not write", hint=f"make one that may read and write, and {_SET_ANEW}")
    if status == 401:
        why = "has expired" if b"expired" in told.lower() else "is missing or wrong"
        return RemoteRefused(f"the remote refuses the token: it {why}", hint=_SET_ANEW)
    if status == 404:
        return RemoteRefused("there is no such database at the remote (404)", hint=_URL_ANEW)
    if status == 429 or status >= 500:
        away = RemoteAway(f"the remote answers with status {status}", hint=_SEE_SERVER)
        away.after = min(float(after), LONGEST_AFTER) if re.fullmatch("[0-9]{1,9}", after) else 0.0
        return away
    return RemoteGarbage(f"the remote answers with status {status}", hint="see that the URL names a database")
