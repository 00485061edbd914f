"""A hub as a process: its files, its lock, its log, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from hubkit import Process, connected, hub_in, log_of, process, socket_of

from prowess import __version__
from prowess.server.hub.client import HubGone, ask
from prowess.server.hub.hub import LEAVE_SECONDS
from prowess.server.hub.process import OWNED
from prowess.server.shim import places
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

TRACK = {"task_id": "t", "action": "a"}


def _mode(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


async def test_its_files_are_private_and_say_how_it_is(home: Path) -> None:
    async with process(home) as hub:
        await hub.client()
        state = places.read_state(home)
        assert (state["pid"], state["version"], state["socket"]) == (hub.process.pid, __version__, str(socket_of(home)))
        assert set(state) == {"pid", "version", "protocol", "schema", "socket", "folder", "started"}
        assert (_mode(places.run_folder(home)), _mode(socket_of(home))) == (0o700, 0o600)
        assert {_mode(path) for path in (places.log_file(home), places.state_file(home))} == {0o600}


async def test_it_is_not_taken_for_the_hub_of_a_copy_of_its_folder(home: Path, tmp_path: Path) -> None:
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    async with process(home) as hub:
        peer = await hub.client()
        await peer.call("track_execution", TRACK)  # the store is open, and so its folder is not made anew below
        shutil.copytree(home, copy, ignore=shutil.ignore_patterns("*.sock"))
        with pytest.raises(HubGone):
            await ask(copy, "status")
        os.rename(home, moved)  # noqa: PTH104
        assert (await ask(moved, "status"))["pid"] == hub.process.pid
        os.rename(moved, home)  # noqa: PTH104


async def test_it_serves_where_it_cannot_say_how_it_is(home: Path) -> None:
    os.makedirs(places.state_file(home))  # noqa: PTH103 - stands for a disk that is full
    async with process(home) as hub:
        peer = await hub.client()
        assert not (await peer.call("track_execution", TRACK)).get("isError")
        assert f"{places.state_file(home)} cannot be written: Is a directory" in log_of(home)
        left = os.listdir(places.run_folder(home))  # noqa: PTH208
        assert not [name for name in left if name.startswith("hub.json.")]


async def test_on_sigterm_it_commits_and_leaves_nothing_behind_but_the_store(home: Path) -> None:
    async with process(home) as hub:
        peer = await hub.client()
        await peer.call("track_execution", TRACK)
        hub.process.send_signal(signal.SIGTERM)
        assert await peer.ended()
        assert await hub.wait() == 0
    assert not socket_of(home).exists()
    async with Store.open(home) as store:
        (episode,) = await store.episodes()
        assert episode.steps == 1


async def test_a_second_one_leaves_quietly_and_the_first_goes_on(home: Path) -> None:
    async with process(home) as hub:
        peer = await hub.client()
        second = Process(home)
        try:
            assert await second.wait() == OWNED
            assert second.stderr == ""
        finally:
            second.close()
        assert not (await peer.call("track_execution", TRACK)).get("isError")


async def test_of_those_that_start_at_once_one_serves(home: Path) -> None:
    async with process(home) as one:
        others = [Process(home) for _ in range(2)]
        try:
            peer = await one.peer() if one.process.poll() is None else await others[0].peer()
            assert (await peer.greet())["status"] == "ok"
            running = [hub for hub in (one, *others) if hub.process.pid == places.read_state(home)["pid"]]
            codes = [await hub.wait() for hub in (one, *others) if hub not in running]
            assert (len(running), codes) == (1, [OWNED, OWNED])
        finally:
            for other in others:
                other.close()


async def test_after_a_kill_the_next_one_takes_over_the_socket_and_every_acknowledged_step(home: Path) -> None:
    async with process(home) as hub:
        peer = await hub.client()
        await peer.call("track_execution", TRACK, key="s1:1")
        hub.process.kill()
        await hub.wait()
        assert socket_of(home).exists()
    async with process(home) as hub:
        peer = await hub.client()
        again = await peer.call("track_execution", TRACK, key="s1:1")
        assert again["structuredContent"]["step"] == 1


async def test_its_log_holds_no_payload(home: Path) -> None:
    secret = "the-customers-words"
    async with process(home, 'embedder = "none"\nlog_level = "DEBUG"\n') as hub:
        peer = await hub.client(session=secret, project=secret)
        await peer.call("track_execution", {"task_id": secret, "action": secret, "observation": secret})
        await peer.call("track_execution", {"task_id": {"no": [secret]}, "steps": secret, "number": secret})
        await peer.request("tools/call", {"name": secret, "arguments": secret})
        await peer.request(secret, {})
        await peer.send({"jsonrpc": "2.0", "method": "notifications/" + secret, "params": secret})
        await peer.send(f'{{"broken": "{secret}\n'.encode())
        await peer.receive()
        await peer.call("find_skill", {"query": secret})
        hub.process.terminate()
        assert await hub.wait() == 0
    assert "serves" in log_of(home)
    assert secret not in log_of(home)


@pytest.fixture
def full_log(home: Path) -> Path:
    log = Path(places.log_file(home))
    log.parent.mkdir(parents=True)
    log.write_text("x" * 1_000_000 + "\n")
    return log


async def test_its_log_rotates(home: Path, full_log: Path) -> None:
    async with process(home) as hub:
        await hub.client()
    assert len(log_of(home)) < 10_000
    assert _size(full_log.with_name("hub.log.1")) > 999_999


def _size(path: Path) -> int:
    return path.stat().st_size


async def test_of_an_environment_counts_only_what_the_user_allowed(home: Path) -> None:
    wrong = {"PROWESS_KEEP_DAYS": "for ever", "PROWESS_DAILY_USD": "plenty"}
    async with process(home, **wrong) as hub:
        peer = await hub.client()
        assert not (await peer.call("track_execution", TRACK)).get("isError")
    (home / "allow-env").write_text("PROWESS_DAILY_USD\n")
    async with process(home, **wrong) as hub:
        peer = await hub.client()
        told = await peer.call("track_execution", TRACK)
        assert "PROWESS_DAILY_USD" in told["content"][0]["text"]


async def test_it_leaves_after_an_idle_time(home: Path) -> None:
    async with process(home, 'embedder = "none"\nhub_idle_minutes = 0.01\n') as hub:
        assert await hub.wait() == 0
    assert "idle" in log_of(home)


@pytest.mark.parametrize("spoil", ["home is a file", "logs is a file", "run is a file"])
async def test_where_it_cannot_start_it_says_why(home: Path, spoil: str) -> None:
    _spoil(home, spoil.split()[0])
    hub = Process(home)
    try:
        assert await hub.wait() == 1
        assert hub.stderr.startswith("prowess: ")
        assert "hint:" in hub.stderr
        assert "Traceback" not in hub.stderr
        if spoil == "logs is a file":
            failure = places.read_state(home)["failure"]
            assert (failure["pid"], failure["kind"]) == (hub.process.pid, "start")
    finally:
        hub.close()


def _spoil(home: Path, name: str) -> None:
    home.parent.mkdir(exist_ok=True)
    if name == "home":
        home.write_text("")
    else:
        home.mkdir()
        (home / name).write_text("")


async def test_a_store_of_a_newer_version_is_left_as_it_is(home: Path) -> None:
    async with Store.open(home):
        pass
    before = _renewed(home / "catalog.db")
    async with hub_in(home), connected(home) as peer:
        told = await peer.call("track_execution", TRACK)
    assert told["isError"]
    assert "newer" in told["content"][0]["text"]
    assert (home / "catalog.db").read_bytes() == before


def _renewed(catalog: Path) -> bytes:
    """The bytes of the catalog after a newer version was there."""
    with closing(sqlite3.connect(catalog)) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(migrations)")]
        others = ", ".join(column for column in columns if column != "version")
        database.execute(f"INSERT INTO migrations (version, {others}) SELECT 99, {others} FROM migrations LIMIT 1")
    return catalog.read_bytes()


async def test_it_holds_nothing_of_those_that_started_it(home: Path) -> None:
    async with process(home) as hub:
        await hub.client()
        cwd, stderr = (_link(hub.process.pid, name) for name in ("cwd", "fd/2"))
        assert cwd == Path(places.run_folder(home)).resolve()  # noqa: ASYNC240 - a test has no one else to serve
        assert str(stderr) == os.devnull


def _link(pid: int, name: str) -> Path:
    return Path(f"/proc/{pid}/{name}").readlink()


async def test_ending_takes_no_longer_than_its_bound(home: Path) -> None:
    async with process(home) as hub:
        peer = await hub.client()
        for _ in range(50):
            await peer.ask("tools/call", {"name": "track_execution", "arguments": TRACK})
        hub.process.terminate()
        with anyio.fail_after(LEAVE_SECONDS):
            assert await hub.wait() == 0
