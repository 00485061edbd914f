"""One question to a model of the Messages API, with a JSON answer: time limit, retries and costs.

The request goes through ``providers/transport.py``, imported (2.6 s for the SDK) in a thread at the first call. The
SDK's ``messages.parse`` is not used because it drops the usage and the stop reason of an answer that doesn't fit; the
request is the same (``output_config.format`` with a JSON schema). The SDK's own retries are off: it would sleep for as
long as a server says.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio
import anyio.to_thread
import msgspec

from prowess.providers.errors import (
    BadAnswer,
    LanguageError,
    NoKey,
    Overloaded,
    Refused,
    Truncated,
    Unreachable,
)
from prowess.providers.language_settings import LanguageSettings
from prowess.providers.prices import price_of
from prowess.providers.spend import Spend

if TYPE_CHECKING:
    from prowess.providers.transport import Transport

__all__ = ["Messages", "Question", "parsed"]

# What the service adds for the answer's schema and its own framing: a few hundred tokens, doubled.
FRAME_TOKENS = 1_000

# Waits in seconds where the service names none.
FIRST_WAIT = 0.5

T = TypeVar("T")
# More tokens than any model takes are no count: they would end the day's budget, and the ledger sums floats.
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``schema`` is the JSON schema of the answer, ``purpose`` the ledger's word for it."""

    purpose: str
    system: str
    prompt: str
    schema: dict[str, Any]
    max_tokens: int = 4096

    @property
    def most_input_tokens(self) -> int:
        """An upper bound: no tokenizer makes more tokens than there are bytes."""
        parts = (self.system.encode(), self.prompt.encode(), msgspec.json.encode(self.schema))
        return FRAME_TOKENS + sum(map(len, parts))


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Usage(msgspec.Struct):
    input_tokens: Count
    output_tokens: Count
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None

    @property
    def all_input(self) -> int:
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class _Message(msgspec.Struct):
    content: list[_Block]
    usage: _Usage
    stop_reason: str | None = None


class Messages:
    """Asks questions. Close it with ``aclose``. ``sleep`` and ``clock`` (seconds) are there for tests."""

    def __init__(
        self,
        settings: LanguageSettings,
        spend: Spend,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._spend = spend
        self._price = price_of(settings.model_id, settings.price)
        self._sleep = sleep
        self._clock = clock
        self._transport: Transport | None = None
        self._lock = anyio.Lock()

    async def ask(self, question: Question, read: Callable[[str], T]) -> T:
        """What ``read`` makes of the answer's text; it raises BadAnswer where that is of no use.

        Retries what may pass (rate limits, overload, broken connections) as long as the time limit allows the wait
        that the service asks for. Raises LanguageError.
        """
        if not self._settings.configured:
            raise NoKey("no key for a language model is set", hint="set ANTHROPIC_API_KEY to use one")
        transport = await self._connect()
        deadline = self._clock() + self._settings.timeout_s
        for attempt in range(self._settings.retries):
            try:
                return await self._attempt(transport, question, read, deadline)
            except (Overloaded, Unreachable) as error:
                wait = _wait(error, attempt)
                if self._clock() + wait >= deadline:
                    raise
                await self._sleep(wait)
        return await self._attempt(transport, question, read, deadline)

    async def aclose(self) -> None:
        """Close the connections."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _connect(self) -> Transport:
        async with self._lock:
            if self._transport is None:
                self._transport = await anyio.to_thread.run_sync(_open, self._settings)
            return self._transport

    async def _attempt(self, transport: Transport, question: Question, read: Callable[[str], T], deadline: float) -> T:
        worst = self._price.cost(question.most_input_tokens, question.max_tokens)
        async with self._spend.bill(question.purpose, self._settings.model_id, worst) as bill:
            message = _decode(await transport.post(question, max(deadline - self._clock(), 0.0), bill))
            used = message.usage
            bill.settle(self._price.cost(used.all_input, used.output_tokens), used.all_input, used.output_tokens)
            return read(_text(message))


def parsed(text: str, kind: type[T]) -> T:
    """The JSON object in an answer; servers without schemas put words or a fence around it. Raises BadAnswer."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return msgspec.json.decode(text[start : end + 1] if start >= 0 else text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadAnswer(
            f"the model's answer does not fit: {error}", hint="use a model with structured output"
        ) from error


def _open(settings: LanguageSettings) -> Transport:
    from prowess.providers.transport import Transport

    return Transport(settings)


def _wait(error: LanguageError, attempt: int) -> float:
    told = error.retry_after if isinstance(error, Overloaded) else None
    return FIRST_WAIT * 2.0**attempt if told is None else told


def _decode(body: bytes) -> _Message:
    try:
        return msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(
            f"the model server's answer is no message: {error}",
            hint="check the address of the model server (ANTHROPIC_BASE_URL)",
        ) from error


def _text(message: _Message) -> str:
    """The answer's text. Raises Refused, Truncated."""
    if message.stop_reason == "refusal":
        raise Refused("the model declined to answer", hint="the text it was shown may be the cause")
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise Truncated(
            f"the answer was cut ({message.stop_reason})", hint="use a model that thinks less before it answers"
        )
    return "".join(block.text for block in message.content if block.type == "text")
