"""The greeting: what is said, and who can work with whom."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hubkit import hello_line
from hypothesis import given
from hypothesis import strategies as st

from prowess.server.hub.hello import BadHello, Hello, answer, is_newer, judge, read_hello

ORDERED = ("0.1.0.dev3", "0.1.0a1", "0.1.0rc1", "0.1.0rc2", "0.1.0", "0.1.1", "0.2", "0.10.0", "1.0", "1.0.1", "10.0")


def test_versions_are_in_the_order_in_which_they_come_out() -> None:
    assert [is_newer(later, earlier) for earlier, later in pairwise(ORDERED)] == [True] * 10
    assert not any(is_newer(earlier, later) for earlier, later in pairwise(ORDERED))


@pytest.mark.parametrize(("one", "other"), [("1.0", "1.0.0"), ("", ""), ("x", "y"), ("0.1.0+abc", "0.1.0")])
def test_of_two_that_cannot_be_told_apart_neither_is_newer(one: str, other: str) -> None:
    assert not is_newer(one, other)
    assert not is_newer(other, one)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert not (is_newer(one, other) and is_newer(other, one))


def test_what_a_newer_client_says_beyond_what_is_known_is_passed_over() -> None:
    hello = read_hello(hello_line(future={"a": 1}, env={"X": "y"}, session="s9", project=None))
    assert (hello.kind, hello.session, hello.project) == ("shim", "s9", "")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET / HTTP/1.1",
        b"{}",
        b"[]",
        b'{"prowess": 1}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
        hello_line(kind="browser"),
        hello_line(protocol="1"),
        hello_line(protocol=True),
        hello_line(session=7),
        hello_line(session="x" * 201),
        b"[" * 60_000,
    ],
)
def test_what_is_no_hello_is_refused(line: bytes) -> None:
    with pytest.raises(BadHello):
        read_hello(line)


def _hello(**said: object) -> Hello:
    return read_hello(hello_line(**said))


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ({"version": "1.2.0"}, "ok"),
        ({"version": "1.1.9"}, "ok"),
        ({"version": "1.2.1"}, "retiring"),
        ({"version": "1.2.1", "protocol": 2}, "retiring"),
        ({"version": "1.1.9", "protocol": 0}, "refused"),
        ({"version": "1.2.0", "protocol": 2}, "refused"),
        ({"version": "9", "kind": "control", "command": "status"}, "ok"),
        ({"version": "9", "kind": "control", "command": "stop"}, "ok"),
        ({"version": "9", "kind": "control", "command": "calls"}, "retiring"),
    ],
)
def test_an_older_client_is_served_and_a_newer_one_makes_the_hub_leave(said: dict[str, object], verdict: str) -> None:
    found, reason, hint = judge(_hello(**said), leaving=False, version="1.2.0")
    assert found == verdict
    assert bool(reason) == bool(hint) == (verdict != "ok")


def test_a_hub_that_leaves_tells_only_how_it_is_and_that_it_leaves() -> None:
    assert judge(_hello(), leaving=True)[0] == "retiring"
    assert judge(_hello(kind="control", command="calls"), leaving=True)[0] == "retiring"
    assert judge(_hello(kind="control", command="status"), leaving=True)[0] == "ok"
    assert judge(_hello(kind="control", command="stop"), leaving=True)[0] == "ok"


def test_the_answer_is_one_line_that_names_both_sides_versions() -> None:
    line = answer("refused", pid=7, schema={"steps": 1}, reason="r", hint="h")
    assert line.endswith(b"\n")
    told = json.loads(line)["prowess"]
    assert (told["status"], told["pid"], told["schema"], told["reason"], told["hint"]) == (
        "refused",
        7,
        {"steps": 1},
        "r",
        "h",
    )
    assert told["protocol"] == 1
    assert told["version"]
