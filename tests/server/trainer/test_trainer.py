"""The trainer's supervisor, with a trainer that does what it is told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubkit import Peer, connected, hub_in
from trainerkit import FAKE, RESULT, SECONDS, finished, folder_of, training, until

from prowess.server.hub.work import STANDING
from prowess.server.identity import identity_of
from prowess.server.trainer.runs import Run, RunFolder, read_runs, runs_now
from prowess.server.trainer.supervisor import Trainer, TrainingRefused, trainer_command
from prowess.storage.errors import Unknown

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")]


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


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which file a descriptor is of")
def test_a_record_has_its_name_only_once_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[tuple[str, str]]()
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append(("synced", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        sync(descriptor)

    def named(path: Path, target: Path) -> Path:
        done.append(("named", target.name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    files = RunFolder(tmp_path / "run-1")
    files.make()
    files.save(Run(id="run-1", started="2026-11-30T12:00:00.000Z"))
    assert done == [("synced", "run.json.part"), ("named", "run.json"), ("synced", "run-1")]


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
    errors = folder_of(tmp_path, run_id) / "stderr.log"
    assert told["status"] == "failed"
    assert told["reason"] == f"the trainer ended with exit code 1; what it said is in {errors}"
    assert "MemoryError" in errors.read_text()


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
        (
            [{"checkpoint": "one"}, {"exit": 3}],
            "the trainer ended with exit code 3; mode train with this run_id goes on from the checkpoint",
        ),
    ]
    async with training(tmp_path) as trainer:
        for acts, reason in cases:
            await trainer.start({"acts": acts})
            told = await finished(trainer)
            assert (told["status"], told["reason"]) == ("failed", reason)


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


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 200, "\0", "..", "loop"])
async def test_a_checkpoint_that_no_file_can_be_is_none(tmp_path: Path, name: str) -> None:
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": [{"event": "checkpoint", "file": name}, {"exit": 7}]})
        told = await finished(trainer)
        assert (told["status"], told["reason"]) == ("failed", "the trainer ended with exit code 7")
        files = RunFolder(folder_of(tmp_path, run_id))
        (files.out / "loop").symlink_to("loop")
        assert (files.checkpoint(name), (await trainer.status(run_id))["status"]) == (None, "failed")
        await trainer.start({"acts": [RESULT]})
        assert (await finished(trainer))["status"] == "done"


async def test_a_run_whose_folder_is_gone_is_told_and_ended_like_any_other(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": [{"event": "progress", "step": 1}, "hold"]})
        await until(trainer, lambda told: told.get("progress"))
        shutil.rmtree(folder_of(tmp_path, run_id))
        assert (await trainer.status())["run_id"] == run_id
        assert (await trainer.status(run_id))["status"] == "running"
        assert (await trainer.cancel())["status"] == "cancelled"
        assert await trainer.status() == {"status": "none yet"}
        await trainer.start({"acts": [RESULT]})
        assert (await finished(trainer))["status"] == "done"


async def test_the_last_run_is_told_whatever_the_clock_said(tmp_path: Path) -> None:
    ahead = Run(id="ffffffff-run", started="2099-01-01T00:00:00.000Z", ended="2099-01-01T00:01:00.000Z", status="done")
    files = RunFolder(folder_of(tmp_path, ahead.id))
    files.make()
    files.save(ahead)
    async with training(tmp_path) as trainer:
        assert (await trainer.status())["run_id"] == ahead.id
        run_id = await trainer.start({"acts": [RESULT]})
        told = await finished(trainer)
        assert (told["run_id"], list(told["runs"])) == (run_id, [run_id, ahead.id])
        assert [run.id for run in runs_now(tmp_path / "runs")] == [run_id, ahead.id]


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
        assert "train with this run_id" in (await trainer.cancel())["reason"]
        with pytest.raises(TrainingRefused, match="has other settings"):
            await trainer.start({"acts": []}, run_id=first)
        assert await trainer.start({}, run_id=first) == first
        assert (await finished(trainer))["status"] == "done"
        with pytest.raises(TrainingRefused, match="it is done"):
            await trainer.start({}, run_id=first)
        with pytest.raises(Unknown, match="there is no run 'nothing'") as refused:
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
    monkeypatch.setattr("prowess.server.trainer.supervisor.REST_SECONDS", 1.0)
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
        told = await until(trainer, lambda told: told["status"] == "interrupted" and "ended" in told)
        assert told["reason"] == "the server was ended without notice"
        assert not files.batch.exists()
        assert await trainer.start({}) == "r1"


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be proven to be gone")
async def test_a_run_whose_server_and_trainer_were_killed_is_told_as_interrupted_before_the_next_start(
    tmp_path: Path,
) -> None:
    with _python("import sys; sys.stdin.read()") as killed:
        _record(tmp_path, pid=killed.pid, process=identity_of(killed.pid), progress={"iteration": 2, "of": 9})
        assert [run.status for run in runs_now(tmp_path / "runs")] == ["running"]
        killed.kill()
        killed.wait(SECONDS)
    trainer = Trainer(tmp_path, _nothing, FAKE)  # one that nobody runs, as a command has it
    told = await trainer.status()
    assert (told["status"], told["progress"]) == ("interrupted", {"iteration": 2, "of": 9})
    assert told["reason"] == "the server was ended without notice"
    page = await anyio.run_process(
        [sys.executable, "-I", "-m", "prowess.server", "status", "--json", "--store", str(tmp_path)]
    )
    assert json.loads(page.stdout)["training"]["status"] == "interrupted"


async def _nothing(_folder: Path, _project: str, _wanted: Sequence[str] | None) -> list[str]:
    return []


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
        assert stray.wait(SECONDS) == (-signal.SIGKILL if deaf else -signal.SIGTERM)


@pytest.mark.parametrize("identity", ["", "another-boot:1"])
async def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path, identity: str) -> None:
    with _python("import sys; sys.stdin.read()") as other:
        _record(tmp_path, pid=other.pid, process=identity)
        async with training(tmp_path) as trainer:
            await until(trainer, lambda told: told["status"] == "interrupted")
        assert other.poll() is None
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(SECONDS) == 0


async def test_a_trainer_leaves_when_its_server_is_killed(tmp_path: Path) -> None:
    code = f"""
import sys, anyio
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from prowess.server.trainer.runs import read_runs
import trainerkit as t
async def main():
    async with t.training(Path({str(tmp_path)!r})) as trainer:
        await trainer.start({{"acts": [{{"event": "progress", "step": 1}}, "dont_hear", "hold"]}})
        await t.until(trainer, lambda told: told.get("progress"))
        print(read_runs(Path({str(tmp_path)!r}) / "runs")[0].pid, flush=True)
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
        with pytest.raises(TrainingRefused, match="no scored episode to learn from in project 'shop'"):
            await trainer.start({}, project="shop")
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


async def test_settings_that_are_too_long_are_refused(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        with pytest.raises(TrainingRefused, match="longer than 65536 bytes"):
            await trainer.start({"text": "x" * 70_000})
        deep: dict[str, Any] = {}
        for _ in range(100_000):  # Python 3.13 writes 5,000
            deep = {"more": deep}
        with pytest.raises(TrainingRefused, match="nested too deep"):
            await trainer.start(deep)


def test_without_the_trainers_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, object] = {}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    assert trainer_command() is None
    found["prowess.training"] = object()
    assert trainer_command() == [sys.executable, "-I", "-m", "prowess.training"]


async def test_a_training_outlives_the_agents_session_and_the_next_hub_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.trainer.supervisor.trainer_command", lambda: FAKE)
    monkeypatch.setattr("prowess.server.trainer.supervisor.NEEDS", ())
    monkeypatch.setattr("prowess.tools.evolve_skills.understood", dict)  # the fake trainer has settings of its own
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
