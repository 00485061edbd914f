"""Small batches and runs: hashed vectors, a tiny net, a few episodes in which some steps come again."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from prowess.learning.memskill import Question, Shape, Trace, Turn, conversation, hashed
from prowess.learning.memskill.vectors import Cached
from prowess.storage.models import Episode, Step, Trajectory
from prowess.training.settings import Settings

LIMIT = 300.0  # seconds; a busy machine takes one for the import of torch alone
AT = "2026-11-29T13:00:00.000Z"
SMALL: dict[str, Any] = {
    "embedding": "none",
    "iterations": 4,
    "rollouts": 4,
    "hidden": 8,
    "key": 4,
    "memory_tokens": [60],
    "evaluate_every": 2,
    "design_every": 2,
    "trace_episodes": 10,
}
FACTS = ("visited", "bought", "married", "moved", "painted", "adopted", "won", "broke")
CHATTER = ("sounds great indeed", "wow that is nice", "how are you doing", "thanks so much dear")
SERVICES = ("gateway", "billing", "mailer", "search", "login", "images", "ads", "stock", "tax", "chat", "push", "bank")
PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Accra", "Hanoi", "Perth", "Sofia", "Turin", "Bergen", "Dakar", "Lima")


def settings(**changes: Any) -> Settings:
    return msgspec.convert({**SMALL, **changes}, Settings)


def talk(number: int, sessions: int = 12) -> Trace:
    """A conversation in which what happened (one of eight verbs, and a place) is asked for, and chatter is not."""
    facts = itertools.cycle(FACTS)
    turns, asked = [], []
    for session in range(sessions):
        verb, place = next(facts), PLACES[(session + number) % len(PLACES)]
        fact = f"{number}:{session}:0"
        said = [Turn(fact, f"Recently somebody {verb} something near {place}")]
        said += [Turn(f"{number}:{session}:{n}", f"{CHATTER[n]} part {session}") for n in range(1, 4)]
        turns.append(said)
        asked.append(Question(f"where was it that somebody {verb} in {place}", (fact,), place))
    return conversation(f"talk-{number}", turns, asked, Cached(hashed), Shape(span=2))


def episodes(count: int) -> list[Trajectory]:
    """Successful episodes that repeat one of four commands, beside steps that nobody repeats."""
    commands = ("find /srv -name config", "grep -rn timeout src", "tar -czf backup.tgz home", "chmod -R 755 public")
    made = []
    for number in range(count):
        texts = [f"look around number{number}a", commands[number % 4], f"echo finished number{number}b"]
        made.append(_episode(number, f"please do {commands[number % 4].split()[0]} again", texts))
    return made


def restarts(count: int) -> list[Trajectory]:
    """Successful episodes in which only the restart of one of twelve services comes again; what stands beside it has
    the paths and numbers that the initial memory skills keep, so that only another skill helps.
    """
    made = []
    for number in range(count):
        service = SERVICES[number % len(SERVICES)]
        parts = " ".join(f"{service}{part}" for part in ("", "db", "log", "web", "job"))
        texts = [f"cat /q{number}w{n}a/z{number}w{n}b --v{number}w{n}c {number}{n}7" for n in range(4)]
        texts.insert(1 + number % 3, f"restart service gently verify {parts}")
        made.append(_episode(number, f"please bring {service} back", texts))
    return made


def _episode(number: int, task: str, commands: list[str]) -> Trajectory:
    name = f"e{number}"
    steps = tuple(
        Step(
            episode_id=name,
            number=place,
            action="run",
            at=AT,
            tool="bash",
            args={"command": text},
            observation="ok",
            outcome="success",
        )
        for place, text in enumerate(commands, start=1)
    )
    episode = Episode(
        id=name, project="p", session="s", task_id=name, attempt=1, opened_at=AT, task=task, outcome="success"
    )
    return Trajectory(episode=episode, steps=steps)


def write_batch(folder: Path, count: int = 40) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trajectories.jsonl").write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in episodes(count)))
    return folder


def start(folder: Path, *more: str, env: dict[str, str] | None = None, **changes: Any) -> subprocess.Popen[bytes]:
    """The trainer's process on ``folder/batch``, writing to ``folder/out``."""
    told = folder / "settings.json"
    told.write_text(json.dumps({**SMALL, **changes}))
    command = [sys.executable, "-I", "-m", "prowess.training", "--batch", str(folder / "batch")]
    command += ["--out", str(folder / "out"), "--settings", str(told), *more]
    clean = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "HOME": str(folder), **(env or {})}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean)


def events(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def finish(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Its events, when it has ended. Its input stays open until then, since it leaves when that ends."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with process:
            killer = threading.Timer(LIMIT, process.kill)
            killer.start()
            output = process.stdout.read()
            errors = process.stderr.read()
            process.wait()
            killer.cancel()
    finally:
        process.kill()
    assert errors == b"", errors.decode()
    return events(output)
