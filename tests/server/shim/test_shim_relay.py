"""The shim between a client and a hub that is there: what passes, what does not, and what happens when a hub ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from shimkit import SECONDS, Connection, Hub, Shim

KEY = "prowess/idempotency-key"
MB = 1 << 20


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


def test_what_is_cancelled_before_a_hub_has_seen_it_is_never_sent(shim: Shim, hub: Hub) -> None:
    link = hub.meet()
    shim.request(1)
    shim.notify("notifications/cancelled", requestId=1)
    shim.request(2, "ping")
    link.accept()
    assert link.receive()["id"] == 2


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


def test_a_closed_stderr_stops_nothing(home: Path) -> None:
    with Shim(home, listening=False) as shim:
        shim.errors.close()
        for number in range(3):
            shim.request(number, "ping")
            assert "this test starts no hub" in shim.receive()["error"]["data"]["reason"]


def test_a_stderr_that_nobody_reads_stops_nothing(home: Path) -> None:
    hub = ["/nowhere/" + "x" * 1000]
    with Shim(home, first_back_off=0.0, last_back_off=0.0, listening=False, hub=hub) as shim:
        for number in range(120):  # 500 bytes of reason each are more than a pipe takes
            shim.request(number, "ping")
            assert "x" * 400 in shim.receive()["error"]["data"]["reason"]
