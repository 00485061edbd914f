"""The shim between a client and a hub that is there: what passes, what does not, and what happens when a hub ends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shimkit import SECONDS, Connection, Hub, Shim, initialize, until

KEY = "prowess/idempotency-key"
MB = 1 << 20


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def hub(home: Path) -> Iterator[Hub]:
    with Hub(home) as hub:
        yield hub


@pytest.fixture
def shim(home: Path, hub: Hub) -> Iterator[Shim]:
    with Shim(home) as shim:
        yield shim


def _shake(shim: Shim, link: Connection, request_id: int | str = 0) -> None:
    shim.request(request_id, "initialize", **initialize)
    assert link.receive()["method"] == "initialize"
    link.answer(request_id, {"serverInfo": {"name": "hub"}})
    assert shim.receive()["id"] == request_id
    shim.notify("notifications/initialized")
    assert link.receive()["method"] == "notifications/initialized"


def _expect_replay(link: Connection) -> None:
    replay = link.receive()
    assert (replay["method"], replay["params"]) == ("initialize", initialize)
    link.answer(replay["id"], {"serverInfo": {"name": "another hub"}})
    assert link.receive()["method"] == "notifications/initialized"


def _key(message: dict[str, Any]) -> str:
    return str(message["params"]["_meta"][KEY])


def test_the_hello_tells_who_is_there(home: Path, hub: Hub) -> None:
    allowed = {"PROWESS_PROJECT": "shop", "ANTHROPIC_BASE_URL": "http://elsewhere", "PROWESS_MODEL": "small"}
    (home / "allow-env").write_text("PROWESS_MODEL\nPATH\n")
    with Shim(home, environ=allowed):
        hello = hub.meet().hello
    session = hello.pop("session")
    assert len(session) == 36
    assert session[14] == "4"
    assert hello == {
        "protocol": 1,
        "kind": "shim",
        "version": "0.1.0",
        "cwd": str(Path.cwd()),
        "project": "shop",
        "env": {"PROWESS_MODEL": "small"},
    }


def test_lines_pass_both_ways_as_they_are(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    odd = b'{"method" : "ping","jsonrpc":"2.0", "id":"\\u00e9", "params":{"x":1e400,"y":"\xff","z":1.10}}'
    shim.send(odd)
    assert link.line() == odd + b"\n"
    answer = b'{"jsonrpc":"2.0" ,"id":"\\u00e9","result":{"pi":3.140,"\xfe":[]}}\n'
    link.send(answer)
    assert shim._lines.get(timeout=SECONDS) == answer


def test_a_call_gets_a_key_and_keeps_one_that_it_has(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    session = link.hello["session"]
    shim.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1.0}}}')
    shim.send(b'{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{ "_meta" : {"progressToken":7}}}')
    own = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"prowess/idempotency-key":"mine"}}}'
    shim.send(own)
    shim.request(3, "tools/list")
    assert link.line() == (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"prowess/idempotency-key":"%s:1"},'
        b'"name":"a","arguments":{"x":1.0}}}\n' % session.encode()
    )
    assert link.line() == (
        b'{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{ "_meta" : {"prowess/idempotency-key":"%s:2",'
        b'"progressToken":7}}}\n' % session.encode()
    )
    assert link.line() == own + b"\n"
    assert "_meta" not in link.receive()["params"]
    for request_id in ("1", 3, 1):
        link.answer(request_id, request_id)
        assert shim.receive()["result"] == request_id


def test_ten_megabytes_pass_in_one_line_each_way(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    text = "é\n" * (5 * MB)
    writer = _thread(lambda: shim.request(1, "tools/call", name="a", arguments={"text": text}))
    message = link.receive()
    writer()
    assert message["params"]["arguments"]["text"] == text
    assert _key(message).endswith(":1")
    link.answer(1, text)
    assert shim.receive()["result"] == text


def _thread(work: Any) -> Any:
    import threading

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return lambda: thread.join(SECONDS)


def test_a_client_that_does_not_read_holds_up_the_hub_and_loses_nothing(home: Path, hub: Hub) -> None:
    with Shim(home, reading=False) as shim:
        link = hub.accept()
        line = (
            json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": "x" * 100_000}).encode() + b"\n"
        )
        sent = _fill(link, line)
        assert sent < 8 * MB
        assert shim.peak_kilobytes() < 60_000
        shim.read()
        link.raw.settimeout(SECONDS)
        link.send(line[sent % len(line) :])
        link.send({"jsonrpc": "2.0", "method": "end"})
        for _ in range(sent // len(line) + 1):
            assert shim.receive()["params"] == "x" * 100_000
        assert shim.receive()["method"] == "end"


def _fill(link: Connection, line: bytes) -> int:
    """Send ``line`` again and again until the other side has taken nothing more for a while."""
    link.raw.settimeout(0.5)
    sent = 0
    try:
        while sent < 50 * MB:
            sent += link.raw.send((line * 2)[sent % len(line) :][: len(line)])
    except TimeoutError:
        pass
    return sent


def test_a_hub_that_does_not_read_holds_up_the_client_and_loses_nothing(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    descriptor = shim.stdin.fileno()
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "y" * 50_000}}).encode() + b"\n"
    sent = 0
    while sent < 50 * MB and _takes(descriptor):
        sent += os.write(descriptor, (line * 2)[sent % len(line) :][:4096])
    assert sent < 8 * MB
    done = _thread(lambda: shim.send(line[sent % len(line) : -1]))
    for _ in range(sent // len(line) + 1):
        assert link.line() == line
    done()


def _takes(descriptor: int) -> bool:
    import select

    return bool(select.select([], [descriptor], [], 0.5)[1])


def test_after_a_lost_hub_the_handshake_and_what_is_unanswered_go_to_the_next(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    _shake(shim, link)
    for request_id in (1, "one", 2, 3):
        shim.request(request_id, name=str(request_id))
    first = [link.receive() for _ in range(4)]
    link.answer("one", "early")
    assert shim.receive()["result"] == "early"
    link.close()
    link = hub.accept()
    _expect_replay(link)
    again = [link.receive() for _ in range(3)]
    assert again == [first[0], first[2], first[3]]
    for message in again:
        link.answer(message["id"], _key(message))
    assert [shim.receive()["id"] for _ in range(3)] == [1, 2, 3]
    assert shim.silent()


def test_the_name_of_the_session_is_the_same_at_each_hub(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    name = link.hello["session"]
    link.close()
    shim.request(1, "ping")
    assert hub.meet().hello["session"] == name


def test_a_client_without_a_handshake_has_none_replayed(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1, "server/discover")
    link.receive()
    link.close()
    link = hub.accept()
    assert link.receive()["method"] == "server/discover"
    link.answer(1)
    assert shim.receive()["id"] == 1


def test_a_handshake_that_was_not_answered_is_sent_again_as_it_was(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request("first", "initialize", **initialize)
    sent = link.receive()
    link.close()
    link = hub.accept()
    assert link.receive() == sent
    link.answer("first", "hello")
    assert shim.receive()["result"] == "hello"


def test_a_request_in_flight_at_two_deaths_is_given_up_and_the_others_go_on(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    _shake(shim, link)
    shim.request(1, name="poison")
    link.receive()
    link.close()
    link = hub.accept()
    _expect_replay(link)
    assert link.receive()["id"] == 1
    shim.request(2, name="bystander")
    assert link.receive()["id"] == 2
    link.close()
    answer = shim.receive()
    assert answer["id"] == 1
    assert answer["error"]["code"] == -32000
    assert "ended twice" in answer["error"]["data"]["reason"]
    assert "Try again" in answer["error"]["data"]["hint"]
    link = hub.accept()
    _expect_replay(link)
    assert link.receive()["id"] == 2
    link.answer(1, "late")
    link.answer(2)
    assert shim.receive()["id"] == 2
    assert shim.silent()


def test_a_cancelled_request_is_never_sent_again_and_its_late_answer_is_dropped(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1)
    shim.request("two")
    assert [link.receive()["id"] for _ in range(2)] == [1, "two"]
    shim.notify("notifications/cancelled", requestId=1)
    assert link.receive()["method"] == "notifications/cancelled"
    link.close()
    link = hub.accept()
    assert link.receive()["id"] == "two"
    link.answer(1, "late")
    link.answer("two")
    assert shim.receive()["id"] == "two"
    assert shim.silent()


def test_what_is_cancelled_before_a_hub_has_seen_it_is_never_sent(shim: Shim, hub: Hub) -> None:
    link = hub.meet()
    shim.request(1)
    shim.notify("notifications/cancelled", requestId=1)
    shim.request(2, "ping")
    link.accept()
    assert link.receive()["id"] == 2


def test_half_a_line_of_a_dying_hub_is_dropped(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1)
    link.receive()
    link.send(b'{"jsonrpc":"2.0","id":1,"result":{"half')
    link.close()
    link = hub.accept()
    assert link.receive()["id"] == 1
    link.answer(1, "whole")
    assert shim.receive()["result"] == "whole"


def test_a_second_answer_is_dropped(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1)
    link.receive()
    link.answer(1, "first")
    link.answer(1, "second")
    link.send({"jsonrpc": "2.0", "method": "notifications/message"})
    assert shim.receive()["result"] == "first"
    assert shim.receive()["method"] == "notifications/message"
    shim.request(1)
    link.receive()
    link.answer(1, "of the number used again")
    assert shim.receive()["result"] == "of the number used again"


def test_what_the_hub_asks_is_answered_to_that_hub_only(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    link.send({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    assert shim.receive()["method"] == "roots/list"
    shim.send({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})
    assert link.receive()["result"] == {"roots": []}
    link.send({"jsonrpc": "2.0", "id": 2, "method": "roots/list"})
    assert shim.receive()["id"] == 2
    link.close()
    shim.request(1, "ping")
    link = hub.accept()
    assert link.receive()["method"] == "ping"
    shim.send({"jsonrpc": "2.0", "id": 2, "result": {"roots": []}})
    shim.request(2, "ping")
    assert link.receive()["id"] == 2


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[]", b'{"id":1,', b'{"id":"x","method":' + b"[" * 5_000, b"7", b'"\xff']
)
def test_what_is_no_message_is_for_the_hub_to_answer(shim: Shim, hub: Hub, line: bytes) -> None:
    link = hub.accept()
    shim.send(line)
    assert link.line() == line + b"\n"
    link.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}})
    assert shim.receive()["error"]["code"] == -32700


def test_without_a_hub_what_is_no_message_is_answered_here(home: Path) -> None:
    with Shim(home) as shim:
        shim.send(b"no JSON")
        assert shim.receive()["error"]["code"] == -32700
        shim.send(b'{"id": "x7", "method":')
        answer = shim.receive()
        assert (answer["id"], answer["error"]["code"]) == ("x7", -32700)
        shim.send(b'{"id": 8, "method":')
        shim.stdin.close()
        assert shim.receive()["id"] == 8
        assert shim.ends() == 0


def test_at_the_end_of_input_open_answers_are_awaited(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1)
    shim.stdin.close()
    assert link.receive()["id"] == 1
    assert link.has_ended()
    link.answer(1, "late but here")
    assert shim.receive()["result"] == "late but here"
    assert shim.ends() == 0


def test_a_last_line_without_an_end_counts(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    shim.stdin.close()
    assert link.receive()["id"] == 1
    link.answer(1)
    assert shim.receive()["id"] == 1
    assert shim.ends() == 0


def test_a_line_that_is_no_message_is_still_answered_at_the_end_of_input(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.send(b"no JSON")
    shim.stdin.close()
    assert link.line() == b"no JSON\n"
    link.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}})
    link.close()
    assert shim.receive()["error"]["code"] == -32700
    assert shim.ends() == 0


def test_open_answers_are_awaited_within_a_bound(home: Path, hub: Hub) -> None:
    with Shim(home, end=0.3) as shim:
        link = hub.accept()
        shim.request("slow")
        link.receive()
        shim.stdin.close()
        answer = shim.receive()
        assert (answer["id"], answer["error"]["code"]) == ("slow", -32000)
        assert shim.ends() == 0


def test_a_hub_lost_after_the_end_of_input_is_replaced(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1)
    shim.stdin.close()
    assert link.receive()["id"] == 1
    assert link.has_ended()
    link.close()
    link = hub.accept()
    assert link.receive()["id"] == 1
    link.answer(1)
    assert shim.receive()["id"] == 1
    assert shim.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_and_not_the_hub(shim: Shim, hub: Hub, number: signal.Signals) -> None:
    link = hub.accept()
    shim.request(1)
    link.receive()
    shim.process.send_signal(number)
    assert shim.ends() == 0
    assert link.has_ended()
    assert shim.receive() is None
    assert shim.stderr == ""


def test_a_client_that_closed_our_output_ends_it(home: Path, hub: Hub) -> None:
    with Shim(home, reading=False) as shim:
        link = hub.accept()
        shim.stdout.close()
        link.send({"jsonrpc": "2.0", "method": "notifications/message"})
        assert shim.ends() == 0


def test_a_client_that_hangs_up_while_nothing_is_read_is_noticed(home: Path, hub: Hub) -> None:
    with Shim(home, end=0.3, flush=0.3) as shim:
        hub.accept()
        descriptor = shim.stdin.fileno()
        line = json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"x": "y" * 4000}}).encode() + b"\n"
        while _takes(descriptor):
            os.write(descriptor, line)
        shim.stdin.close()
        assert shim.ends() == 0


def test_a_hub_that_refuses_is_told_to_the_client(home: Path, hub: Hub) -> None:
    with Shim(home) as shim:
        link = hub.meet()
        shim.request(1, "initialize", **initialize)
        link.send({"prowess": {"status": "refused", "reason": "this prowess is too old", "hint": "upgrade it"}})
        link.close()
        error = shim.receive()["error"]
        assert error["data"] == {"reason": "this prowess is too old", "hint": "upgrade it"}
        assert error["message"] == "this prowess is too old\nhint: upgrade it"
        _answered_at_last(shim, hub)
        shim.stdin.close()
        shim.ends()
        assert "prowess: this prowess is too old\nhint: upgrade it" in shim.stderr


def _answered_at_last(shim: Shim, hub: Hub) -> None:
    """A later request tries again, once the pause after a failure is over."""
    with until("a request that is tried") as late:
        while not late.wait(0.06):
            shim.request("again", "ping")
            if not hub.nobody_comes(0.05):
                break
            shim.receive()
    link = hub.accept()
    assert link.receive()["id"] == "again"
    link.answer("again", "well")
    assert shim.receive()["result"] == "well"


def test_a_hub_that_retires_is_asked_again_until_another_is_there(shim: Shim, hub: Hub) -> None:
    shim.request(1, "ping")
    for _ in range(3):
        link = hub.meet()
        link.send({"prowess": {"status": "retiring", "reason": "an upgrade", "hint": "wait"}})
        link.close()
    link = hub.accept()
    assert link.receive()["id"] == 1
    link.answer(1)
    assert shim.receive()["id"] == 1


def test_a_hub_that_takes_connections_and_says_nothing_is_given_up(home: Path, hub: Hub) -> None:
    with Shim(home, hello=0.3) as shim:
        link = hub.meet()
        shim.request(1, "ping")
        error = shim.receive()["error"]
        assert "did not answer" in error["data"]["reason"]
        assert "hub stop" in error["data"]["hint"]
        link.close()
        _answered_at_last(shim, hub)


def test_hubs_that_end_again_and_again_are_given_up(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    _shake(shim, link)
    link.close()
    shim.request(1)
    for _ in range(3):
        link = hub.accept()
        link.receive()  # the handshake, which kills it
        link.close()
    error = shim.receive()["error"]
    assert "3 times in a row" in error["data"]["reason"]


@pytest.mark.parametrize(
    "said", [b"what?\n", b"{}\n", b'{"prowess":{"status":"ok","protocol":99}}\n', b"[" * 5000 + b"\n"]
)
def test_something_else_that_listens_there_is_told_to_the_client(shim: Shim, hub: Hub, said: bytes) -> None:
    link = hub.meet()
    shim.request(1, "ping")
    link.send(said)
    assert "another protocol" in shim.receive()["error"]["data"]["reason"]


def test_a_hub_that_writes_no_messages_is_given_up_with_clean_output(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1, "ping")
    link.receive()
    link.send(b"Segmentation fault\n")
    assert "no message" in shim.receive()["error"]["data"]["reason"]


def test_the_handshake_refused_by_the_next_hub_is_told(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    _shake(shim, link)
    link.close()
    shim.request(1)
    link = hub.accept()
    replay = link.receive()
    link.send({"jsonrpc": "2.0", "id": replay["id"], "error": {"code": -32602, "message": "no"}})
    assert "refused the handshake" in shim.receive()["error"]["data"]["reason"]
