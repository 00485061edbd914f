"""The trainer's supervisor, with a trainer that does what it is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubkit import Peer, connected, hub_in

from prowess.server.hub.runs import Run, RunFolder, identity_of, read_runs
from prowess.server.hub.trainer import Trainer, TrainingRefused, trainer_command
from prowess.server.hub.trainer_batch import Batches
from prowess.server.hub.trainer_events import MAX_ERROR_BYTES, MAX_LINE, Events
from prowess.server.hub.work import STANDING
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")]

FAKE = [sys.executable, "-I", str(Path(__file__).with_name("fake_trainer.py"))]
SECONDS = 60.0
RESULT = {"event": "result", "reward": 0.5}
ORIGIN = Origin(machine="m", client="c")


async def export(folder: Path, project: str, wanted: Sequence[str] | None) -> list[str]:
    """Two episodes, as files of one line."""
    ids = list(wanted or ("e1", "e2"))
    lines = [json.dumps({"episode": {"task_id": f"{project}{name}"}}) for name in ids]
    await anyio.Path(folder / "trajectories.jsonl").write_text("\n".join(lines))
    return ids


@asynccontextmanager
async def training(home: Path, *, leave: bool = True, **options: Any) -> AsyncIterator[Trainer]:
    options = {"export": export, "command": FAKE, "grace": 10.0, **options}
    trainer = Trainer(home, **options)
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trainer.run)
            yield trainer
            tasks.cancel_scope.cancel()


async def until(trainer: Trainer, holds: Callable[[dict[str, Any]], Any], run_id: str | None = None) -> dict[str, Any]:
    """The run's status once it ``holds``."""
    with anyio.fail_after(SECONDS):
        while True:
            if holds(told := await trainer.status(run_id)):
                return told
            await anyio.sleep(0.01)


async def finished(trainer: Trainer) -> dict[str, Any]:
    return await until(trainer, lambda told: told["status"] != "running")


def folder_of(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id


async def test_a_run_goes_from_start_to_result(tmp_path: Path) -> None:
    acts = [{"event": "progress", "step": 1, "loss": 0.25}, {"checkpoint": "one"}, RESULT]
    async with training(tmp_path) as trainer:
        assert (await trainer.status()) == {"status": "none yet"}
        run_id = await trainer.start({"acts": acts}, project="shop")
        assert trainer.working() == [f"training {run_id}"]
        told = await finished(trainer)
        assert trainer.working() == []
    assert (told["run_id"], told["status"], told["project"], told["episodes"]) == (run_id, "done", "shop", 2)
    assert (told["progress"], told["result"], told["checkpoint"]) == ({"step": 1, "loss": 0.25}, {"reward": 0.5}, "one")
    assert told["runs"] == {run_id: "done"}
    folder = folder_of(tmp_path, run_id)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["progress", "checkpoint", "result"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "episodes.json", "events.jsonl", "out", "run.json", "settings.json",
    ]  # fmt: skip
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_the_trainer_is_bounded_and_told_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    async with training(tmp_path, threads=3, memory_mb=512) as trainer:
        await trainer.start({"acts": ["facts", RESULT]}, project="p-")
        facts = (await finished(trainer))["progress"]
    assert (facts["threads"], facts["key"], facts["leader"], facts["tasks"]) == ("3", "", True, "p-e1 p-e2")
    assert facts["nice"] == 10
    if sys.platform == "linux":
        assert facts["data"] == 512_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="enforced on Linux")
async def test_memory_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async with training(tmp_path, memory_mb=256) as trainer:
        run_id = await trainer.start({"acts": [{"allocate": 400_000_000}]})
        told = await finished(trainer)
    assert (told["status"], told["reason"]) == ("failed", "the trainer ended with exit code 1")
    assert "MemoryError" in (folder_of(tmp_path, run_id) / "stderr.log").read_text()


async def test_one_run_at_a_time(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": ["hold"]})
        with pytest.raises(TrainingRefused, match=f"{run_id} is going on"):
            await trainer.start({})
        with pytest.raises(TrainingRefused, match="is not going on"):
            await trainer.cancel("another")
        assert (await trainer.cancel(run_id))["status"] == "cancelled"
        with pytest.raises(TrainingRefused, match="no run is going on"):
            await trainer.cancel()
        assert await trainer.start({"acts": [RESULT]}) != run_id


async def test_what_fails_says_why(tmp_path: Path) -> None:
    cases = [
        ([{"event": "error", "message": "no spans"}, {"exit": 1}], "no spans"),
        ([{"exit": 7}], "the trainer ended with exit code 7"),
        ([{"event": "progress"}], "the trainer ended without a result"),
        ([RESULT, {"exit": 2}], "the trainer ended with exit code 2"),
    ]
    async with training(tmp_path) as trainer:
        for acts, reason in cases:
            await trainer.start({"acts": acts})
            told = await finished(trainer)
            assert (told["status"], told["reason"]) == ("failed", reason)


async def test_lines_that_are_no_events_are_counted_and_passed_over(tmp_path: Path) -> None:
    bad = ["nonsense", "[1]", '"text"', "{}", '{"event": 1}', "\x00\xff", "[" * 2000, "x" * (MAX_LINE + 1)]
    long = {"event": "progress", "text": "y" * (MAX_LINE - 100)}
    acts = [*({"raw": text} for text in bad), {"raw": " "}, long, {"event": "unheard of"}, RESULT]
    async with training(tmp_path) as trainer:
        await trainer.start({"acts": acts})
        told = await finished(trainer)
    assert (told["status"], told["malformed_lines"]) == ("done", len(bad))


async def test_a_checkpoint_that_lies_elsewhere_is_never_resumed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("")
    async with training(tmp_path) as trainer:
        acts = [{"event": "checkpoint", "file": "../../../outside"}, {"event": "progress"}, "hold"]
        run_id = await trainer.start({"acts": acts})
        await until(trainer, lambda told: told.get("checkpoint"))
        os.kill(read_runs(tmp_path / "runs")[0].pid, signal.SIGKILL)
        await finished(trainer)
        with pytest.raises(TrainingRefused, match="cannot be resumed"):
            await trainer.start({}, run_id=run_id)


async def test_a_flood_waits_in_its_pipe_and_is_kept_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.server.hub.trainer_events.MAX_PROGRESS_BYTES", 4_000)
    monkeypatch.setattr("prowess.server.hub.trainer_events.LINES_PER_SECOND", 10**9)
    monkeypatch.setattr(Events.__init__, "__kwdefaults__", {**Events.__init__.__kwdefaults__, "pace": 500})
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": [{"flood": 1500}, RESULT]})
        told = await finished(trainer)
    size = (folder_of(tmp_path, run_id) / "events.jsonl").stat().st_size
    assert told["status"] == "done"
    assert told["progress"] == {"step": 1499}
    assert told["dropped_events"] > 1000
    assert size < 4_200


async def test_more_than_the_pace_waits_for_the_next_second(tmp_path: Path) -> None:
    now, slept = [0.0], []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    files = RunFolder(tmp_path)
    files.make()
    events = Events(Run(id="r", started=""), files, pace=10, clock=lambda: now[0], sleep=sleep)
    send, receive = anyio.create_memory_object_stream[bytes](10)
    async with send, receive, anyio.create_task_group() as tasks:
        tasks.start_soon(events.listen, receive)
        await send.send(b'{"event": "progress"}\n' * 25)
        send.close()
    assert slept == [1.0, 1.0]


async def test_errors_are_kept_up_to_a_limit(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": [{"stderr": 3 * MAX_ERROR_BYTES}, RESULT]})
        assert (await finished(trainer))["status"] == "done"
    size = (folder_of(tmp_path, run_id) / "stderr.log").stat().st_size
    assert MAX_ERROR_BYTES <= size <= MAX_ERROR_BYTES + 100_000


async def test_a_run_that_the_server_left_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    settings = {"acts": [{"checkpoint": "one"}, "hold"], "resumed_acts": ["facts", RESULT]}
    async with training(tmp_path) as trainer:
        run_id = await trainer.start(settings, project="p-")
        await until(trainer, lambda told: told.get("checkpoint") == "one")
    (run,) = read_runs(tmp_path / "runs")
    assert (run.status, run.checkpoint, run.pid) == ("interrupted", "last", 0)
    assert not (folder_of(tmp_path, run_id) / "batch").exists()
    async with training(tmp_path) as trainer:
        assert await trainer.start({}, project="p-") == run_id
        told = await finished(trainer)
    assert (told["status"], told["resumed"]) == ("done", 1)
    assert (told["progress"]["resumed"], told["progress"]["tasks"]) == ("last", "p-e1 p-e2")


async def test_other_settings_another_project_or_a_wish_begin_anew(tmp_path: Path) -> None:
    settings = {"acts": [{"checkpoint": "one"}, "hold"]}
    async with training(tmp_path) as trainer:
        first = await trainer.start(settings)
        await until(trainer, lambda told: told.get("checkpoint"))
    async with training(tmp_path) as trainer:
        for changed, project in [({"acts": [RESULT]}, ""), ({"acts": [RESULT]}, "p"), ({"resume": False}, "")]:
            assert await trainer.start(changed, project=project) != first
            await finished(trainer)
        assert await trainer.start(settings) == first
        told = await finished(trainer)
    assert told["settings"] == settings


async def test_a_cancelled_run_is_resumed_only_by_name(tmp_path: Path) -> None:
    settings = {"acts": [{"checkpoint": "one"}, "hold"], "resumed_acts": [RESULT]}
    async with training(tmp_path) as trainer:
        first = await trainer.start(settings)
        await until(trainer, lambda told: told.get("checkpoint"))
        await trainer.cancel()
        second = await trainer.start(settings)
        assert second != first
        await until(trainer, lambda told: told.get("checkpoint"))
        await trainer.cancel()
        assert await trainer.start({}, run_id=first) == first
        assert (await finished(trainer))["status"] == "done"
        with pytest.raises(TrainingRefused, match="it is done"):
            await trainer.start({}, run_id=first)
        with pytest.raises(TrainingRefused, match="there is no run 'nothing'") as refused:
            await trainer.start({}, run_id="nothing")
        assert first in refused.value.hint
        assert (await trainer.status(first))["status"] == "done"


async def test_one_that_hears_no_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    async with training(tmp_path, grace=0.2) as trainer:
        await trainer.start({"acts": ["dont_hear", "brood", "hold"]})
        told = await until(trainer, lambda told: told.get("progress"))
        child = told["progress"]["child"]
    (run,) = read_runs(tmp_path / "runs")
    assert run.status == "interrupted"
    await _gone(child)


async def _gone(pid: int) -> None:
    with anyio.fail_after(SECONDS):
        while True:
            if not _alive(pid):
                return
            await anyio.sleep(0.01)


def _python(code: str) -> subprocess.Popen[bytes]:
    """A process with pipes for input and output."""
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="proven by /proc")
async def test_a_child_that_holds_the_pipes_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.trainer.REST_SECONDS", 0.2)
    async with training(tmp_path) as trainer:
        await trainer.start({"acts": ["brood", RESULT]})
        told = await finished(trainer)
    os.kill(told["progress"]["child"], signal.SIGKILL)
    assert told["status"] == "done"


def _record(home: Path, **fields: Any) -> RunFolder:
    run = Run(id="r1", started="2026-11-29T12:00:00.000Z", **fields)
    files = RunFolder(home / "runs" / run.id)
    files.make()
    files.save_input({}, ["e1"])
    files.save(run)
    return files


async def test_a_run_whose_server_was_killed_is_found_as_interrupted(tmp_path: Path) -> None:
    files = _record(tmp_path, pid=2**22 - 1, process="gone", checkpoint="one")
    (files.out / "one").write_text("")
    async with training(tmp_path) as trainer:
        told = await until(trainer, lambda told: told["status"] == "interrupted")
        assert told["reason"] == "the server was ended without notice"
        assert not files.batch.exists()
        assert await trainer.start({}) == "r1"


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be proven to be ours")
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_stray_trainer_of_ours_is_ended(tmp_path: Path, deaf: bool) -> None:
    code = "import signal, sys, time; " + ("signal.signal(15, signal.SIG_IGN); " if deaf else "")
    with _python(f"{code}print(flush=True); time.sleep(60)") as stray:
        assert stray.stdout is not None
        stray.stdout.readline()
        _record(tmp_path, pid=stray.pid, process=identity_of(stray.pid))
        async with training(tmp_path, grace=0.2) as trainer:
            await until(trainer, lambda told: told["status"] == "interrupted")
        assert stray.wait(10) == (-signal.SIGKILL if deaf else -signal.SIGTERM)


@pytest.mark.parametrize("identity", ["", "another-boot:1"])
async def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path, identity: str) -> None:
    with _python("import sys; sys.stdin.read()") as other:
        _record(tmp_path, pid=other.pid, process=identity)
        async with training(tmp_path) as trainer:
            await until(trainer, lambda told: told["status"] == "interrupted")
        assert other.poll() is None
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(10) == 0


async def test_a_trainer_leaves_when_its_server_is_killed(tmp_path: Path) -> None:
    code = f"""
import sys, anyio
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import test_trainer as t
async def main():
    async with t.training(Path({str(tmp_path)!r})) as trainer:
        await trainer.start({{"acts": [{{"event": "progress", "step": 1}}, "dont_hear", "hold"]}})
        await t.until(trainer, lambda told: told.get("progress"))
        print(t.read_runs(Path({str(tmp_path)!r}) / "runs")[0].pid, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""
    with _python(code) as server:
        assert server.stdout is not None
        pid = int(await anyio.to_thread.run_sync(server.stdout.readline))
        server.kill()
    await _gone(pid)


async def test_nothing_to_learn_from_leaves_nothing_behind(tmp_path: Path) -> None:
    async def nothing(folder: Path, project: str, wanted: Sequence[str] | None) -> list[str]:
        return []

    async with training(tmp_path, export=nothing) as trainer:
        with pytest.raises(TrainingRefused, match="no scored episode"):
            await trainer.start({})
        assert (await trainer.status()) == {"status": "none yet"}
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_trainer_that_does_not_start_leaves_nothing_behind(tmp_path: Path) -> None:
    async with training(tmp_path, command=[str(tmp_path / "nothing")]) as trainer:
        with pytest.raises(Exception, match="nothing"):
            await trainer.start({})
        assert trainer.working() == []
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_start_that_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    begun = anyio.Event()

    async def slow(folder: Path, project: str, wanted: Sequence[str] | None) -> list[str]:
        begun.set()
        await anyio.sleep_forever()
        return []

    async with training(tmp_path, export=slow) as trainer:
        async with anyio.create_task_group() as asking:
            asking.start_soon(trainer.start, {})
            await begun.wait()
            assert trainer.working() == ["preparing a training run"]
            asking.cancel_scope.cancel()
        assert trainer.working() == []
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_server_that_leaves_starts_nothing_more(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.leave()
        with pytest.raises(TrainingRefused, match="not ready"):
            await trainer.start({})


async def test_a_record_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    files = _record(tmp_path)
    (files.path / "run.json").write_text("{")
    async with training(tmp_path) as trainer:
        assert (await trainer.status()) == {"status": "none yet"}


def test_this_build_has_no_trainer() -> None:
    assert trainer_command() is None


async def _scored(store: Store, task: str, project: str, reward: float | None) -> str:
    where = Where(task_id=task, project=project)
    tracked = await store.track(where, [NewStep(action="look", observation=f"seen {task}")], origin=ORIGIN)
    await store.score(where, [NewReward(value=reward)], origin=ORIGIN)
    return tracked.episode_id


async def test_a_batch_has_the_scored_episodes_of_the_project(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "store") as store:
        ids = [await _scored(store, f"t{number}", "shop", 1.0) for number in range(3)]
        await _scored(store, "other", "elsewhere", 1.0)
        await _scored(store, "unscored", "shop", None)
        export = Batches(store).export
        (tmp_path / "batch").mkdir()
        assert await export(tmp_path / "batch", "shop") == ids
        lines = [json.loads(line) for line in (tmp_path / "batch" / "trajectories.jsonl").read_text().splitlines()]
        assert [line["steps"][0]["observation"] for line in lines] == ["seen t0", "seen t1", "seen t2"]
        assert [line["episode"]["reward"] for line in lines] == [1.0, 1.0, 1.0]
        assert len(await export(tmp_path / "batch", "")) == 4


async def test_what_was_forgotten_is_in_no_later_batch(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "store") as store:
        ids = [await _scored(store, f"t{number}", "shop", 1.0) for number in range(3)]
        await store.forget(episode_ids=[ids[1]], origin=ORIGIN)
        with pytest.raises(UnknownEpisode):
            await store.episode(ids[1])
        (tmp_path / "batch").mkdir()
        assert await Batches(store).export(tmp_path / "batch", "shop", ids) == [ids[0], ids[2]]
        assert "t1" not in (tmp_path / "batch" / "trajectories.jsonl").read_text()


async def test_a_training_outlives_the_agents_session_and_the_next_hub_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.trainer.trainer_command", lambda: FAKE)
    settings = {"acts": [{"checkpoint": "one"}, "hold"], "resumed_acts": ["facts", RESULT]}

    async def evolve(peer: Peer, **arguments: Any) -> dict[str, Any]:
        result = await peer.call("evolve_skills", arguments)
        status: dict[str, Any] = result["structuredContent"]["status"]
        return status

    async with hub_in(tmp_path, works=STANDING) as hub:
        async with connected(tmp_path) as peer:
            await peer.call("track_execution", {"task_id": "t", "action": "look"})
            await peer.call("score_reward", {"task_id": "t", "reward": 5, "final": True})
            run_id = (await evolve(peer, mode="train", settings=settings))["run_id"]
        trainer = (await hub.opening.opened()).trainer
        assert trainer is not None
        await until(trainer, lambda told: told.get("checkpoint") == "one")
        await hub.opening.opened()
        assert trainer.working() == [f"training {run_id}"]
    assert [run.status for run in read_runs(tmp_path / "runs")] == ["interrupted"]
    async with hub_in(tmp_path, works=STANDING) as hub, connected(tmp_path) as peer:
        assert (await evolve(peer, mode="train"))["run_id"] == run_id
        trainer = (await hub.opening.opened()).trainer
        assert trainer is not None
        await finished(trainer)
        told = (await evolve(peer, mode="status"))["training"]
    assert (told["status"], told["progress"]["resumed"], told["progress"]["tasks"]) == ("done", "last", "t")
