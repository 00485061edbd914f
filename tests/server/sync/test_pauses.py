"""How long a remote that refuses is left alone."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from hranadouble import double

from prowess.server.sync import ASKED, hrana, process
from prowess.server.sync.cycle import Sharing
from prowess.server.sync.errors import RemoteAway
from prowess.server.sync.hrana import Hrana, Statement
from prowess.server.sync.process import Syncing, Task
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


class _Said:
    """The states that the process told, and a wait for the next failure."""

    def __init__(self) -> None:
        self.failures = 0
        self.looked = 0

    def __call__(self, told: dict[str, Any]) -> None:
        self.failures += told["state"] == "away"
        self.looked = told.get("looked", self.looked)

    async def until(self, failures: int) -> None:
        with anyio.fail_after(30):
            while self.failures < failures:  # noqa: ASYNC110 - it is told by a plain call
                await anyio.sleep(0.01)

    async def until_looked(self, wakes: int) -> None:
        with anyio.fail_after(30):
            while self.looked < wakes:  # noqa: ASYNC110 - it is told by a plain call
                await anyio.sleep(0.01)


@pytest.fixture
def said() -> _Said:
    return _Said()


async def test_what_is_written_meanwhile_ends_no_pause_and_who_asks_does(
    tmp_path: Path, said: _Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FIRST_PAUSE", 3_600.0)
    monkeypatch.setattr(process, "LAST_PAUSE", 3_600.0)
    async with double(tmp_path / "remote.db") as remote, anyio.create_task_group() as tasks:
        remote.fault = lambda: "busy"
        syncing = Syncing(Task(home=str(tmp_path), url=remote.url, token="", sharing=Sharing(machine="m")), said)
        tasks.start_soon(syncing.run)
        await said.until(1)
        for _ in range(20):
            syncing.wake(b"\n")
            await anyio.wait_all_tasks_blocked()
        assert (remote.asked, said.failures) == (1, 1)
        syncing.wake(ASKED + b"\n")
        await said.until(2)
        assert (remote.asked, said.looked) == (2, 21)
        tasks.cancel_scope.cancel()


async def test_who_was_answered_before_ends_no_later_pause(
    tmp_path: Path, said: _Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FIRST_PAUSE", 3_600.0)
    monkeypatch.setattr(process, "LAST_PAUSE", 3_600.0)
    monkeypatch.setattr(process, "GATHER_SECONDS", 0.0)
    async with (
        double(tmp_path / "remote.db") as remote,
        Store.open(tmp_path) as store,
        anyio.create_task_group() as tasks,
    ):
        monkeypatch.setattr(process, "open_calls", lambda *_: nullcontext(store))
        task = Task(home=str(tmp_path), url=remote.url, token="", sharing=Sharing(machine="m"), seconds=3_600.0)
        syncing = Syncing(task, said)
        tasks.start_soon(syncing.run)
        syncing.wake(ASKED + b"\n")
        await said.until_looked(1)
        syncing.wake(ASKED + b"\n")
        await said.until_looked(2)
        remote.fault = lambda: "busy"
        syncing.wake(b"\n")
        await said.until(1)
        asked = remote.asked
        await anyio.sleep(0.3)
        assert (remote.asked, said.failures, said.looked) == (asked, 1, 3)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("told", "seconds"), [("120", 120.0), ("9999", hrana.LONGEST_AFTER), ("soon", 0.0), ("-5", 0.0), ("", 0.0)]
)
async def test_a_busy_remote_says_when_to_ask_again(tmp_path: Path, told: str, seconds: float) -> None:
    async with double(tmp_path / "remote.db") as remote:
        remote.fault, remote.after = lambda: "busy", told
        async with Hrana(remote.url) as server:
            with pytest.raises(RemoteAway, match="503") as away:
                await server.batch([Statement("SELECT 1")])
    assert away.value.after == seconds
