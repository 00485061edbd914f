"""A hub in which redb cannot go on gives way to a new one, but not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import redb
from clikit import run
from hubkit import Peer, connected, hub_in, socket_of, until

from prowess.server.hub import hub as hubs
from prowess.server.hub.hub import Hub
from prowess.server.hub.renewal import DAY_SECONDS, FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS, Renewal, read_renewals
from prowess.server.shim import places

pytestmark = pytest.mark.anyio

TRACK = {"task_id": "t", "action": "a"}
SAID = "redb found the file damaged: internal error: entered unreachable code"


class _Broken:
    """A database that redb broke off in."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def begin_read(self) -> Any:
        raise redb.Corrupted(SAID)

    begin_write = begin_read

    def close(self) -> None:
        self._whole.close()


async def _break(hub: Hub) -> None:
    file = (await hub.opening.opened()).store._engine.file
    file._database = _Broken(file._database)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "WATCH_SECONDS", 0.02)


async def test_the_next_hub_takes_what_this_one_could_not(home: Path) -> None:
    async with hub_in(home) as hub, connected(home) as peer:
        await _break(hub)
        answer = await peer.call("track_execution", TRACK)
        assert answer["isError"]
        assert "try again soon" in str(answer["content"])
        assert await peer.ended()
    async with hub_in(home) as hub, connected(home) as peer:
        assert not (await peer.call("track_execution", TRACK)).get("isError")
        assert hub.describe()["trouble"] == ""


async def test_one_that_fails_again_soon_stays_and_tells_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for turn in range(2):
        async with hub_in(home) as hub, connected(home) as peer:
            await _break(hub)
            assert (await peer.call("track_execution", TRACK))["isError"]
            if turn == 0:
                assert await peer.ended()
                continue
            await until(lambda hub=hub: bool(hub.describe()["trouble"]))
            told = hub.describe()
            assert told["state"] == "serving"
            assert str(told["trouble"]).startswith(
                "redb found the log damaged: internal error: entered unreachable code; a new hub opens it anew in "
            )
            page = await anyio.to_thread.run_sync(lambda: run(capsys, "status", "--store", home))
            assert "redb found the log damaged" in page.out
            async with await anyio.connect_unix(socket_of(home)) as stream:
                assert (await Peer(stream).greet(session="s2"))["status"] == "ok"


class _Moments:
    """A hub's looks at times that the test chooses, each hub with a log that is damaged."""

    def __init__(self, home: Path) -> None:
        places.make_run_folder(home)
        self.home = home
        self.now = 1_000_000.0

    def left_after(self, seconds: float) -> bool:
        self.now += seconds
        return Renewal(self.home, lambda: SAID, lambda: self.now).is_time()


def test_each_hub_of_a_day_waits_longer_than_the_one_before(tmp_path: Path) -> None:
    moments = _Moments(tmp_path)
    assert moments.left_after(0)
    pause = FIRST_PAUSE_SECONDS
    for _ in range(8):
        assert not moments.left_after(pause - 1)
        assert moments.left_after(1)
        pause *= 2
    assert len(read_renewals(tmp_path, moments.now).times) == 9
    assert pause < LAST_PAUSE_SECONDS
    assert not moments.left_after(pause - 1)
    assert read_renewals(tmp_path, moments.now + DAY_SECONDS).times == ()


def test_without_a_note_of_it_no_hub_leaves(tmp_path: Path) -> None:
    moments = _Moments(tmp_path)
    note = Path(places.run_folder(tmp_path), "renewals.json")
    note.mkdir()
    renewal = Renewal(tmp_path, lambda: SAID, lambda: moments.now)
    assert not renewal.is_time()
    assert renewal.trouble.endswith(f"; a new hub opens it anew once {note} can be written: Is a directory")
    note.rmdir()
    assert renewal.is_time()
    assert renewal.trouble.endswith("; a new hub opens it anew now")


def test_a_note_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    moments = _Moments(tmp_path)
    Path(places.run_folder(tmp_path), "renewals.json").write_bytes(b'{"times": [1, "x"]}')
    assert moments.left_after(0)
    assert read_renewals(tmp_path, moments.now).reason == (
        "redb found the log damaged: internal error: entered unreachable code"
    )
