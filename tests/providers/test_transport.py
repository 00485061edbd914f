"""The Messages API and its faults, against a loopback server."""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import suppress
from email.utils import formatdate

import pytest
from languagekit import KEY, SKILL, WORDED, fails, silence, world
from messages_server import Fault, Reply, error, message, serve

from prowess.providers import errors

pytestmark = pytest.mark.anyio


async def test_the_key_goes_as_a_bearer_and_to_compatible_servers_as_x_api_key_too() -> None:
    async with world(message(WORDED)) as made:
        await made.model.word_skill(SKILL)
        headers = made.server.asked[0].headers
        assert headers["authorization"] == f"Bearer {KEY}"
        assert headers["x-api-key"] == KEY


async def test_an_auth_token_serves_where_there_is_no_key() -> None:
    async with world(message(WORDED), api_key="", auth_token="tok") as made:
        await made.model.word_skill(SKILL)
        headers = made.server.asked[0].headers
        assert headers["authorization"] == "Bearer tok"
        assert "x-api-key" not in headers


async def test_the_environment_changes_neither_key_nor_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    async with world(message(WORDED)) as made:
        await made.model.word_skill(SKILL)
        assert made.server.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid_request_error", errors.BadRequest),
        (401, "authentication_error", errors.Unauthorised),
        (402, "billing_error", errors.Unauthorised),
        (403, "permission_error", errors.Unauthorised),
        (404, "not_found_error", errors.BadRequest),
        (413, "request_too_large", errors.BadRequest),
    ],
)
async def test_a_refused_request_is_not_repeated_and_costs_nothing(
    status: int, kind: str, expected: type[errors.LanguageError]
) -> None:
    async with world(error(status, kind, "that will not do")) as made:
        caught = await fails(made, expected, f"answered {status}: that will not do")
        assert caught.hint
        assert len(made.server.asked) == 1
        assert [(call.ok, call.error, call.cost_usd) for call in made.ledger] == [(False, expected.__name__, 0.0)]


@pytest.mark.parametrize("told", ["5", '["a"]', "null", '{"a": 1}', '""', "[" * 5_000])
async def test_a_reason_that_is_no_text_is_left_out(told: str) -> None:
    body = f'{{"type": "error", "error": {{"type": "x", "message": {told}}}}}'
    async with world(Reply(400, body.encode())) as made:
        await fails(made, errors.BadRequest, "answered 400: no reason told")


async def test_a_rate_limit_is_waited_for_as_long_as_told() -> None:
    async with world(error(429, "rate_limit_error", retry_after="7"), message(WORDED)) as made:
        assert (await made.model.word_skill(SKILL)).name == "cancel-order"
        assert made.waits == [7.0]
        assert [call.ok for call in made.ledger] == [False, True]


async def test_a_rate_limit_longer_than_the_time_limit_is_told_at_once() -> None:
    async with world(error(429, "rate_limit_error", retry_after="3600")) as made:
        caught = await fails(made, errors.RateLimited)
        assert isinstance(caught, errors.RateLimited)
        assert caught.retry_after == 3600.0
        assert made.waits == []
        assert len(made.server.asked) == 1


async def test_a_wait_told_as_a_date_is_understood() -> None:
    async with world(error(429, "rate_limit_error", retry_after=formatdate(0, usegmt=True)), message(WORDED)) as made:
        await made.model.word_skill(SKILL)
        assert made.waits == [0.0]  # long past


@pytest.mark.parametrize("told", ["", "soon", "nan", "inf", "Wed, 99 Nov 2026", "Wed, 21 Oct 99999999999 07:28:00 GMT"])
async def test_a_wait_that_makes_no_sense_is_the_usual_one(told: str) -> None:
    async with world(error(429, "rate_limit_error", retry_after=told), message(WORDED)) as made:
        await made.model.word_skill(SKILL)
        assert made.waits == [0.5]


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_overload_is_tried_three_times(status: int) -> None:
    async with world(error(status, "overloaded_error")) as made:
        await fails(made, errors.Overloaded, f"answered {status}")
        assert len(made.server.asked) == 3
        assert made.waits == [0.5, 1.0]
        assert [call.error for call in made.ledger] == ["Overloaded"] * 3


async def half_an_answer(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"content": [')
    await writer.drain()


async def half_a_stream(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head + b"15\r\nevent: message_start\n\r\n")
    await writer.drain()


async def hang_up(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    writer.transport.abort()


async def not_http(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await writer.drain()


async def trickle(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    """A body that never ends, a byte at a time: no single read takes long."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n")
    while not over.is_set():
        writer.write(b" ")
        await writer.drain()
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 0.01)


async def flood(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    """A body without end."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not over.is_set():
        writer.write(chunk)
        await writer.drain()


@pytest.mark.parametrize("fault", [half_an_answer, half_a_stream, hang_up, not_http])
async def test_a_broken_connection_is_tried_again_and_counts_with_its_worst_cost(fault: Fault) -> None:
    async with world(fault, message(WORDED)) as made:
        assert (await made.model.word_skill(SKILL)).name == "cancel-order"
        first, second = made.ledger
        assert (first.ok, first.error) == (False, "Unreachable")
        # At least the 4,096 tokens of the answer: $0.002.
        assert 0.002 < first.cost_usd < 0.01
        assert second.ok


async def test_a_server_that_is_not_there_costs_nothing() -> None:
    async with world(message(WORDED), base_url="http://127.0.0.1:9") as made:
        await fails(made, errors.Unreachable, "http://127.0.0.1:9 failed")
        assert [call.cost_usd for call in made.ledger] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("fault", [silence, trickle])
async def test_a_slow_server_is_given_up_after_the_time_limit(fault: Fault) -> None:
    async with world(fault, timeout_s=0.3) as made:
        await fails(made, errors.TimedOut, r"within 0\.3 s")
        (call,) = made.ledger
        assert call.error == "TimedOut"
        assert call.cost_usd > 0.002


async def test_a_body_without_end_is_cut_off() -> None:
    async with world(flood) as made:
        await fails(made, errors.BadAnswer, "more than 1,000,000 bytes")
        assert len(made.server.asked) == 1


async def test_a_compressed_body_is_not_unpacked() -> None:
    async with world(Reply(body=b"\x1f\x8b", headers={"content-encoding": "gzip"})) as made:
        await fails(made, errors.BadAnswer, "compressed")


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    async with (
        serve(message(WORDED)) as elsewhere,
        world(Reply(307, headers={"location": elsewhere.url + "/v1/messages"})) as made,
    ):
        await fails(made, errors.BadRequest, "answered 307")
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>welcome</html>",
        b"[]",
        b"\xff\xfe",
        b'{"content": "text"}',
        b'{"content": [], "usage": {"input_tokens": -1, "output_tokens": 0}}',
        b'{"content": [{"type": "text", "text": "\\ud800"}], "usage": {"input_tokens": 1, "output_tokens": 0}}',
        b'{"content": [], "usage": {"input_tokens": 1000000001, "output_tokens": 0}}',
        b'{"content": [], "usage": {"input_tokens": 1%s, "output_tokens": 0}}' % (b"0" * 400),  # no float holds that
        b"[" * 100_000,
        b'{"x": %s%s, "content": []}' % (b"[" * 100_000, b"]" * 100_000),
    ],
)
async def test_an_answer_that_is_no_message_counts_with_its_worst_cost(body: bytes) -> None:
    async with world(Reply(body=body)) as made:
        await fails(made, errors.BadAnswer, "no message")
        assert made.ledger[0].cost_usd > 0.002


async def test_a_key_is_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = error(401, "authentication_error", f"invalid key {KEY}")
    for replies in ((echo,), (half_an_answer,), (Reply(body=KEY.encode()),)):
        async with world(*replies) as made:
            with pytest.raises(errors.LanguageError) as caught:
                await made.model.word_skill(SKILL)
            shown = "".join(traceback.format_exception(caught.value)) + caught.value.explain() + repr(made.settings)
            assert KEY not in shown
            assert all(KEY not in call.error for call in made.ledger)
    assert KEY not in caplog.text


async def test_a_password_in_the_address_is_not_shown() -> None:
    async with world(message(WORDED), base_url="http://user:hunter2@127.0.0.1:9/v1?k=hunter2") as made:
        caught = await fails(made, errors.Unreachable)
        assert "hunter2" not in caught.explain()


@pytest.mark.parametrize(
    "address",
    [
        "no address",
        "localhost:8080",
        "127.0.0.1:8080/v1",
        "http://",
        "http://[::1",
        "http://\x00",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "http://127.0.0.1:99999",
        "user:hunter2@host",
    ],
)
async def test_an_address_that_is_none_is_told_and_costs_nothing(address: str) -> None:
    async with world(message(WORDED), base_url=address) as made:
        caught = await fails(made, errors.BadRequest, "the address of the model server is no address")
        assert "ANTHROPIC_BASE_URL" in caught.hint
        assert "hunter2" not in caught.explain()
        assert (made.ledger, made.waits) == ([], [])
