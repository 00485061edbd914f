"""How a shim comes to a hub where none is: who starts it, what it inherits, and what the client is told if it fails."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shimkit import SECONDS, SHIM_PARENT, Shim, fake_hub, initialize, is_running, terminate, until

from prowess.server.shim import link, places
from prowess.server.shim.starter import Starter

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes through /proc")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    yield home
    for start in _starts(home):
        terminate(start["pid"])


def _starts(home: Path) -> list[dict[str, Any]]:
    path = home / "run" / "started.json"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _asked(shim: Shim, request_id: int | str = 1) -> dict[str, Any]:
    shim.request(request_id, "ping")
    answer = shim.receive()
    assert answer["id"] == request_id
    return dict(answer)


def _shake(shim: Shim) -> int:
    shim.request(0, "initialize", **initialize)
    pid = shim.receive()["result"]["pid"]
    shim.notify("notifications/initialized")
    return int(pid)


def _told(answer: dict[str, Any]) -> tuple[str, str]:
    assert answer["error"]["code"] == -32000
    return answer["error"]["data"]["reason"], answer["error"]["data"]["hint"]


def test_a_hub_is_started_where_none_is_and_outlives_the_shim(home: Path) -> None:
    with Shim(home, hub=fake_hub(home)) as shim:
        pid = _shake(shim)
        shim.stdin.close()
        assert shim.ends() == 0
        assert shim.stderr == ""
    assert is_running(pid)
    with Shim(home, hub=fake_hub(home)) as shim:
        assert _shake(shim) == pid
        shim.process.kill()
    assert is_running(pid)
    assert len(_starts(home)) == 1


def test_a_started_hub_inherits_nothing_but_the_place(home: Path) -> None:
    hostile = {
        "ANTHROPIC_BASE_URL": "http://elsewhere",
        "REDB_PATH": "/elsewhere",
        "PROWESS_MODEL": "mine",
        "X": "kept",
    }
    home.mkdir()
    (home / "allow-env").write_text("PROWESS_MODEL\n")
    kept, other = os.pipe()
    os.set_inheritable(kept, True)
    try:
        with Shim(home, hub=fake_hub(home), environ=hostile) as shim:
            _shake(shim)
            shim_pid = shim.process.pid
    finally:
        os.close(kept)
        os.close(other)
    (start,) = _starts(home)
    assert start["session"] not in (os.getsid(0), shim_pid)
    assert start["parent"] not in (os.getpid(), shim_pid)
    assert start["cwd"] == str(home / "run")
    assert {number: start["descriptors"][number] for number in "012"} == {
        "0": os.devnull,
        "1": os.devnull,
        "2": str(home / "run" / "hub.err"),
    }
    assert len(start["descriptors"]) == 3
    assert not {"ANTHROPIC_BASE_URL", "REDB_PATH"} & set(start["environment"])
    assert (start["environment"]["PROWESS_MODEL"], start["environment"]["X"]) == ("mine", "kept")


def test_the_folder_of_the_socket_is_for_its_user_alone(home: Path) -> None:
    (home / "run").mkdir(parents=True, mode=0o755)
    (home / "run").chmod(0o755)
    with Shim(home, hub=fake_hub(home)) as shim:
        _shake(shim)
    assert (home / "run").stat().st_mode & 0o777 == 0o700


def test_a_socket_without_a_hub_and_a_dead_pid_are_no_problem(home: Path) -> None:
    places.make_run_folder(home)
    left = socket.socket(socket.AF_UNIX)
    left.bind(places.socket_path(home))
    left.close()
    (home / "run" / "hub.json").write_text('{"pid": 4194304, "socket": "/nowhere"}')
    (home / "run" / "hub.lock").touch()
    with Shim(home, hub=fake_hub(home)) as shim:
        assert "result" in _asked(shim)


def test_many_starters_at_once_get_one_hub(home: Path) -> None:
    shims = [Shim(home, hub=fake_hub(home)) for _ in range(6)]
    try:
        for shim in shims:
            shim.request(1, "ping")
        pids = {shim.receive()["result"]["pid"] for shim in shims}
    finally:
        for shim in shims:
            shim.__exit__(None, None, None)
    assert len(pids) == 1
    assert len(_starts(home)) == 1


def test_a_hub_that_ends_as_it_starts_is_told_with_its_last_words(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "dies")) as shim:
        reason, hint = _told(_asked(shim))
        assert reason == "the hub ended while it started: ModuleNotFoundError: No module named 'mcp'"
        assert str(home / "logs" / "hub.log") in hint
        shim.stdin.close()
        assert shim.ends() == 0
        assert f"prowess: {reason}\nhint: " in shim.stderr
    assert len(_starts(home)) == 1


def test_after_a_failure_the_session_goes_on_and_a_later_request_tries_again(home: Path, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    script = "import os, sys; os.path.exists(sys.argv[1]) or sys.exit(5); os.execv(sys.argv[2], sys.argv[2:])"
    echo = fake_hub(home)
    with Shim(home, hub=[echo[0], "-I", "-S", "-c", script, str(mended), *echo]) as shim:
        assert _told(_asked(shim, "first"))[0] == "the hub ended while it started: it said nothing"
        mended.touch()
        with until("a request that is tried") as late:
            while "error" in _asked(shim, "later") and not late.wait(0.02):
                pass


def test_a_hub_that_is_killed_as_it_starts_is_started_once_more(home: Path, tmp_path: Path) -> None:
    met = tmp_path / "met"
    script = "import os, sys; os.path.exists(sys.argv[1]) and os.execv(sys.argv[2], sys.argv[2:])"
    script += "; open(sys.argv[1], 'w').close(); os.kill(os.getpid(), 9)"
    echo = fake_hub(home)
    with Shim(home, hub=[echo[0], "-I", "-S", "-c", script, str(met), *echo], first_back_off=60.0) as shim:
        assert "result" in _asked(shim)
    assert len(_starts(home)) == 1


def test_between_two_tries_there_is_a_pause(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "dies"), first_back_off=60.0, last_back_off=60.0) as shim:
        for request_id in range(5):
            _told(_asked(shim, request_id))
    assert len(_starts(home)) == 1


def test_a_hub_that_never_listens_is_given_up_within_a_bound(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "mute"), start=1.0) as shim:
        reason, hint = _told(_asked(shim))
    (start,) = _starts(home)
    assert reason == f"the hub (pid {start['pid']}) did not answer within 1 s"
    assert "prowess hub stop" in hint


def test_a_hub_that_never_answers_is_given_up_within_a_bound(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "deaf"), hello=0.5) as shim:
        assert "did not answer" in _told(_asked(shim))[0]
    assert len(_starts(home)) == 1


def test_a_hub_that_ends_at_each_request_costs_that_request_only(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "flaky")) as shim:
        assert "ended twice" in _told(_asked(shim, "poison"))[0]
        assert len(_starts(home)) == 2
        assert "ended twice" in _told(_asked(shim, "again"))[0]


def test_a_program_that_is_older_than_the_shim_is_started_once_and_told(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "older"), first_back_off=60.0, last_back_off=60.0) as shim:
        reason, hint = _told(_asked(shim))
    assert reason == "a newer one is here"
    assert "has an older prowess than this shim" in hint
    assert len(_starts(home)) == 1


def test_a_killed_hub_costs_one_slower_call(home: Path) -> None:
    with Shim(home, hub=fake_hub(home)) as shim:
        first = _shake(shim)
        assert _asked(shim, 1)["result"]["pid"] == first
        os.kill(first, signal.SIGKILL)
        second = _asked(shim, 2)["result"]["pid"]
        assert second != first
        assert shim.silent()
    assert len(_starts(home)) == 2


def test_a_hub_that_left_is_not_started_again_before_it_is_needed(home: Path) -> None:
    with Shim(home, hub=fake_hub(home)) as shim:
        first = _shake(shim)
        terminate(first)
        shim.stdin.close()
        assert shim.ends() == 0
    assert len(_starts(home)) == 1


def test_all_shims_of_a_killed_hub_meet_at_one_new_hub(home: Path) -> None:
    shims = [Shim(home, hub=fake_hub(home)) for _ in range(4)]
    try:
        pids = {_shake(shim) for shim in shims}
        os.kill(*pids, signal.SIGKILL)
        for shim in shims:
            shim.request("after", "ping")
        after = {shim.receive()["result"]["pid"] for shim in shims}
    finally:
        for shim in shims:
            shim.__exit__(None, None, None)
    assert len(after) == 1
    assert not after & pids


def test_while_a_hub_leaves_none_is_started(home: Path) -> None:
    places.make_run_folder(home)
    lock = os.open(places.hub_lock(home), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with Shim(home, hub=fake_hub(home)) as shim:
        shim.request(1, "ping")
        with until("the shim waiting with the start lock") as late:
            while not _is_locked(Path(places.start_lock(home / "log.redb"))) and not late.wait(0.01):
                pass
        assert _starts(home) == []
        os.close(lock)
        assert "result" in shim.receive()


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_store_owned_by_a_hub_that_hangs_is_told_within_a_bound(home: Path) -> None:
    places.make_run_folder(home)
    with Path(places.hub_lock(home)).open("w") as lock, Shim(home, hub=fake_hub(home), leave=0.5) as shim:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "did not answer within 0.5 s" in _told(_asked(shim))[0]
    assert _starts(home) == []


def test_a_process_that_starts_a_hub_and_gets_nowhere_is_told_within_a_bound(home: Path) -> None:
    places.make_run_folder(home)
    Path(places.state_file(home)).write_text('{"pid": 1}')  # of a hub that is gone
    first = Starter(str(home), {})
    first.take_lock()
    try:
        with Shim(home, hub=fake_hub(home), start=0.5) as shim:
            reason, hint = _told(_asked(shim))
    finally:
        first.release()
    assert reason == f"another process (pid {os.getpid()}) that starts a hub got nowhere in 0.5 s"
    assert hint == f"Let it go on, or end it: it has {home.resolve() / 'log.redb.start'} locked."
    assert _starts(home) == []


def test_no_process_is_named_that_is_gone(home: Path) -> None:
    places.make_run_folder(home)
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", "import os; print(os.getpid())"], capture_output=True)
    Path(places.state_file(home)).write_text(f'{{"pid": {int(ended.stdout)}}}')
    with Path(places.hub_lock(home)).open("w") as lock, Shim(home, hub=fake_hub(home), leave=0.5) as shim:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert _told(_asked(shim))[0] == "the hub did not answer within 0.5 s"


def test_a_program_that_is_not_there_is_told(home: Path) -> None:
    with Shim(home, hub=["/nowhere/python"]) as shim:
        assert "No such file" in _told(_asked(shim))[0]


def test_a_home_that_is_a_file_is_told(home: Path) -> None:
    home.write_text("")
    with Shim(home, hub=fake_hub(home)) as shim:
        reason, hint = _told(_asked(shim))
        assert str(home / "run") in reason
        assert "--store" in hint
    home.unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_home_that_may_not_be_written_is_told(home: Path) -> None:
    home.mkdir(mode=0o500)
    with Shim(home, hub=fake_hub(home)) as shim:
        assert "Permission denied" in _told(_asked(shim))[0]
    home.chmod(0o700)


def test_a_run_folder_that_is_a_link_elsewhere_is_not_used(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (home / "run").symlink_to(tmp_path / "elsewhere")
    with Shim(home, hub=fake_hub(home)) as shim:
        assert "is not a folder of yours" in _told(_asked(shim))[0]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_where_no_socket_can_be_had_the_store_is_opened_for_this_client_alone(home: Path) -> None:
    with Shim(home, hub=fake_hub(home, "lone"), environ={"PROWESS_EMBEDDER": "none"}) as shim:
        shim.request(1, "initialize", **initialize)
        assert shim.receive()["result"]["serverInfo"]["name"] == "prowess"
        shim.notify("notifications/initialized")
        shim.request(2, "tools/call", name="track_execution", arguments={"task_id": "t", "action": "a"})
        answer = shim.receive()["result"]
        assert not answer["isError"], answer
        assert answer["structuredContent"]["receipt"] == "committed"
        shim.stdin.close()
        assert shim.ends() == 0
        assert "prowess: warning: no sockets on this file system" in shim.stderr
    assert (home / "log.redb").exists()


def test_a_path_too_long_for_a_socket_has_its_socket_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 30)
    path = Path(places.socket_path(home))
    assert len(str(path)) <= 100
    from shimkit import Hub

    with Hub(home) as hub, Shim(home) as shim:
        link = hub.accept()
        shim.request(1, "ping")
        assert link.receive()["id"] == 1
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_input_that_ends_before_anything_was_asked_starts_no_hub(tmp_path: Path) -> None:
    code = f"import sys; sys.path.append({SHIM_PARENT!r}); import shim; sys.exit(shim.main(['--store', sys.argv[1]]))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "store")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout == b""
    assert b"`prowess hub start`" in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_folder_that_is_closed_to_this_user_is_told_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> socket.socket:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(link, "connect", refused)
    way = link.Link(str(tmp_path), {}, "s", link.Limits())
    way.want(0.0)
    assert way.failure is not None
    assert way.failure.reason.endswith("hub.sock: Permission denied")
    assert "`prowess doctor` tells what in it is closed to you" in way.failure.hint


def test_a_bound_that_is_none_is_refused() -> None:
    assert link.Limits(start=1.0).start == 1.0
    with pytest.raises(TypeError, match="strat is no bound"):
        link.Limits(strat=1.0)
