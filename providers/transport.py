"""The ``anthropic`` SDK behind one method, every error translated. Import this in a thread: the SDK takes seconds."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

import anthropic
import anyio
import httpx2

from prowess.providers.errors import (
    BadAnswer,
    BadRequest,
    LanguageError,
    Overloaded,
    RateLimited,
    TimedOut,
    Unauthorised,
    Unreachable,
)
from prowess.providers.language_settings import DEFAULT_BASE_URL

if TYPE_CHECKING:
    from prowess.providers.language_settings import LanguageSettings
    from prowess.providers.messages import Question
    from prowess.providers.spend import Bill

__all__ = ["MAX_ANSWER_BYTES", "Transport"]

E = TypeVar("E", bound=Exception)

# Our answers are a few kilobytes; more is not an answer to our question.
MAX_ANSWER_BYTES = 1_000_000

_CHECK_ADDRESS = "check the network and the address of the model server (ANTHROPIC_BASE_URL)"


class Transport:
    """A client of one Messages API. Making it blocks (certificates are read). Raises Unauthorised, BadRequest."""

    def __init__(self, settings: LanguageSettings) -> None:
        self._settings = settings
        key = settings.api_key + settings.auth_token
        if not (key.isascii() and key.isprintable()):
            raise Unauthorised("the key holds characters that no key has", hint="check ANTHROPIC_API_KEY")
        if not _is_address(settings.address):  # each try would count as one that may have cost something
            raise _no_address()
        try:
            self._client = _client(settings)
        except (httpx2.InvalidURL, ValueError):
            raise _no_address() from None

    async def post(self, question: Question, seconds: float, bill: Bill) -> bytes:
        """The body of the answer. ``bill`` is settled where an error costs nothing. Raises LanguageError."""
        try:
            with anyio.fail_after(seconds):
                answer = await self._client.messages.with_raw_response.create(
                    model=self._settings.model_id,
                    max_tokens=question.max_tokens,
                    system=question.system,
                    messages=[{"role": "user", "content": question.prompt}],
                    output_config={"format": {"type": "json_schema", "schema": question.schema}},
                    timeout=seconds,
                )
                return answer.http_response.content
        except TimeoutError:
            translated: LanguageError = self._timed_out()
        except Exception as error:  # the SDK lets some errors of its transport through
            translated = self._translated(error, bill)
        # Not chained: the SDK's error holds the request with its key, and whatever text the server sent back.
        raise translated

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _translated(self, error: Exception, bill: Bill) -> LanguageError:
        if isinstance(error, anthropic.APIStatusError):
            bill.settle(0.0)  # an error is not billed
            return self._status(error)
        if isinstance(error, anthropic.APITimeoutError):
            return self._timed_out()
        if (strange := _cause(error, _Strange)) is not None:
            return BadAnswer(f"{self._settings.shown_address} {strange}", hint=_CHECK_ADDRESS)
        if _cause(error, httpx2.ConnectError) is not None:
            bill.settle(0.0)  # nothing was sent
        name = type(error.__cause__ or error).__name__
        return Unreachable(f"the connection to {self._settings.shown_address} failed ({name})", hint=_CHECK_ADDRESS)

    def _status(self, error: anthropic.APIStatusError) -> LanguageError:
        status = error.status_code
        message: object = error.api_message  # the server's own, of any type
        told = self._settings.scrub(message if isinstance(message, str) else "") or "no reason told"
        said = f"{self._settings.shown_address} answered {status}: {told}"
        if status in (401, 402, 403):
            return Unauthorised(said, hint="check ANTHROPIC_API_KEY and the account's credit")
        if status == 429:
            return RateLimited(said, hint="try again later", retry_after=_retry_after(error.response))
        if status >= 500 or status == 408:
            return Overloaded(said, hint="try again later", retry_after=_retry_after(error.response))
        return BadRequest(
            said, hint=f"check the model's name ({self._settings.model_id}) and the address of the server"
        )

    def _timed_out(self) -> TimedOut:
        limit = f"{self._settings.timeout_s:g} s"
        return TimedOut(f"{self._settings.shown_address} gave no answer within {limit}", hint="try again later")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _no_address() -> BadRequest:
    # Not shown: what is no address may have a password in any place.
    hint = "write ANTHROPIC_BASE_URL (base_url in config.toml) as https://HOST or http://HOST:PORT"
    return BadRequest("what is set as the address of the model server is no address", hint=hint)


class _Strange(Exception):
    """The answer's body is not one that we read."""


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error after ``MAX_ANSWER_BYTES``."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ANSWER_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise _Strange(f"sent more than {MAX_ANSWER_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _Strange("sent a compressed body, which was not asked for and has no bound")
    response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))


def _client(settings: LanguageSettings) -> anthropic.AsyncAnthropic:
    """All is given, so that neither key nor address come from the environment."""
    headers = {"Accept-Encoding": "identity"}
    if settings.api_key and settings.address.rstrip("/") != DEFAULT_BASE_URL:
        headers["X-Api-Key"] = settings.api_key  # compatible servers may know the older header only
    return anthropic.AsyncAnthropic(
        api_key=settings.api_key or None,
        auth_token=None if settings.api_key else settings.auth_token,
        base_url=settings.address,
        max_retries=0,
        timeout=settings.timeout_s,
        default_headers=headers,
        # A redirect would carry the key elsewhere.
        http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [_bound]}),
    )


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds to wait, told as a number or a date (RFC 9110, 10.2.3)."""
    told = response.headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _cause(error: BaseException | None, kind: type[E]) -> E | None:
    """The first of ``kind`` among the error and what it was raised from."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
