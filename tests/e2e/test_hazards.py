"""What goes wrong on real machines, through real shims and hubs: crowds, hanging hubs, long paths, shared logs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from chaos import SECONDS, Marked, Shim, wait_for

from prowess.server.shim import places

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

CROWD = 30


def _made(home: Path, config: str = "") -> Path:
    home.mkdir(parents=True)
    (home / "config.toml").write_text(f'embedder = "none"\n{config}')
    return home


def _greeted(home: Path, marked: Marked) -> Shim:
    shim = marked.shim(home)
    answer = shim.greet()
    assert "result" in answer, answer
    return shim


def _tracked(shim: Shim, action: str = "a") -> dict[str, Any]:
    return dict(shim.call("track_execution", {"task_id": "t", "action": action})["result"])


def _is_stored(shim: Shim) -> bool:
    result = _tracked(shim)
    assert not result.get("isError"), result
    return bool(result["structuredContent"]["receipt"] == "committed")


def _prowess(home: Path, *words: str) -> Any:
    command = [sys.executable, "-I", "-m", "prowess.server", *words, "--json", "--store", str(home)]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _one_hub_is_there(marked: Marked) -> None:
    # On a busy machine another may have been started beside it, which finds that out and leaves.
    wait_for("one hub", lambda: len(marked.hubs()) == 1)


def _end_hub(marked: Marked, home: Path, number: int) -> None:
    pid = places.read_state(home)["pid"]
    (hub,) = [hub for hub in marked.hubs() if hub.pid == pid]
    hub.kill(number)
    wait_for("the end of the hub", lambda: pid not in [hub.pid for hub in marked.hubs()])


def test_a_crowd_of_shims_meets_at_one_hub_also_when_it_was_killed(tmp_path: Path, marked: Marked) -> None:
    home = _made(tmp_path / "home")
    shims = [marked.shim(home) for _ in range(CROWD)]
    with ThreadPoolExecutor(CROWD) as threads:
        assert all("result" in answer for answer in threads.map(Shim.greet, shims))
        assert all(threads.map(_is_stored, shims))
        _one_hub_is_there(marked)
        _end_hub(marked, home, signal.SIGKILL)
        assert all(threads.map(_is_stored, shims))
        _one_hub_is_there(marked)
        assert set(threads.map(Shim.close, shims)) == {0}
    assert _prowess(home, "stats")["steps"] == 2 * CROWD


def test_a_hub_that_is_killed_as_it_starts_costs_its_client_a_moment(tmp_path: Path, marked: Marked) -> None:
    shim = marked.shim(_made(tmp_path / "home"))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(shim.greet)
        wait_for("a hub that starts", lambda: bool(marked.hubs()))
        assert all(hub.kill() for hub in marked.hubs())
        assert "result" in answer.result(SECONDS)
    assert _is_stored(shim)


def test_a_hub_that_hangs_can_be_stopped_and_its_calls_are_answered_by_the_next(tmp_path: Path, marked: Marked) -> None:
    home = _made(tmp_path / "home")
    shim = _greeted(home, marked)
    assert _is_stored(shim)
    _one_hub_is_there(marked)
    (hub,) = marked.hubs()
    hub.kill(signal.SIGSTOP)
    asked = shim.ask("track_execution", {"task_id": "t", "action": "b"})
    assert _prowess(home, "hub", "stop") == {"stopped": True}
    assert shim.answer(asked, "the call of a hub that hung")["result"]["structuredContent"]["step"] == 2
    assert hub.pid not in [other.pid for other in marked.hubs()]


def test_a_store_on_a_path_too_long_for_a_socket(tmp_path: Path, marked: Marked) -> None:
    home = _made(tmp_path / ("long" * 25) / ("longer" * 15))
    assert len(str(home)) >= 200
    shims = [_greeted(home, marked) for _ in range(2)]
    assert all(map(_is_stored, shims))
    _one_hub_is_there(marked)
    assert len(_prowess(home, "hub", "status")["clients"]) == 2
    _end_hub(marked, home, signal.SIGKILL)
    assert all(map(_is_stored, shims))
    _one_hub_is_there(marked)
    _end_hub(marked, home, signal.SIGTERM)
    assert not Path(places.socket_path(home)).exists()


def test_of_two_stores_with_one_log_the_second_is_told_who_has_it(tmp_path: Path, marked: Marked) -> None:
    log = f'redb_path = "{tmp_path / "shared.redb"}"\n'
    first, second = _made(tmp_path / "first", log), _made(tmp_path / "second", log)
    one, other = _greeted(first, marked), _greeted(second, marked)
    assert _is_stored(one)
    refused = _tracked(other)
    assert refused["isError"]
    assert f"process {places.read_state(first)['pid']}" in refused["content"][0]["text"]
    assert _is_stored(one)
    assert one.close() == 0
    _end_hub(marked, first, signal.SIGTERM)
    assert _is_stored(other)
    assert other.close() == 0
    _end_hub(marked, second, signal.SIGTERM)
    assert _prowess(first, "stats")["steps"] == 3
