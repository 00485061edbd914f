"""Lines of MCP messages: what is no message is answered, and what was asked is answered before the end."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from prowess.server.lines import InvalidId, Lines, line_transport, message_streams, parse, refusal

pytestmark = pytest.mark.anyio

SECONDS = 180.0  # a busy machine, and then some


def _request(text: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"' + text.encode() + b'"}}'


def test_a_lone_surrogate_becomes_a_replacement_character_and_a_pair_stays_one_character() -> None:
    message = parse(_request(r"a\ud800b \ud83d\ude00"))
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"text": "a\ufffdb \U0001f600"}


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    message = parse(_request("<>").replace(b"<>", b"<\xff>"))
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"text": "<\ufffd>"}


def test_numbers_that_json_does_not_know_are_read_all_the_same() -> None:
    message = parse(_request("<>").replace(b'"<>"', b"[NaN, -Infinity, 1e999, 123456789012345678901234567890]"))
    assert isinstance(message, JSONRPCRequest)
    assert message.params is not None
    assert str(message.params["text"]) == "[nan, -inf, inf, 123456789012345678901234567890]"


@pytest.mark.parametrize("line", [b"hello", b"{}", b"[1]", b'{"jsonrpc":"2.0","id":1}', b"[" * 100_000, b'"\\ud800"'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse(line)


def test_a_refusal_carries_the_id_that_the_line_seems_to_have() -> None:
    assert refusal(b'{"jsonrpc":"2.0","id":7,"method":').id == 7
    assert refusal(b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 600 + b'},"id":"a-b"}').id == "a-b"
    assert refusal(b"hello").id is None
    assert "longer than" in refusal(None).error.message


def test_a_number_that_is_no_integer_is_not_taken_for_an_id() -> None:
    for number in (b"1.5", b"12.5", b"1e3", b"1234567890123456789"):
        assert refusal(b'{"jsonrpc":"2.0","id":' + number + b',"method":').id is None


@pytest.mark.parametrize("told", [b"1.5", b"null", b"true", b"[1]", b"{}"])
def test_a_request_whose_id_no_answer_can_carry_is_refused_without_one(told: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":' + told + b',"method":"ping"}'
    with pytest.raises(InvalidId) as raised:
        parse(line)
    answer = refusal(line, raised.value)
    assert (answer.id, answer.error.code) == (None, -32600)
    assert "string or an integer" in answer.error.message


def test_a_notification_may_have_an_id_in_its_parameters() -> None:
    assert isinstance(parse(b'{"jsonrpc":"2.0","method":"x","params":{"id":null}}'), JSONRPCNotification)


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    try:
        yield read, write
    finally:
        for descriptor in (read, write):
            try:
                os.close(descriptor)
            except OSError:
                continue


async def test_at_the_end_of_input_the_open_requests_are_answered_first() -> None:
    with _pipe() as (source, told), _pipe() as (heard, target):
        os.write(told, _request("first") + b"\n" + b"not a message\n")
        os.close(told)
        with anyio.fail_after(SECONDS):
            async with line_transport(source, target) as (incoming, outgoing):
                request = await incoming.receive()
                assert isinstance(request, SessionMessage)
                await anyio.wait_all_tasks_blocked()
                with pytest.raises(anyio.WouldBlock):
                    incoming.receive_nowait()
                await outgoing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"ok": True})))
                with pytest.raises(anyio.EndOfStream):
                    await incoming.receive()
        answers = [json.loads(line) for line in os.read(heard, 10_000).splitlines()]
    assert {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}} in answers
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [-32700]


async def test_a_cancelled_request_does_not_hold_up_the_end() -> None:
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    with _pipe() as (source, told), _pipe() as (_, target):
        os.write(told, _request("first") + b"\n" + cancel)
        os.close(told)
        with anyio.fail_after(SECONDS):
            async with line_transport(source, target) as (incoming, _outgoing):
                assert len([item async for item in incoming]) == 2


async def test_a_message_larger_than_the_pipe_arrives_whole() -> None:
    big = "x" * 1_000_000
    with _pipe() as (source, _), _pipe() as (heard, target):
        async with line_transport(source, target) as (_incoming, outgoing), anyio.create_task_group() as tasks:
            answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": big})
            tasks.start_soon(outgoing.send, SessionMessage(answer))
            data = b""
            with anyio.fail_after(SECONDS):
                while not data.endswith(b"\n"):
                    data += await anyio.to_thread.run_sync(os.read, heard, 1 << 16)
    assert json.loads(data)["result"]["text"] == big


async def test_every_request_with_an_odd_id_is_answered() -> None:
    with _pipe() as (source, told), _pipe() as (heard, target):
        os.write(told, b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n{"jsonrpc":"2.0","id":null,"method":"ping"}\n')
        os.close(told)
        with anyio.fail_after(SECONDS):
            async with line_transport(source, target) as (incoming, _outgoing):
                assert [item async for item in incoming] == []
        answers = [json.loads(line) for line in os.read(heard, 10_000).splitlines()]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(None, -32600)] * 2


class _Silent:
    """A connection on which nothing happens."""

    async def next_line(self) -> bytes | None:
        await anyio.sleep_forever()
        return None

    async def write(self, data: bytes) -> None:
        await anyio.sleep_forever()


def _serve_and_break_off(*, begun: bool) -> None:
    """A loop that ends, as on a signal, with a connection that is open."""

    async def serve() -> None:
        async with message_streams(Lines(_Silent())):
            if begun:
                await anyio.wait_all_tasks_blocked()
            raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup):
        anyio.run(serve)


@pytest.mark.parametrize("begun", [True, False])
def test_a_connection_that_breaks_off_leaves_no_stream_open(begun: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _serve_and_break_off(begun=begun)
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
