"""What a trainer says, and a batch for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from trainerkit import RESULT, finished, folder_of, training

from prowess.server.trainer.batch import Batches
from prowess.server.trainer.events import MAX_ERROR_BYTES, MAX_LINE, Events, keep_errors
from prowess.server.trainer.runs import Run, RunFolder
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")]

ORIGIN = Origin(machine="m", client="c")


async def test_lines_that_are_no_events_are_counted_and_passed_over(tmp_path: Path) -> None:
    bad = ["nonsense", "[1]", '"text"', "{}", '{"event": 1}', "\x00\xff", "[" * 2000]
    long = [{"long": MAX_LINE + 1}, {"long": 5 * MAX_LINE}, {"long_event": MAX_LINE - 100}]
    acts = [*({"raw": text} for text in bad), {"raw": " "}, *long, {"event": "unheard of"}, RESULT]
    async with training(tmp_path) as trainer:
        await trainer.start({"acts": acts})
        told = await finished(trainer)
    assert (told["status"], told["malformed_lines"]) == ("done", len(bad) + 2)


async def _heard(folder: Path, said: bytes, **options: Any) -> Run:
    """The run of a trainer that said this."""
    run, files = Run(id="r", started=""), RunFolder(folder)
    files.make()
    send, receive = anyio.create_memory_object_stream[bytes](1)
    stream: Any = receive
    async with receive, anyio.create_task_group() as tasks:
        tasks.start_soon(Events(run, files, **options).listen, stream)
        async with send:
            await send.send(said)
    return run


async def test_of_a_flood_the_first_is_kept_and_the_last_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = b'{"event": "progress", "step": %4d}\n'
    monkeypatch.setattr("prowess.server.trainer.events.MAX_PROGRESS_BYTES", 10 * len(line % 0))
    said = b"".join(line % number for number in range(1500)) + b'{"event": "result", "reward": 1}\n'
    run = await _heard(tmp_path, said, pace=10**9)
    assert (run.progress, run.result, run.dropped) == ({"step": 1499}, {"reward": 1}, 1490)
    kept = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event.get("step") for event in kept] == [*range(10), None]


async def test_more_than_the_pace_waits_for_the_next_second(tmp_path: Path) -> None:
    now, slept = [0.0], []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    await _heard(tmp_path, b'{"event": "progress"}\n' * 25, pace=10, clock=lambda: now[0], sleep=sleep)
    assert slept == [1.0, 1.0]


async def test_errors_are_kept_up_to_a_limit(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        run_id = await trainer.start({"acts": [{"stderr": 3 * MAX_ERROR_BYTES}, RESULT]})
        assert (await finished(trainer))["status"] == "done"
    size = (folder_of(tmp_path, run_id) / "stderr.log").stat().st_size
    assert MAX_ERROR_BYTES <= size <= MAX_ERROR_BYTES + 100_000


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
        export = Batches(store, tmp_path).export
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
        assert await Batches(store, tmp_path).export(tmp_path / "batch", "shop", ids) == [ids[0], ids[2]]
        assert "t1" not in (tmp_path / "batch" / "trajectories.jsonl").read_text()


async def test_errors_that_cannot_be_kept_are_read_all_the_same(tmp_path: Path) -> None:
    """Else the trainer would wait for ever in its full pipe."""
    send, receive = anyio.create_memory_object_stream[bytes](0)
    stream: Any = receive
    async with receive, anyio.create_task_group() as tasks:
        tasks.start_soon(keep_errors, stream, tmp_path / "gone" / "stderr.log")
        async with send:
            with anyio.fail_after(60):
                for _ in range(3):
                    await send.send(b"a warning\n")
