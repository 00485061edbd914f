"""On every failure path the shim's stdout holds protocol lines alone, and the client is told the reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import prowess.server.shim
from prowess.server.shim import places

SECONDS = 60.0
SHIM = str(Path(prowess.server.shim.__file__).with_name("__main__.py"))
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "purity", "version": "1"}}
TRACK = {"name": "track_execution", "arguments": {"task_id": "t", "action": "a"}}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no hub there")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    yield home
    _end_hub(home)


def _end_hub(home: Path) -> None:
    pid = places.read_state(home).get("pid")
    if not isinstance(pid, int):
        return
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    pause = threading.Event()
    for _ in range(1000):
        if not _is_hub(pid):
            return
        pause.wait(0.01)
    os.kill(pid, signal.SIGKILL)


def _is_hub(pid: int) -> bool:
    try:
        return b"prowess.server.hub" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _configure(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('embedder = "none"\n')


def _converse(home: Path, messages: Sequence[Any], python: str = sys.executable) -> tuple[list[Any], str]:
    """Send everything and end the input. Returns what came, each line checked to be of the protocol, and stderr."""
    said = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    done = subprocess.run(
        [python, "-I", "-S", SHIM, "--store", str(home)], input=said, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0
    assert done.stdout.endswith(b"\n")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(message["jsonrpc"] == "2.0" and {"result", "error"} & set(message) for message in told)
    # Calls of one session run side by side, so their answers come in any order.
    return sorted(told, key=lambda message: message["id"]), done.stderr.decode()


def _session(*calls: Any) -> list[Any]:
    messages: list[Any] = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]
    messages += [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    return messages + [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number, params in enumerate(calls, start=1)
    ]


def _refused(home: Path, *reasons: str, python: str = sys.executable) -> str:
    """The whole session is answered with errors that name the reason; it is on stderr, too. Returns the hint."""
    told, stderr = _converse(home, _session(TRACK), python)
    assert [message["id"] for message in told] == [0, 1]
    for message in told:
        data = message["error"]["data"]
        assert all(reason in data["reason"] for reason in reasons), data
        assert data["hint"]
        assert message["error"]["message"] == f"{data['reason']}\nhint: {data['hint']}"
        assert f"prowess: {data['reason']}\nhint: {data['hint']}\n" in stderr
    return str(told[0]["error"]["data"]["hint"])


def _tool_refused(home: Path, *reasons: str) -> None:
    """The handshake is answered; the call is told the reason, and the hub's log has it."""
    told, stderr = _converse(home, _session(TRACK))
    assert (told[0]["id"], told[0]["result"]["serverInfo"]["name"]) == (0, "prowess")
    assert told[1]["id"] == 1
    text = json.dumps(told[1], ensure_ascii=False)
    assert all(reason in text for reason in reasons), text
    assert told[1].get("error") or told[1]["result"]["isError"]
    assert "Traceback" not in text + stderr
    log = Path(places.log_file(home)).read_text()
    assert any(reason in log for reason in reasons), log


def test_a_session_that_works(home: Path) -> None:
    _configure(home)
    told, stderr = _converse(home, _session(TRACK, TRACK))
    assert [message["id"] for message in told] == [0, 1, 2]
    assert told[1]["result"]["structuredContent"]["receipt"] == "committed"
    assert stderr == ""


def test_a_home_that_is_a_file(home: Path) -> None:
    home.write_text("not a folder")
    assert "--store" in _refused(home, str(home / "run"))
    home.unlink()


def test_a_run_folder_that_cannot_be_made(home: Path) -> None:
    home.mkdir()
    (home / "run").write_text("not a folder")
    _refused(home, str(home / "run"))


def test_a_hub_that_ends_at_start(home: Path) -> None:
    _configure(home)
    (home / "logs").write_text("not a folder")
    _refused(home, "the log cannot be written")


def test_a_program_that_cannot_be_imported(home: Path) -> None:
    bare = os.path.realpath(sys.executable)
    if subprocess.run([bare, "-I", "-c", "import prowess"], capture_output=True, check=False).returncode == 0:
        pytest.skip("the interpreter itself has prowess: no environment without it")
    _refused(home, "the hub ended while it started", "No module named", python=bare)


def test_a_damaged_store(home: Path) -> None:
    _configure(home)
    (home / "log.redb").write_bytes(b"this is no database" * 1000)
    _tool_refused(home, "log.redb")


def test_a_config_file_that_is_no_toml(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("embedder = = none\n")
    _tool_refused(home, "config.toml")


def test_a_setting_that_makes_no_sense(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('embedder = "none"\ndaily_usd = "a lot"\n')
    _tool_refused(home, "daily_usd")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no file system can be mounted here")
    try:
        yield disk
    finally:
        _end_hub(disk / "home")
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_is_full_at_start(small_disk: Path) -> None:
    home = small_disk / "home"
    _configure(home)
    _fill(small_disk)
    told, _ = _converse(home, _session(TRACK))
    answer = json.dumps(told[-1])
    assert told[-1].get("error") or told[-1]["result"]["isError"]
    assert "No space left" in answer or "full" in answer


def test_a_disk_that_fills_up_while_agents_work(small_disk: Path) -> None:
    home = small_disk / "home"
    _configure(home)
    told, _ = _converse(home, _session(TRACK))
    assert told[1]["result"]["structuredContent"]["receipt"] == "committed"
    _fill(small_disk)
    large = {"name": "track_execution", "arguments": {"task_id": "t", "steps": _steps()}}
    told, _ = _converse(home, _session(*[large] * 3))
    assert [message["id"] for message in told] == [0, 1, 2, 3]
    assert any(message.get("error") or message["result"]["isError"] for message in told[1:])
    (small_disk / "filler").unlink()
    told, _ = _converse(home, _session(TRACK))
    assert told[1]["result"]["structuredContent"]["receipt"] == "committed"


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return


def _steps() -> list[dict[str, str]]:
    # Random, so that compression does not make it fit.
    return [{"action": "read", "observation": os.urandom(50_000).hex()} for _ in range(10)]


def test_a_hub_that_is_killed_in_the_middle(home: Path) -> None:
    _configure(home)
    _converse(home, _session())
    os.kill(places.read_state(home)["pid"], signal.SIGKILL)
    told, _ = _converse(home, _session(TRACK))
    assert told[1]["result"]["structuredContent"]["receipt"] == "committed"
