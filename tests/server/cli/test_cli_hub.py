"""Commands while a hub runs and an agent is connected to it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from clikit import Command
from notfiles import KINDS, put_no_file

from prowess.server.cli.exits import Exit
from prowess.server.hub import client
from prowess.server.shim import places
from prowess.server.shim.starter import try_lock

SECONDS = 60.0
EPISODES = [
    {"task_id": name, "task": f"do {name}", "reward": 5, "steps": [{"action": "x", "tool": "x"}, {"action": "y"}]}
    for name in ("a", "b", "c")
]


class Agent:
    """A client that stays connected."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SECONDS)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rwb")
        hello = {"protocol": 1, "kind": "shim", "version": "0.1.0", "session": "agent-1", "project": "shop"}
        assert self.ask({"prowess": hello})["prowess"]["status"] == "ok"

    def ask(self, message: Any) -> Any:
        self._lines.write(json.dumps(message).encode() + b"\n")
        self._lines.flush()
        return json.loads(self._lines.readline())

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture
def hub(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A hub over ``home``, as soon as it serves."""
    home.mkdir()
    (home / "config.toml").write_text('embedder = "none"\n')
    process = serving(home)
    yield process
    process.kill()
    process.wait(SECONDS)


def serving(home: Path) -> subprocess.Popen[bytes]:
    """A hub, as soon as it serves: it lets go of stderr then."""
    command = [sys.executable, "-I", "-m", "prowess.server.hub", "--home", str(home)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    with process.stderr as said:
        assert said.read() == b""
    return process


@pytest.fixture
def agent(hub: subprocess.Popen[bytes], home: Path) -> Iterator[Agent]:
    made = Agent(places.socket_path(home))
    yield made
    made.close()


def test_every_command_works_beside_an_agent(agent: Agent, prowess: Command, tmp_path: Path) -> None:
    lines = tmp_path / "past.jsonl"
    lines.write_text("".join(json.dumps(episode) + "\n" for episode in EPISODES))
    assert prowess("import", "jsonl", lines, "--project", "shop", "--json").json["episodes"] == 3
    assert len(prowess("episodes", "list", "--json").json) == 3
    assert prowess("episodes", "show", "a", "--json").json["rewards"][0]["value"] == 5
    assert prowess("reflect", "--project", "shop", "--json").json["patterns"]
    assert prowess("evolve", "--project", "shop", "--json").code == Exit.OK
    (skill,) = prowess("skills", "list", "--json").json
    assert prowess("skills", "pin", skill["name"]).code == Exit.OK
    assert prowess("skills", "show", skill["name"], "--json").json["pinned"] is True
    assert "skills" in prowess("find", "do a", "--project", "shop", "--json").json
    assert prowess("stats", "--json").json["episodes"] == 3
    assert prowess("backup", tmp_path / "copy").code == Exit.OK
    assert prowess("rebuild", "--json").json["episodes"] == 3
    assert prowess("forget", "--task-id", "b", "--yes", "--json").json["episodes"] == 1
    assert prowess("episodes", "show", "b").code == Exit.NOT_FOUND
    assert agent.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})["id"] == 1


def test_the_overview_tells_of_hub_and_store(agent: Agent, hub: subprocess.Popen[bytes], prowess: Command) -> None:
    told = prowess("status", "--json")
    assert told.code == Exit.OK
    said = told.json
    assert (said["hub"]["state"], said["hub"]["pid"], said["hub"]["clients"]) == ("serving", hub.pid, 1)
    assert (said["store"]["state"], said["store"]["episodes"]) == ("open", 0)
    assert (said["sync"]["state"], said["http"]) == ("off", [])
    assert f"serving, process {hub.pid}" in prowess("status").out


def test_the_status_names_the_hub_and_its_clients(
    agent: Agent, hub: subprocess.Popen[bytes], home: Path, prowess: Command
) -> None:
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "an agent", "version": "1"}}
    agent.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info})
    told = prowess("hub", "status", "--json").json
    assert (told["running"], told["pid"], told["state"], told["work"]) == (True, hub.pid, "serving", [])
    assert told["socket"] == places.socket_path(home)
    assert {"version", "protocol", "schema", "started", "uptime_seconds", "store"} <= set(told)
    (client,) = told["clients"]
    assert (client["name"], client["session"], client["project"], client["calls"]) == ("an agent", "agent-1", "shop", 0)
    shown = prowess("hub", "status")
    assert shown.code == Exit.OK
    assert "an agent" in shown.out


def test_restoring_waits_for_nobody_but_sends_an_idle_hub_away(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command, tmp_path: Path
) -> None:
    assert prowess("backup", tmp_path / "copy").code == Exit.OK
    with closing(Agent(places.socket_path(home))):
        refused = prowess("restore", tmp_path / "copy", "--yes")
    assert refused.code == Exit.IN_USE
    assert "prowess hub stop" in refused.err
    while prowess("hub", "status", "--json").json["clients"]:
        pass
    assert prowess("restore", tmp_path / "copy", "--yes").code == Exit.OK
    assert hub.wait(SECONDS) == 0


def test_stop_ends_the_hub_and_the_commands_go_on_by_themselves(
    agent: Agent, hub: subprocess.Popen[bytes], prowess: Command
) -> None:
    assert prowess("hub", "stop", "--json").json == {"stopped": True}
    assert hub.wait(SECONDS) == 0
    assert prowess("stats").code == Exit.OK
    assert prowess("hub", "stop", "--json").json == {"stopped": False}
    ended = prowess("hub", "status", "--json")
    assert (ended.code, ended.json) == (Exit.NOT_FOUND, {"running": False})


def test_stop_asks_the_one_that_stood_in_line_as_well(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hooks that run at once may each start a hub: the second serves as soon as the first has left."""
    second: list[subprocess.Popen[bytes]] = []
    ask = client.ask

    async def asked(home: Path, command: str) -> dict[str, Any]:
        told = await ask(home, command)
        if not second:
            assert hub.wait(SECONDS) == 0
            second.append(serving(home))
        return told

    monkeypatch.setattr(client, "ask", asked)
    try:
        assert prowess("hub", "stop", "--json").json == {"stopped": True}
        assert second[0].wait(SECONDS) == 0
        assert Path(places.log_file(home)).read_text().count("leaving: stopped by a person") == 2
    finally:
        for process in second:
            process.kill()


def test_start_starts_a_hub_and_is_content_with_one_that_runs(home: Path, prowess: Command) -> None:
    home.mkdir()
    (home / "config.toml").write_text('embedder = "none"\n')
    try:
        first = prowess("hub", "start", "--json")
        assert (first.code, first.json["started"], first.json["home"]) == (Exit.OK, True, str(home))
        assert first.json["sync"]["state"] == "off"
        assert prowess("hub", "status", "--json").json["pid"] == first.json["pid"]
        told = [line.split(maxsplit=1) for line in prowess("hub", "status").out.splitlines()]
        assert told[-2:] == [["http", "not served"], ["clients", "none"]]
        again = prowess("hub", "start")
        assert again.out.startswith(f"a hub runs already: process {first.json['pid']}, ")
    finally:
        assert prowess("hub", "stop", "--json").json == {"stopped": True}


def test_restart_puts_another_hub_in_the_place_of_the_one_that_runs(home: Path, prowess: Command) -> None:
    home.mkdir()
    first = prowess("hub", "restart", "--json").json
    second = prowess("hub", "restart", "--json").json
    try:
        assert [(told["stopped"], told["started"]) for told in (first, second)] == [(False, True), (True, True)]
        assert first["pid"] != second["pid"] == prowess("hub", "status", "--json").json["pid"]
    finally:
        assert prowess("hub", "stop").code == Exit.OK


def test_start_tells_why_there_is_no_hub(home: Path, prowess: Command) -> None:
    home.mkdir()
    (home / "run").write_text("in the way")
    refused = prowess("hub", "start")
    assert refused.code != Exit.OK
    assert "run" in refused.err
    assert "hint:" in refused.err


def test_stop_ends_a_hub_that_hangs(
    hub: subprocess.Popen[bytes], prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.hub.TERM_SECONDS", 0.2)
    os.kill(hub.pid, signal.SIGSTOP)
    assert prowess("hub", "stop", "--json").json == {"stopped": True}
    assert hub.wait(SECONDS) == -signal.SIGKILL


def test_a_hub_that_hangs_is_ended_also_where_nobody_can_connect_any_more(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.hub.TERM_SECONDS", 0.2)
    os.kill(hub.pid, signal.SIGSTOP)
    with ExitStack() as waiting:
        with suppress(BlockingIOError):
            while True:  # as hooks do, until the queue is full
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(places.socket_path(home))
        told = prowess("hub", "status")
        assert (told.code, told.err.splitlines()[0]) == (1, "error: the hub did not answer within 0.2 seconds")
        assert prowess("hub", "stop", "--json").json == {"stopped": True}
    assert hub.wait(SECONDS) == -signal.SIGKILL


def test_the_status_of_a_hub_that_hangs_waits_for_it_once(
    hub: subprocess.Popen[bytes], prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.status.open_store", None)  # the hub has it, and would be asked again
    os.kill(hub.pid, signal.SIGSTOP)
    told = prowess("status", "--json").json
    assert told["hub"]["state"] == "unknown"
    assert told["hub"]["reason"].startswith("the hub did not answer within 0.2 seconds (`prowess hub logs`")
    assert told["store"]["state"] == "unknown"
    assert told["store"]["reason"] == "its hub has it, and does not answer"
    assert told["learning"] is None
    text = prowess("status")
    assert (text.code, text.err) == (0, "")
    os.kill(hub.pid, signal.SIGCONT)


def test_the_doctor_of_a_hub_that_hangs_waits_for_it_once(
    hub: subprocess.Popen[bytes], prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.doctor.examination._store", None)  # the hub has it, and would be asked again
    os.kill(hub.pid, signal.SIGSTOP)
    found = {each["check"]: each for each in prowess("doctor", "--json").json["findings"]}
    os.kill(hub.pid, signal.SIGCONT)
    assert (found["hub"]["state"], found["store"]["state"], found["sync"]["state"]) == ("fail", "warn", "ok")
    assert found["store"]["said"] == "not looked into: its hub has it, and does not answer"


def test_a_hub_is_stopped_and_its_logs_are_read_where_the_settings_make_no_sense(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command
) -> None:
    (home / "config.toml").write_text("keep_days = [")
    assert "serves" in prowess("hub", "logs").out
    assert prowess("hub", "stop", "--json").json == {"stopped": True}
    assert hub.wait(SECONDS) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_logs_that_are_no_file_are_passed_over(home: Path, prowess: Command, kind: str) -> None:
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "hub.log").write_text("a line\n")
    old = home / "logs" / "hub.log.1"
    put_no_file(kind, old)
    assert prowess("hub", "logs").out == "a line\n"


def test_stop_ends_the_hub_of_its_store_whatever_process_another_file_names(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.hub.TERM_SECONDS", 0.2)
    other = subprocess.Popen([sys.executable, "-c", "input()", "prowess.server.hub"], stdin=subprocess.PIPE)
    try:
        Path(places.state_file(home)).write_text(json.dumps({"pid": other.pid}))
        os.kill(hub.pid, signal.SIGSTOP)
        assert prowess("hub", "stop", "--json").json == {"stopped": True}
        assert hub.wait(SECONDS) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell which files a process has open")
@pytest.mark.parametrize("signed", ["", "1 of-another-start\n"])
def test_stop_ends_a_hub_that_hangs_although_its_version_does_not_sign_the_lock(
    hub: subprocess.Popen[bytes], home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch, signed: str
) -> None:
    monkeypatch.setattr("prowess.server.hub.client.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.hub.TERM_SECONDS", 0.2)
    Path(places.hub_lock(home)).write_text(signed)  # by nobody, or by one before it
    os.kill(hub.pid, signal.SIGSTOP)
    assert prowess("hub", "stop", "--json").json == {"stopped": True}
    assert hub.wait(SECONDS) == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell two processes of one number apart")
def test_stop_ends_no_process_that_is_not_proven_to_have_the_lock(
    home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.cli.hub.START_SECONDS", 0.2)
    monkeypatch.setattr("prowess.server.cli.hub.TERM_SECONDS", 0.2)
    places.make_run_folder(home)
    other = subprocess.Popen([sys.executable, "-c", "input()", "prowess.server.hub"], stdin=subprocess.PIPE)
    try:
        with Path(places.hub_lock(home)).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.write(f"{other.pid} of-another-start\n")  # left by a hub that had this number once
            held.flush()
            refused = prowess("hub", "stop")
        assert refused.code == Exit.IN_USE
        assert places.hub_lock(home) in refused.err
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_the_log_is_shown_from_its_end(hub: subprocess.Popen[bytes], home: Path, prowess: Command) -> None:
    (line,) = prowess("hub", "logs", "-n", "1", "--json").json["lines"]
    assert f"serves {home}" in line
    assert prowess("hub", "logs").out.strip().endswith(line)


def test_without_a_log_there_is_nothing_to_show(prowess: Command) -> None:
    assert prowess("hub", "logs").code == Exit.NOT_FOUND


def test_another_log_than_the_hubs_is_told(
    agent: Agent, prowess: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REDB_PATH", str(tmp_path / "other.redb"))
    (tmp_path / "other.redb").touch()
    refused = prowess("stats")
    assert refused.code == Exit.IN_USE
    assert "config.toml" in refused.err


def test_the_doctor_looks_into_the_store_through_the_hub(agent: Agent, prowess: Command) -> None:
    assert prowess("stats").code == Exit.OK  # which waits until the store is open
    findings = {finding["check"]: finding for finding in prowess("doctor", "--json").json["findings"]}
    assert "1 client" in findings["hub"]["said"]
    assert findings["store"]["said"].startswith("0 episodes")


def test_the_doctor_names_what_the_hub_does_not_go_by(
    home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_MODEL", "mine")
    monkeypatch.setenv("PROWESS_EMBEDDER", "")
    assert _said(prowess) == ("warn", "the hub does not go by PROWESS_MODEL of this environment")
    config, allowed = home / "config.toml", home / "allow-env"
    assert _environment(prowess)["mend"] == f"write it into {config}, or its name into {allowed}"
    with monkeypatch.context() as more:
        more.setenv("PROWESS_DAILY_USD", "2")
        assert _environment(prowess)["mend"] == f"write them into {config}, or their names into {allowed}"
    home.mkdir()
    (home / "allow-env").write_text("PROWESS_MODEL\n")
    assert _said(prowess)[0] == "ok"


def _said(prowess: Command) -> tuple[str, str]:
    found = _environment(prowess)
    return found["state"], found["said"]


def _environment(prowess: Command) -> dict[str, str]:
    (found,) = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "environment"]
    return dict(found)


def test_a_hub_that_neither_starts_nor_leaves_is_told_within_a_bound(
    prowess: Command, home: Path, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.cli.session.HUB_SECONDS", 0.3)
    places.make_run_folder(home)
    held = try_lock(places.hub_lock(home))
    try:
        told = prowess("stats")
    finally:
        os.close(held)
    assert told.code == Exit.FAILED
    assert told.err.startswith("error: a hub that starts or leaves did neither within 0.3 s\nhint: `prowess hub stop`")
