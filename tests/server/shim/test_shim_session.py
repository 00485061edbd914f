"""What a session owes to client and hub, whatever happens in between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from prowess.server.shim.session import REMEMBERED, BrokenHub, Session
from prowess.server.shim.stream import IDEMPOTENCY_KEY
from prowess.server.shim.wire import Failure

NO_HUB = Failure("no hub", "start one")


def _request(request_id: Any, method: str = "tools/call") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": {}}).encode()


def _answer(request_id: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {}}).encode()


def _due(session: Session) -> list[dict[str, Any]]:
    lines = []
    while line := session.next_line(0):
        lines.append(json.loads(line))
    return lines


class Story(RuleBasedStateMachine):
    """A client that sends and cancels, and hubs that answer and die."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session("s")
        self.numbers = 0
        self.unanswered: dict[int, str] = {}  # id → key, in the order they came
        self.at_hub: list[int] = []
        self.cancelled: set[int] = set()
        self.deaths: dict[int, int] = {}
        self.up = False

    @rule()
    def ask(self) -> None:
        self.numbers += 1
        assert self.session.take(_request(self.numbers)) == []
        self.unanswered[self.numbers] = f"s:{self.numbers}"
        self.deaths[self.numbers] = 0

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(list(self.unanswered)))
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": chosen}}
        assert self.session.take(json.dumps(told).encode()) == []
        del self.unanswered[chosen]
        self.cancelled.add(chosen)

    @precondition(lambda self: not self.up)
    @rule()
    def connect(self) -> None:
        self.session.connected()
        self.up = True
        self.at_hub = []

    @precondition(lambda self: self.up)
    @rule()
    def hand_over(self) -> None:
        due = [message for message in _due(self.session) if "id" in message]
        wanted = [number for number in self.unanswered if number not in self.at_hub]
        assert [message["id"] for message in due] == wanted
        assert [message["params"]["_meta"][IDEMPOTENCY_KEY] for message in due] == [
            self.unanswered[number] for number in wanted
        ]
        self.at_hub += wanted

    @precondition(lambda self: self.up and self.at_hub)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.at_hub))
        heard = self.session.hear(_answer(chosen))
        assert bool(heard) == (chosen in self.unanswered)
        self.unanswered.pop(chosen, None)
        assert self.session.hear(_answer(chosen)) == b""

    @precondition(lambda self: self.up)
    @rule()
    def die(self) -> None:
        errors = [json.loads(line) for line in self.session.lost(1)]
        for number in self.at_hub:
            self.deaths[number] += 1
        given_up = [number for number in self.unanswered if self.deaths[number] == 2]
        assert [error["id"] for error in errors] == given_up
        for number in given_up:
            del self.unanswered[number]
        self.at_hub = []
        self.up = False

    @precondition(lambda self: not self.up)
    @rule()
    def find_no_hub(self) -> None:
        errors = [json.loads(line) for line in self.session.fail(NO_HUB)]
        assert [error["id"] for error in errors] == list(self.unanswered)
        self.unanswered.clear()

    @invariant()
    def waits_for_what_is_unanswered(self) -> None:
        assert self.session.waiting == bool(self.unanswered)


Story.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStory = Story.TestCase


def test_nothing_is_kept_of_what_is_done() -> None:
    session = Session("s")
    session.connected()
    for number in range(3 * REMEMBERED):
        session.take(_request(number))
        session.take(b'{"method":"notifications/progress"}')
        session.take(b"no JSON")
        _drain(session)
        session.hear(_answer(number))
    assert session.size == 0
    assert not session.pending
    assert len(session._answered) == REMEMBERED


def _drain(session: Session) -> None:
    while session.next_line(0):
        pass


def test_a_line_that_is_too_long_is_refused_here() -> None:
    (told,) = Session("s").take(None)
    assert json.loads(told)["error"]["code"] == -32600


@pytest.mark.parametrize("line", [b"x", b"[]", None])
def test_a_hub_that_talks_nonsense_is_broken(line: bytes | None) -> None:
    with pytest.raises(BrokenHub):
        Session("s").hear(line)


def test_only_what_went_out_counts_as_in_flight() -> None:
    session = Session("s")
    for _ in range(3):
        session.connected()
        session.take(_request(1))
        session.next_line(100)
        assert session.lost(100) == []
    session.connected()
    session.next_line(100)
    assert session.lost(101) == []
    session.connected()
    session.next_line(0)
    assert len(session.lost(1)) == 1


def test_two_requests_with_one_id_both_reach_the_hub() -> None:
    session = Session("s")
    session.connected()
    session.take(_request(1, "ping"))
    session.take(_request(1, "tools/list"))
    assert [message["method"] for message in _due(session)] == ["ping", "tools/list"]


@pytest.mark.parametrize("request_id", [None, True, 1.5, [1], {}])
def test_an_id_that_is_none_is_for_the_hub_to_refuse(request_id: Any) -> None:
    session = Session("s")
    session.connected()
    session.take(_request(request_id))
    assert [message["id"] for message in _due(session)] == [request_id]
    assert not session.waiting
    refusal = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'
    assert session.hear(refusal) == refusal + b"\n"


def test_numbers_and_texts_are_different_ids() -> None:
    session = Session("s")
    session.connected()
    session.take(_request(1))
    session.take(_request("1"))
    _drain(session)
    assert session.hear(_answer("1"))
    assert session.waiting
    assert session.hear(_answer(1))
    assert not session.waiting


def test_the_second_handshake_of_a_client_is_the_one_that_is_replayed() -> None:
    session = Session("s")
    session.connected()
    for number in (1, 2):
        session.take(json.dumps({"id": number, "method": "initialize", "params": {"n": number}}).encode())
        _drain(session)
        session.hear(_answer(number))
    session.lost(10)
    session.connected()
    (replay,) = _due(session)
    assert replay["params"] == {"n": 2}
    session.take(_request(5, "ping"))
    assert _due(session) == []
    assert session.hear(_answer(replay["id"])) == b""
    assert [message["method"] for message in _due(session)] == ["ping"]


def test_a_refused_handshake_is_not_replayed() -> None:
    session = Session("s")
    session.connected()
    session.take(_request(1, "initialize"))
    _drain(session)
    session.hear(b'{"id":1,"error":{"code":-32602,"message":"no"}}')
    session.lost(10)
    session.connected()
    assert _due(session) == []
