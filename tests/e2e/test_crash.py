"""A process that writes is killed at random moments; whatever it was told is stored must be there, once.

``PROWESS_CRASH_KILLS`` sets how often (default 15), ``PROWESS_CRASH_SEED`` where the moments come from.
"""

from __future__ import annotations

import os
import random
import selectors
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO

import anyio
import anyio.to_thread
import pytest

from prowess.storage.log.codec import decode_step
from prowess.storage.log.file import LogFile
from prowess.storage.log.tables import STEPS
from prowess.storage.models import EpisodeFilter, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

KILLS = int(os.environ.get("PROWESS_CRASH_KILLS", "15"))
SEED = int(os.environ.get("PROWESS_CRASH_SEED", "20261129"))
# Each life lasts up to so long from one of three moments, for a busy machine takes any time from one to the next.
MOMENTS = ("", "try ", "stored ")
LONGEST_LIFE_S = 1.0
SECONDS = 180.0  # for such a moment to come: a cold Python on a busy machine, and then some
WRITERS = 4
ORIGIN = Origin(client="crash")

CHILD = """
import sys
from pathlib import Path
import anyio
from prowess.storage.log import file
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

ORIGIN = Origin(client="crash")

def say(*words):
    sys.stdout.write(" ".join(words) + "\\n")
    sys.stdout.flush()

async def write(store, run, name):
    where = Where(task_id=f"{run}-{name}")
    for turn in range(10_000):
        key = f"{run}-{name}-{turn}"
        say("try", key)
        await store.track(where, [NewStep(action=key, observation="o" * (turn % 7) * 500)], origin=ORIGIN, key=key)
        say("stored", key)
        if turn % 5 == 0:
            await store.score(where, [NewReward(value=1.0, reason=key)], origin=ORIGIN)
            await store.stats()

async def care(store, run, folder):
    for turn in range(10_000):
        where = Where(task_id=f"gone-{run}-{turn}")
        await store.track(where, [NewStep(action="gone", observation="o" * 5000)], origin=ORIGIN)
        await store.backup(Path(folder) / "backups" / f"{run}-{turn}")
        await store.forget(task_id=where.task_id, origin=ORIGIN)
        say("forgot", where.task_id)

async def main(folder, run, writers, quick_repair_bytes, with_care):
    file.QUICK_REPAIR_BYTES = int(quick_repair_bytes)
    async with Store.open(Path(folder)) as store, anyio.create_task_group() as tasks:
        if with_care == "True":
            tasks.start_soon(care, store, run, folder)
        for name in range(int(writers)):
            tasks.start_soon(write, store, run, name)

anyio.run(main, *sys.argv[1:])
"""


class Told:
    """What one process said before it was killed."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.stored: set[str] = set()
        self.forgot: set[str] = set()

    def take(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            # A line cut by the kill was never said.
            if line.endswith("\n"):
                word, _, key = line.strip().partition(" ")
                if word == "try":
                    self.tried.append(key)
                else:
                    (self.stored if word == "stored" else self.forgot).add(key)


def _run_and_kill(folder: Path, run: str, moment: str, life_s: float, quick_repair_bytes: int, with_care: bool) -> Told:
    command = [
        sys.executable,
        "-I",
        "-c",
        CHILD,
        str(folder),
        run,
        str(WRITERS),
        *map(str, (quick_repair_bytes, with_care)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdout is not None
        said = _read_until(child.stdout, moment.encode())
        said += _read_for(child.stdout, life_s)
        assert child.poll() is None, f"the writer ended by itself with {child.returncode}"
        child.kill()
        said += child.stdout.read()
        child.wait(SECONDS)
    told = Told()
    told.take(said.decode())
    return told


def _read_until(stream: IO[bytes], word: bytes) -> bytes:
    """What comes up to ``word``, and what came with it."""
    end = time.monotonic() + SECONDS
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while word not in said:
            assert selector.select(end - time.monotonic()), f"not within {SECONDS:g} s: {word!r} after {said!r}"
            piece = os.read(stream.fileno(), 1 << 16)
            assert piece, f"the writer ended by itself after {said!r}"
            said += piece
    return said


def _read_for(stream: IO[bytes], seconds: float) -> bytes:
    """What comes within ``seconds``."""
    end = time.monotonic() + seconds
    pieces: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0:
            if selector.select(left):
                pieces.append(os.read(stream.fileno(), 1 << 16))
    return b"".join(pieces)


def _actions_in_log(path: Path) -> Counter[str]:
    file = LogFile(path, "t")
    try:
        with file.read() as view:
            rows = list(view.table(STEPS))
    finally:
        file.close()
    steps = [decode_step(raw, "e", number) for (_, number), raw in rows]
    return Counter(step.action for step in steps if step is not None)


def _where(key: str) -> Where:
    return Where(task_id=key.rpartition("-")[0])


async def _actions_in_catalog(store: Store, run: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in range(WRITERS):
        for episode in await store.episodes(EpisodeFilter(task_id=f"{run}-{name}")):
            found.update(step.action for step in await store.summaries(episode.id))
    return found


@pytest.mark.parametrize("with_care", [False, True], ids=["writing", "forgetting beside it"])
async def test_a_killed_process_loses_nothing_that_it_was_told_is_stored(tmp_path: Path, with_care: bool) -> None:
    folder = tmp_path / "store"
    dice = random.Random(SEED)
    everything: set[str] = set()
    for kill in range(KILLS):
        # Both kinds of commit, for small files and for large ones, on one file.
        run, quick_repair_bytes, life_s = f"run{kill}", (0, 1 << 40)[kill % 2], dice.uniform(0.0, LONGEST_LIFE_S)
        moment = MOMENTS[kill % len(MOMENTS)]
        told = await anyio.to_thread.run_sync(_run_and_kill, folder, run, moment, life_s, quick_repair_bytes, with_care)
        async with Store.open(folder) as store:
            catalog = await _actions_in_catalog(store, run)
            assert told.stored <= set(catalog), f"lost at kill {kill} of seed {SEED}"
            assert set(catalog) <= set(told.tried)
            assert set(catalog.values()) <= {1}
            await _try_again(store, told)
            assert await _actions_in_catalog(store, run) == Counter(told.tried)
            for task_id in told.forgot:
                assert await store.find_episode(Where(task_id=task_id)) is None
        everything.update(told.tried)
    assert len(everything) >= KILLS // len(MOMENTS) * 2
    in_log = _actions_in_log(folder / "log.redb")
    # One step may have been told and not yet forgotten at each kill.
    assert in_log.pop("gone", 0) <= KILLS
    assert in_log == Counter(everything)
    await _compare_with_rebuilt(folder)


async def _try_again(store: Store, told: Told) -> None:
    """As a client does that was not answered: the same keys, and so each step is stored once."""
    for key in told.tried:
        if key not in told.stored:
            size = int(key.rpartition("-")[2]) % 7 * 500
            step = NewStep(action=key, observation="o" * size)
            await store.track(_where(key), [step], origin=ORIGIN, key=key)


async def _compare_with_rebuilt(folder: Path) -> None:
    async with Store.open(folder) as store:
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
