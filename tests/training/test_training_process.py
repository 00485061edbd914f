"""The trainer as a process: events, checkpoints, resuming to the bit, and leaving when asked."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import torch
from trainkit import LIMIT, SMALL, episodes, events, finish, settings, start, talk, write_batch

from prowess.learning.memskill import Bank, Controller, MemorySkill, hashed
from prowess.learning.memskill.vectors import HASHED, Cached
from prowess.training import checkpoint
from prowess.training.__main__ import main
from prowess.training.batch import read_batch
from prowess.training.checkpoint import CheckpointDamaged, CheckpointRefused
from prowess.training.controller import weights_of
from prowess.training.files import write_whole
from prowess.training.outcome import outcome
from prowess.training.process import Paths, Run
from prowess.training.trainer import Trainer

Events = list[dict[str, Any]]


def result(told: Events) -> dict[str, Any]:
    return next(event for event in told if event["event"] == "result")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Events]:
    """A run that nothing disturbed; its folder and its events."""
    folder = tmp_path_factory.mktemp("whole")
    write_batch(folder / "batch")
    return folder, finish(start(folder))


def test_a_run_tells_what_it_does(whole: tuple[Path, Events]) -> None:
    told = whole[1]
    assert [event["event"] for event in told if event["event"] != "progress"] == ["checkpoint"] * 4 + ["result"]
    assert [event["iteration"] for event in told if "of" in event] == [1, 2, 3, 4]
    assert all(len(json.dumps(event)) < 2_000 for event in told)


def test_a_run_leaves_a_controller_a_bank_curves_and_a_manifest(whole: tuple[Path, Events]) -> None:
    out, told = whole[0] / "out", result(whole[1])
    best = out / str(told["best"])
    weights, about = (best / "controller.safetensors").read_bytes(), (best / "controller.json").read_bytes()
    assert Controller.from_files(weights, about).manifest.sha256 == told["weights_sha256"]
    bank = Bank.from_files({path.name: path.read_text() for path in (best / "bank").iterdir()})
    assert len(bank.skills) == told["skills"]
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert (manifest["episodes"], manifest["embedding"]) == (40, "hashed-words-1")
    assert len(manifest["data_sha256"]) == len(manifest["settings_sha256"]) == 64
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 4
    assert len(list(out.glob("checkpoint-*.pt"))) == 2  # the newest ones
    assert not list(out.glob("**/*.part"))


def test_what_it_writes_does_not_quote_episodes(whole: tuple[Path, Events]) -> None:
    written = b"".join(path.read_bytes() for path in (whole[0] / "out").rglob("*") if path.is_file())
    assert b"instruction" in written.lower()  # of the bank's skills
    for trajectory in episodes(40):
        for step in trajectory.steps:
            assert str((step.args or {})["command"]).encode() not in written


def test_a_run_begins_with_the_skills_in_its_batch_and_leaves_a_persons_alone(tmp_path: Path) -> None:
    mine = MemorySkill(name="mine", description="Mine.", action="insert", instruction="Above all restarts, services.")
    bank = Bank.initial().edited(mine).withdrawn("delete").used("mine", 0.5, tick=900)
    write_batch(tmp_path / "batch")
    (tmp_path / "batch" / "bank").mkdir()
    for name, text in bank.to_files().items():
        (tmp_path / "batch" / "bank" / name).write_text(text)
    finish(start(tmp_path))
    best = tmp_path / "out" / "best" / "bank"
    after = Bank.from_files({path.name: path.read_text() for path in best.iterdir()})
    assert [skill.name for skill in after.skills][:4] == ["insert", "update", "skip", "mine"]
    assert (after.find("mine"), after.by_hand) == (mine, ("mine", "delete"))
    assert after.records["mine"].last_used <= 4  # in this run's ticks
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert len(manifest["bank_sha256"]) == 64


def test_what_is_in_use_is_measured_on_the_same_episodes(whole: tuple[Path, Events], tmp_path: Path) -> None:
    folder, told = whole
    batch = write_batch(tmp_path / "batch")
    shutil.copytree(folder / "out" / "best", batch / "controller", ignore=shutil.ignore_patterns("bank"))
    shutil.copytree(folder / "out" / "best" / "bank", batch / "bank")
    before, now = result(told), result(finish(start(tmp_path, iterations=1)))
    assert now["reward_in_use"] == before["reward"]
    assert now["in_use_sha256"] == before["weights_sha256"]
    assert now["in_use_error"] >= 0
    assert "reward_in_use" not in before
    assert read_batch(batch, settings(), Cached(hashed), "other vectors").in_use is None
    (batch / "controller" / "controller.json").write_text("{}")
    assert read_batch(batch, settings(), Cached(hashed), HASHED).in_use is None
    (batch / "controller" / "controller.json").unlink()
    data = read_batch(batch, settings(), Cached(hashed), HASHED)
    assert (data.in_use, data.bank is None) == (None, False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_of_a_bank_only_plain_files_are_read(tmp_path: Path) -> None:
    write_batch(tmp_path / "batch")
    bank = tmp_path / "batch" / "bank"
    (bank / "notes").mkdir(parents=True)
    os.mkfifo(bank / "pipe.md")  # nobody writes to it: reading it would never end
    for name, text in Bank.initial().to_files().items():
        (bank / name).write_text(text)
    data = read_batch(tmp_path / "batch", settings(), Cached(hashed), HASHED)
    assert data.bank is not None
    assert data.bank.skills == Bank.initial().skills


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("name", ["batch/trajectories.jsonl", "settings.json", "out/checkpoint-00001.pt"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    write_batch(tmp_path / "batch")
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode(settings()))
    (tmp_path / "out").mkdir()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    command = [sys.executable, "-I", "-m", "prowess.training", "--batch", str(tmp_path / "batch")]
    command += ["--out", str(tmp_path / "out"), "--settings", str(tmp_path / "settings.json")]
    command += ["--resume", str(tmp_path / "out" / "checkpoint-00001.pt")]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT, stdin=subprocess.DEVNULL)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert (told[-1]["event"], "no plain file" in told[-1]["message"]) == ("error", True)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_is_resumed_to_the_same_weights(
    tmp_path: Path, whole: tuple[Path, Events], stop: signal.Signals
) -> None:
    write_batch(tmp_path / "batch")
    process = start(tmp_path)
    assert process.stdout is not None
    found = b""
    while b"checkpoint" not in found:
        found = process.stdout.readline()
        assert found, "the trainer left before its first checkpoint"
    process.send_signal(stop)
    with process:
        rest = process.stdout.read()
        assert process.wait(timeout=LIMIT) == (0 if stop == signal.SIGTERM else -signal.SIGKILL)
    assert b'"result"' not in rest
    newest = max((tmp_path / "out").glob("checkpoint-*.pt"))
    assert int(newest.stem[-5:]) < 4
    resumed = result(finish(start(tmp_path, "--resume", str(newest))))
    assert resumed["weights_sha256"] == result(whole[1])["weights_sha256"]
    assert (tmp_path / "out" / "metrics.jsonl").read_bytes() == (whole[0] / "out" / "metrics.jsonl").read_bytes()


def test_an_iteration_that_takes_too_long_is_left_as_it_is_when_the_run_is_to_end(tmp_path: Path) -> None:
    write_batch(tmp_path / "batch")
    process = start(tmp_path, rollouts=1_000_000)
    assert process.stdout is not None
    while b"learning" not in (found := process.stdout.readline()):
        assert found, "the trainer left before its first iteration"
    process.send_signal(signal.SIGTERM)
    with process:
        assert process.stdout.read() == b""
        assert process.wait(timeout=LIMIT) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]


def test_a_run_whose_newest_checkpoint_is_damaged_goes_on_from_the_one_before(
    tmp_path: Path, whole: tuple[Path, Events]
) -> None:
    write_batch(tmp_path / "batch")
    shutil.copytree(whole[0] / "out", tmp_path / "out")
    newest = tmp_path / "out" / "checkpoint-00004.pt"
    content = newest.read_bytes()
    newest.write_bytes(content[:-9] + b"x" + content[-8:])
    told = finish(start(tmp_path, "--resume", str(newest)))
    assert [event["iteration"] for event in told if "of" in event] == [4]
    assert result(told)["weights_sha256"] == result(whole[1])["weights_sha256"]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "out/manifest.json"), "free some space"),
        (MemoryError(), "raise train_mb"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), "raise train_mb"),
    ],
)
def test_a_run_that_has_no_room_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception, says: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("prowess.training.process.read_batch", fail)
    (tmp_path / "settings.json").write_text(json.dumps(SMALL))
    assert Run(Paths(tmp_path / "batch", tmp_path / "out", tmp_path / "settings.json")).main() == 1
    assert says in json.loads(capfd.readouterr().out.splitlines()[-1])["message"]


def test_torch_that_cannot_be_loaded_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "prowess.training.process", ModuleType("broken"))
    monkeypatch.setattr(sys, "argv", ["training", "--batch", "b", "--out", "o", "--settings", "s"])
    assert main() == 1
    (told,) = events(capsys.readouterr().out.encode())
    assert told["event"] == "error"
    assert "torch cannot be loaded" in told["message"]
    assert "train_mb" in told["message"]


def test_a_file_that_cannot_be_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "there" / "more").mkdir(parents=True)
    with pytest.raises(OSError, match="there"):
        write_whole(tmp_path / "there", b"content")  # a folder cannot be replaced by a file
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_it_leaves_when_its_input_ends(tmp_path: Path) -> None:
    write_batch(tmp_path / "batch")
    process = start(tmp_path, iterations=100_000)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdin.close()
    process.stdin = None  # so that nothing flushes it again
    with process:
        assert process.wait(timeout=LIMIT) == 1


def test_by_hand_it_needs_nobody_at_the_other_end_of_its_input(tmp_path: Path) -> None:
    write_batch(tmp_path / "batch")
    (tmp_path / "settings.json").write_text(json.dumps({**SMALL, "iterations": 1}))
    command = [sys.executable, "-I", "-m", "prowess.training", "--batch", "batch", "--out", "out"]
    ended = subprocess.run(
        [*command, "--settings", "settings.json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1,1", "HOME": str(tmp_path)},
        timeout=LIMIT,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert result(events(ended.stdout))["iterations"] == 1


@pytest.mark.parametrize(
    ("changes", "lines", "says"),
    [
        ({"iterations": 0}, None, "iterations"),
        ({"itarations": 3}, None, "itarations"),
        ({"ppo": {"minibatches": 0}}, None, "minibatches"),
        ({"ppo": {"learning_rate": 1e30}}, None, "learning_rate"),
        ({}, b"{}\n", "trajectories.jsonl, line 1"),
        ({}, b'{"more": ' + b"[" * 9_000 + b"]" * 9_000 + b"}\n", "trajectories.jsonl, line 1"),
        ({}, b"", "of 0 episodes"),
        ({"designer": "language"}, None, "no key is set"),
        ({"reward": "language"}, None, "no key is set"),
    ],
)
def test_a_run_that_cannot_be_made_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    changes: dict[str, object],
    lines: bytes | None,
    says: str,
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    write_batch(tmp_path / "batch")
    if lines is not None:
        (tmp_path / "batch" / "trajectories.jsonl").write_bytes(lines)
    told = tmp_path / "settings.json"
    told.write_text(json.dumps({**SMALL, **changes}))
    assert Run(Paths(tmp_path / "batch", tmp_path / "out", told)).main() == 1
    event = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert event["event"] == "error"
    assert says in event["message"]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    def weights(seed: int) -> bytes:
        run = trainer(seed=seed, evaluate_every=1, design_every=1)
        while not run.finished:
            run.step()
        return b"".join(value.tobytes() for value in weights_of(run.net).values())

    assert weights(0) == weights(0) != weights(1)


def trainer(**changes: object) -> Trainer:
    return Trainer([talk(1), talk(2)], [talk(3)], hashed, settings(**changes))


def test_a_checkpoint_brings_back_everything(tmp_path: Path) -> None:
    one, two = trainer(evaluate_every=1, design_every=1), trainer(evaluate_every=1, design_every=1)
    for _ in range(2):
        one.step()
    checkpoint.save(one, tmp_path / "c.pt", "hash")
    checkpoint.load(two, tmp_path / "c.pt", "hash")
    assert two.state == one.state
    assert one.best is not None
    assert two.best is not None
    assert msgspec.json.encode(two.best.bank) == msgspec.json.encode(one.best.bank)
    assert one.step() == two.step()
    assert all((a == weights_of(two.net)[name]).all() for name, a in weights_of(one.net).items())


def test_a_run_that_goes_on_is_compared_with_what_it_began_with(tmp_path: Path) -> None:
    one = trainer(evaluate_every=1)
    one.step()
    checkpoint.save(one, tmp_path / "c.pt", "hash")
    since = MemorySkill(name="since", description="Recently.", action="insert", instruction="Above all recently.")
    adopted = Bank.initial().with_skill(since)  # meanwhile, so that the batch has it
    two = Trainer([talk(1), talk(2)], [talk(3)], hashed, settings(evaluate_every=1), bank=adopted)
    checkpoint.load(two, tmp_path / "c.pt", "hash")
    assert outcome(two, None) == outcome(one, None)


def test_a_run_goes_on_where_queries_are_gone_since_it_was_ended(tmp_path: Path) -> None:
    def run(asked: int) -> Trainer:
        traces = [replace(trace, queries=trace.queries[:asked]) for trace in (talk(1, 24), talk(2, 24))]
        return Trainer(traces, [talk(3)], hashed, settings(evaluate_every=1, design_every=1))

    one, two = run(24), run(3)
    one.step()
    checkpoint.save(one, tmp_path / "c.pt", "hash")
    checkpoint.load(two, tmp_path / "c.pt", "hash")
    assert any(case.query >= 3 for case in two.state.pool.cases.values())
    two.step()
    assert all(case.query < 3 for case in two.state.pool.cases.values())


def test_a_file_that_is_no_checkpoint_of_the_run_is_refused(tmp_path: Path) -> None:
    run = trainer()
    checkpoint.save(run, tmp_path / "c.pt", "hash")
    with pytest.raises(CheckpointRefused, match="other settings"):
        checkpoint.load(run, tmp_path / "c.pt", "other")
    with pytest.raises(CheckpointRefused, match="does not fit"):
        checkpoint.load(trainer(hidden=16), tmp_path / "c.pt", "hash")
    whole = (tmp_path / "c.pt").read_bytes()
    for part in ("net", "optimizer"):  # whole, and of another shape
        other = torch.load(io.BytesIO(whole.partition(b"\n")[2]), weights_only=True) | {part: [1]}
        torch.save(other, content := io.BytesIO())
        (tmp_path / "c.pt").write_bytes(checkpoint._head(content.getvalue()) + content.getvalue())
        with pytest.raises(CheckpointRefused, match="does not fit"):
            checkpoint.load(trainer(), tmp_path / "c.pt", "hash")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"no checkpoint", b"", whole[:-1], bytes(flipped)):
        (tmp_path / "c.pt").write_bytes(damaged)
        with pytest.raises(CheckpointDamaged, match="cannot be read"):
            checkpoint.load(run, tmp_path / "c.pt", "hash")
    (tmp_path / "c.pt").unlink()
    with pytest.raises(CheckpointDamaged, match="No such file"):
        checkpoint.load(run, tmp_path / "c.pt", "hash")
