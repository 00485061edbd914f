"""What the shim does when a hub ends, leaves, refuses, hangs or talks nonsense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shimkit import Connection, Hub, Shim, initialize, until

KEY = "prowess/idempotency-key"


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


def test_half_a_session_that_a_broken_hub_gave_up_is_told_in_full(shim: Shim, hub: Hub) -> None:
    link = hub.accept()
    shim.request(1, "ping")
    link.receive()
    link.close()
    link = hub.accept()
    link.receive()
    link.send(b"Segmentation fault\n")
    assert "ended twice" in shim.receive()["error"]["data"]["reason"]
