"""How fast the trainer is: spans per second for rollout and update beside bare torch, and a whole default run.

The bound of a rollout is one forward of the net over the same spans, of an update one forward and backward for every
epoch, both on tensors of the same shapes with nothing around them. Seconds are the processor's, on one thread, so that
other processes disturb them little.

With ``--default-run`` the real process runs on 500 made-up episodes (15 steps each, four in five of which repeat a step
of another), with no setting given, and its seconds and its most memory are held against the limits: ten minutes, 2 GiB.

    python -I benchmarks/memskill/throughput.py [--default-run]

Needs torch (the ``train`` extra). One JSON line; exit code 1 where the default run is beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from _common import emit

from prowess.learning.memskill import INITIAL, hashed, histories, view_skills
from prowess.learning.memskill.vectors import Cached
from prowess.storage.models import Episode, Step, Trajectory
from prowess.training.controller import ControllerNet, skills_tensor
from prowess.training.ppo import Normaliser, make_batch, update
from prowess.training.rollout import play_together, stretches
from prowess.training.settings import Settings

AT = "2026-11-29T13:00:00.000Z"
WORDS = """
    parser cache index socket buffer config schema token worker queue retry migration bundle lint coverage report
    release branch commit rebase deploy volume cluster secret header cookie router widget layout theme metric
""".split()  # noqa: SIM905 - so many quoted words would be no easier to read
STEPS = 15
EPISODES = 500
MOST_SECONDS, MOST_MB = 600.0, 2048


def episodes(count: int, seed: int = 0) -> list[Trajectory]:
    """Successful episodes of 15 steps, most of which come again and again with the same words."""
    rng = np.random.default_rng(seed)
    common = [
        f"run {' '.join(rng.choice(WORDS, 4))} --{rng.choice(WORDS)} /srv/{rng.choice(WORDS)}" for _ in range(200)
    ]
    made = []
    for number in range(count):
        name = f"e{number}"
        steps = []
        for place in range(1, STEPS + 1):
            own = f"echo {' '.join(rng.choice(WORDS, 6))} {number} {place}"
            text = common[int(rng.integers(len(common)))] if rng.random() < 0.8 else own
            said = f"{' '.join(rng.choice(WORDS, 12))} {int(rng.integers(10_000))}"
            args = {"command": text}
            steps.append(
                Step(
                    episode_id=name, number=place, action="run", at=AT, tool="bash", args=args, observation=said,
                    outcome="success",
                )
            )  # fmt: skip
        task = f"make the {' '.join(rng.choice(WORDS, 5))} work"
        episode = Episode(
            id=name, project="p", session="s", task_id=name, attempt=1, opened_at=AT, task=task, outcome="success"
        )
        made.append(Trajectory(episode=episode, steps=tuple(steps)))
    return made


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """Of the processor; the least of a few."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken)


def rates(told: Settings) -> dict[str, Any]:
    """Spans per second of a rollout and an update, and of their bounds."""
    vectors = Cached(hashed)
    traces = histories(episodes(60), vectors, told.shape)
    views = view_skills(INITIAL, vectors)
    net = ControllerNet(vectors([""]).shape[1], told.hidden, told.key, 0)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    bias, skills = torch.zeros(len(views)), skills_tensor(views, torch.device("cpu"))
    pairs = [(trace, limits) for trace in traces for limits in told.limits] * 6
    pairs = pairs[: told.rollouts]

    def rollout() -> list[Any]:
        generator = torch.Generator().manual_seed(0)
        return play_together(
            net, [t for t, _ in pairs], [b for _, b in pairs], views, bias, told.budget, told.k, generator
        )

    played = rollout()
    sequences = stretches(played, told.ppo, Normaliser())
    spans = sum(len(each.seen) for each in sequences)
    batch = make_batch(sequences, torch.device("cpu"))

    def forward() -> None:
        with torch.no_grad():
            net(batch.seen, skills)

    def both() -> None:
        for _ in range(told.ppo.epochs):
            logits, values, _ = net(batch.seen, skills)
            net.zero_grad()
            (logits.sum() + values.sum()).backward()

    endless = msgspec.structs.replace(told.ppo, target_kl=1e9)
    learn = seconds(lambda: update(net, optimizer, sequences, skills, bias, endless, np.random.default_rng(0)))
    return {
        "spans": spans,
        "rollout_spans_per_second": round(spans / seconds(rollout)),
        "bare_forward_spans_per_second": round(spans / seconds(forward)),
        "epochs": told.ppo.epochs,
        "update_spans_per_second": round(spans / learn),
        "bare_forward_backward_spans_per_second": round(spans / seconds(both)),
    }


def whole() -> dict[str, Any]:
    """The real process with its defaults, against the limits."""
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as name:
        folder = Path(name)
        (folder / "batch").mkdir()
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in episodes(EPISODES))
        (folder / "batch" / "trajectories.jsonl").write_bytes(lines)
        (folder / "settings.json").write_text("{}")
        command = [sys.executable, "-I", "-m", "prowess.training", "--batch", str(folder / "batch")]
        command += ["--out", str(folder / "out"), "--settings", str(folder / "settings.json")]
        began = time.perf_counter()
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        assert process.stdout is not None
        told = [json.loads(line) for line in process.stdout]
        code = process.wait()
        taken, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        most_mb = used.ru_maxrss // 1024
        return {
            "episodes": EPISODES,
            "exit": code,
            "seconds": round(taken, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            "most_mb": most_mb,
            "limits": {"seconds": MOST_SECONDS, "mb": MOST_MB},
            "within": code == 0 and taken < MOST_SECONDS and most_mb < MOST_MB,
            "result": {key: value for key, value in told[-1].items() if key.startswith(("reward", "skills", "iter"))},
        }


def main() -> int:
    """Print the line; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--default-run", action="store_true", help="minutes long")
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = rates(Settings())
    if given.default_run:
        results["default_run"] = whole()
    emit("memskill_throughput", results)
    return 0 if not given.default_run or results["default_run"]["within"] else 1


if __name__ == "__main__":
    sys.exit(main())
