"""The worker process and its parent side, as whole processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from prowess.server.compute import Compute, ComputeFailed
from prowess.server.worker import READY, pack, unpack_size
from prowess.storage.errors import InvalidInput, StoreError
from prowess.storage.models import Episode, NewReward, NewStep, Origin, Step, Trajectory, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

# A child with jobs that only tests need; everything else in it is the real worker.
CHILD = """
import os, signal, sys, threading
from prowess.server import worker
from prowess.storage.errors import InvalidInput

def flood(arguments):
    for _ in range(arguments["lines"]):
        print("x" * 100)
        os.write(1, b"y" * 100)
    sys.stdout.flush()
    return sys.stdin.read()

def refuse(arguments):
    raise InvalidInput("no such thing", hint="name another")

def die_once(arguments):
    try:
        os.remove(arguments["token"])
    except (FileNotFoundError, ProcessLookupError):
        return "alive"
    os.kill(os.getpid(), signal.SIGKILL)

def hang(arguments):
    open(arguments["mark"], "w").write(str(os.getpid()))
    threading.Event().wait()

worker.JOBS.update(
    echo=lambda arguments: arguments, pid=lambda arguments: os.getpid(), flood=flood, refuse=refuse, die_once=die_once,
    hang=hang, die=lambda arguments: os.kill(os.getpid(), signal.SIGKILL), wrong=lambda arguments: 1 / 0,
    unsendable=lambda arguments: object(),
)
worker.main()
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return [sys.executable, "-I", str(script)]


@pytest.fixture
async def compute(command: list[str]) -> AsyncIterator[Compute]:
    async with Compute(command=command) as value:
        yield value


async def ask(compute: Compute, job: str, shape: type = object, **arguments: object) -> object:
    with anyio.fail_after(180):
        return await compute._call(job, arguments, shape)


def content(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def written(path: Path) -> str:
    with anyio.fail_after(180):
        while not (text := content(path)):
            await anyio.lowlevel.checkpoint()
    return text


def is_alive(pid: int) -> bool:
    """False for a zombie too: what ended but was not yet collected holds nothing."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def gone(pid: int) -> None:
    with anyio.fail_after(180):
        while is_alive(pid):
            await anyio.lowlevel.checkpoint()


async def test_no_child_runs_before_the_first_call(compute: Compute) -> None:
    assert compute.pid is None


async def test_a_child_is_kept_for_the_next_call(compute: Compute) -> None:
    first = await ask(compute, "pid")
    assert first == await ask(compute, "pid") == compute.pid
    assert first != os.getpid()


async def test_prints_in_a_job_do_not_reach_the_answers(compute: Compute) -> None:
    assert await ask(compute, "flood", lines=20_000) == ""
    assert await ask(compute, "echo", a=[1, "ü", None, 2.5]) == {"a": [1, "ü", None, 2.5]}


async def test_large_frames_pass_both_ways(compute: Compute) -> None:
    text = "ä" * 3_000_000
    assert await ask(compute, "echo", text=text) == {"text": text}


async def test_an_error_of_ours_arrives_as_itself(compute: Compute) -> None:
    with pytest.raises(InvalidInput, match="no such thing") as caught:
        await ask(compute, "refuse")
    assert caught.value.hint == "name another"


@pytest.mark.parametrize("job", ["wrong", "unsendable", "no_such_job"])
async def test_any_other_error_is_translated_and_the_child_lives_on(compute: Compute, job: str) -> None:
    before = await ask(compute, "pid")
    with pytest.raises(ComputeFailed, match=job):
        await ask(compute, job)
    assert await ask(compute, "pid") == before


async def test_a_call_whose_child_dies_is_repeated_once(compute: Compute, tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    assert await ask(compute, "die_once", token=str(tmp_path / "token")) == "alive"


async def test_a_second_death_is_an_error_and_the_next_call_works(compute: Compute) -> None:
    with pytest.raises(ComputeFailed, match="died twice"):
        await ask(compute, "die")
    assert await ask(compute, "echo", a=1) == {"a": 1}


async def test_a_child_that_was_killed_between_calls_is_replaced(compute: Compute) -> None:
    pid = await ask(compute, "pid")
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    assert await ask(compute, "pid") != pid


async def test_cancelling_a_call_kills_its_child(compute: Compute, tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: ask(compute, "hang", mark=str(tmp_path / "mark")))
        pid = int(await written(tmp_path / "mark"))
        group.cancel_scope.cancel()
    assert not is_alive(pid)
    assert await ask(compute, "echo", a=1) == {"a": 1}


async def test_a_call_over_its_time_limit_is_stopped(command: list[str], tmp_path: Path) -> None:
    async with Compute(command=command, call_seconds=1.0) as compute:
        with pytest.raises(ComputeFailed, match="longer than 1 seconds"):
            await ask(compute, "hang", mark=str(tmp_path / "mark"))
        assert compute.pid is None


async def test_an_idle_child_leaves_and_the_next_call_starts_another(command: list[str]) -> None:
    async with Compute(command=command, idle_seconds=0.01) as compute:
        pid = await ask(compute, "pid")
        assert isinstance(pid, int)
        await gone(pid)
        assert await ask(compute, "echo", a=1) == {"a": 1}


async def test_closing_ends_the_child(command: list[str]) -> None:
    async with Compute(command=command) as compute:
        pid = await ask(compute, "pid")
    assert isinstance(pid, int)
    assert not is_alive(pid)


async def test_a_command_that_does_not_start_is_an_error_with_a_hint(tmp_path: Path) -> None:
    async with Compute(command=[str(tmp_path / "absent")]) as compute:
        with pytest.raises(ComputeFailed, match="does not start") as caught:
            await ask(compute, "echo")
        assert "doctor" in caught.value.hint


async def test_what_cannot_be_sent_is_an_error(compute: Compute) -> None:
    with pytest.raises(ComputeFailed, match="cannot hand echo"):
        await ask(compute, "echo", a=2**80)


async def test_a_busy_child_does_not_outlive_a_parent_that_was_killed(command: list[str], tmp_path: Path) -> None:
    parent = tmp_path / "parent.py"
    parent.write_text(f"""
import anyio
from prowess.server.compute import Compute
async def main():
    async with Compute(command={command!r}) as compute:
        await compute._call("hang", {{"mark": {str(tmp_path / "mark")!r}}}, object)
anyio.run(main)
""")
    async with await anyio.open_process([sys.executable, "-I", str(parent)], stdout=None, stderr=None) as process:
        child = int(await written(tmp_path / "mark"))
        process.kill()
    await gone(child)


def test_the_real_child_greets_and_leaves_at_the_end_of_its_pipe() -> None:
    command = [sys.executable, "-I", "-m", "prowess.server.worker"]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=30, check=True)
    assert done.stdout == READY


def test_a_frame_is_its_length_and_its_body() -> None:
    frame = pack(["echo", {}])
    assert unpack_size(frame[:4]) == len(frame) - 4 == 7


def tried(name: str) -> Trajectory:
    at = "2026-01-01T00:00:00.000Z"
    episode = Episode(
        id=name,
        project="p",
        session="s",
        task_id=name,
        attempt=1,
        opened_at=at,
        task="move the report",
        reward=10.0,
        outcome="success",
    )
    tools = ["find_file", "copy_file", "remove_file"]
    steps = (
        Step(episode_id=name, number=number, action=tool, at=at, tool=tool, args={"path": name}, outcome="success")
        for number, tool in enumerate(tools, 1)
    )
    return Trajectory(episode=episode, steps=tuple(steps))


async def test_drafts_come_back_as_skills() -> None:
    async with Compute() as compute:
        drafts = await compute.propose([tried("e1"), tried("e2")], [], min_support=2, project="p")
    assert [step.tool for step in drafts[0].steps] == ["find_file", "copy_file", "remove_file"]


async def test_the_child_mines_the_catalog_file_itself(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "store") as store, Compute() as compute:
        for name in ("a", "b", "c"):
            where = Where(task_id=name, project="p", session="s")
            steps = [NewStep(action=tool, tool=tool, outcome="success") for tool in ("find", "copy", "remove")]
            await store.track(where, steps, origin=Origin())
            await store.score(where, [NewReward(value=9.0)], final=True, origin=Origin())
        await store.stats()  # a read: the catalog has everything then
        found = await compute.mine(store.catalog_path, project="p", kinds=["sequence"])
        assert await compute.mine(store.catalog_path, project="other") == []
    assert found
    assert {pattern.kind for pattern in found} == {"sequence"}
    assert max(pattern.support for pattern in found) == 3


async def test_a_catalog_that_is_not_there_is_told(tmp_path: Path) -> None:
    async with Compute() as compute:
        with pytest.raises(StoreError):
            await compute.mine(tmp_path / "absent.db")
