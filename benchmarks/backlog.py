"""Events that wait in the spool become one episode: what each costs where 1,000, 3,000 and 9,000 of one task wait.

``calls`` are tool calls alone; with ``turns`` every fifth is followed by the end of a turn, which asks what the task
was worth so far; with ``agent`` the agent has told of work of its own first, which each call may be. In the same run:
redb alone, which writes as many bytes in the largest batches. The cost of one must not depend on how many there are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import anyio
import redb

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, scratch, script

from prowess.server.capture.reader import BATCH, Capture
from prowess.server.hooks import spool
from prowess.server.hooks.records import record_of
from prowess.server.hub.hello import Hello
from prowess.server.opening import Opening
from prowess.server.settings import Settings
from prowess.storage.models import NewStep, Origin, Where

SIZES = (1_000, 3_000, 9_000)
TURN = 5
SAID = "src  tests  Makefile\n" * 20
SESSION = {"session_id": "bench", "cwd": "/"}
STEPS = redb.TableDefinition("steps", key="u64", value=bytes)


async def _project(hello: Hello) -> str:
    return "bench"


def _record(event: str, **given: Any) -> dict[str, Any]:
    record = record_of("claude-code", event, {**SESSION, **given}, "bench")
    assert record is not None
    return record


def _events(calls: int, *, turns: bool) -> Iterator[dict[str, Any]]:
    shell = _record("PostToolUse", tool_name="Bash", tool_input={}, tool_use_id="c", tool_response={"stdout": SAID})
    for number in range(calls):
        yield {**shell, "call": f"c{number}", "args": {"command": f"ls src/part{number}"}}
        if turns and number % TURN == 0:
            yield _record("Stop", last_assistant_message="Done so far.")


def _leave(home: Path, events: Iterator[dict[str, Any]]) -> int:
    """Put them into the spool as hooks do, without a process each; bytes of all."""
    folder, first, size = Path(spool.folder(str(home))), time.time_ns(), 0
    folder.mkdir(parents=True, exist_ok=True)
    for number, event in enumerate(events):
        data = json.dumps({"format": spool.FORMAT, **event}).encode()
        (folder / f"{first + number:020d}-0000001-bench.json").write_bytes(data)
        size += len(data)
    return size


async def _told_by_the_agent(opening: Opening) -> None:
    runtime = await opening.opened()
    where = Where(task_id="claude-code:bench:p1", project="bench", session="bench")
    own = [NewStep(action="plan", tool="Plan", args={"part": number}) for number in range(10)]
    await runtime.store.track(where, own, origin=Origin(client="claude-code", session="bench"))


async def drained(home: Path, calls: int, *, turns: bool = False, agent: bool = False) -> tuple[float, float]:
    """Seconds until all are stored, and of those the processor's."""
    opening = Opening(lambda: Settings(home=home, embedder="none"))
    capture = Capture(opening, home, _project)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opening.run)
        await opening.opened()
        _leave(home, iter([_record("UserPromptSubmit", prompt="Please mend the till of the shop", prompt_id="p1")]))
        await capture.drain()
        if agent:
            await _told_by_the_agent(opening)
            capture = Capture(opening, home, _project)  # as a hub that is new, and asks what was told before
        _leave(home, _events(calls, turns=turns))
        begin, busy = perf_counter(), process_time()
        await capture.drain()
        seconds = perf_counter() - begin, process_time() - busy
        (episode,) = await (await opening.opened()).store.episodes()
        assert episode.steps == calls + 10 * agent
        opening.close()
        tasks.cancel_scope.cancel()
    return seconds


def bound(home: Path, calls: int) -> tuple[float, float]:
    """Seconds in which redb writes the same bytes, with a commit for each batch."""
    values = [json.dumps(event).encode() for event in _events(calls, turns=False)]
    database = redb.Database.create(home / "bound.redb")
    begin, busy = perf_counter(), process_time()
    for start in range(0, calls, BATCH):
        with database.begin_write() as transaction:
            table = transaction.open_table(STEPS)
            for number, value in enumerate(values[start : start + BATCH], start):
                table.insert(number, value)
    seconds = perf_counter() - begin, process_time() - busy
    database.close()
    return seconds


async def main(sizes: Sequence[int]) -> None:
    results: dict[str, Any] = {}
    for calls in sizes:
        measured: dict[str, tuple[float, float]] = {}
        for name, options in (("calls", {}), ("turns", {"turns": True}), ("agent", {"agent": True})):
            with scratch() as folder:
                measured[name] = await drained(folder, calls, **options)
        with scratch() as folder:
            measured["redb_alone"] = bound(folder, calls)
        results[str(calls)] = {
            name: {"ms": round(1000 * whole / calls, 3), "cpu_ms": round(1000 * busy / calls, 3)}
            for name, (whole, busy) in measured.items()
        }
    emit("backlog", {"per_call": results})


if __name__ == "__main__":
    script(main, sizes=SIZES)
