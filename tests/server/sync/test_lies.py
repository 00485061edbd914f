"""A remote that answers something else than it was asked: told as such, and nothing is lost or goes on for ever."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hranadouble import Double, double
from machines import Machine, machines
from rounds import sync

from prowess.server.sync import hrana
from prowess.server.sync.errors import RemoteAway, RemoteError, RemoteGarbage
from prowess.storage.models import NewStep, Where

pytestmark = pytest.mark.anyio

WRITES = ("INSERT", "UPDATE", "DELETE")
ODD: list[Any] = [
    *(None, True, -1, 2**63, 10**400, 1.5, "x", [], [[]], {}),
    *({"type": "integer", "value": told} for told in ("9" * 5_000, "\u00b2", str(2**63), "-5")),
    *({"type": "float", "value": 10**400}, {"type": "text", "value": "z"}, {"type": "blob", "base64": "\u00e9"}),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from _places(item, (*path, name))


def _changed(answer: Any, chance: random.Random) -> Any:
    """``answer`` with one part of it replaced, left out or repeated."""
    path = chance.choice([*_places(answer)])
    if not path:
        return chance.choice(ODD)
    at = answer
    for name in path[:-1]:
        at = at[name]
    match chance.randrange(5):
        case 0:
            del at[path[-1]]
        case 1 if isinstance(at, list):
            at.insert(path[-1], at[path[-1]])
        case _:
            at[path[-1]] = chance.choice(ODD)
    return answer


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_it_answers_is_an_error_of_the_remote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(hrana, "BUSY_SECONDS", 0.1)
    chance = random.Random(seed)
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 2) as found:
        for machine in found:
            await _sees(machine, "first")
            await sync(machine.store, remote.url)
        remote.lie = lambda answer: _changed(answer, chance) if chance.random() < 0.4 else answer
        for number in range(50):
            machine = chance.choice(found)
            await _sees(machine, f"t{number}")
            with suppress(RemoteError), anyio.fail_after(20):
                await sync(machine.store, remote.url)
        remote.lie = lambda answer: answer
        for machine in (*found, *found):
            await sync(machine.store, remote.url)
        first, second = [await machine.dump() for machine in found]
        assert first == second
        assert len(first["episodes"]) == 52


async def _sees(machine: Machine, task: str) -> None:
    await machine.store.track(
        Where(task_id=task, session=machine.name), [NewStep(action="look")], origin=machine.origin
    )


def _loses(remote: Double, monkeypatch: pytest.MonkeyPatch, begins: tuple[str, ...] = WRITES) -> None:
    """From now on it says that it did what it was told, and keeps none of what begins with ``begins``."""
    carried_out: Callable[[Any], Any] = remote._run

    def run(statement: Any) -> Any:
        return {"rows": []} if statement["sql"].startswith(begins) else carried_out(statement)

    monkeypatch.setattr(remote, "_run", run)


async def test_what_it_loses_is_not_sent_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (one,):
        await _sees(one, "first")
        await sync(one.store, remote.url)
        await _sees(one, "second")
        with monkeypatch.context() as meanwhile, anyio.fail_after(20):
            _loses(remote, meanwhile)
            with pytest.raises(RemoteAway, match="does not keep"):
                await sync(one.store, remote.url)
        assert (await sync(one.store, remote.url)).pushed == one.store.head


async def test_an_erasure_that_it_loses_is_not_tried_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (one,):
        await _sees(one, "first")
        await sync(one.store, remote.url)
        [episode] = await one.store.episodes()
        await one.store.forget(episode_ids=[episode.id], origin=one.origin)
        with monkeypatch.context() as meanwhile, anyio.fail_after(20):
            _loses(remote, meanwhile)
            with pytest.raises(RemoteAway, match="does not keep"):
                await sync(one.store, remote.url)
        await sync(one.store, remote.url)
        assert await one.store.erasures(10) == ()


async def test_a_name_that_it_does_not_take_is_not_given_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one restored from a backup that can be read only."""
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 2) as (one, two):
        for machine in (one, two):
            await _sees(machine, "first")
            await sync(machine.store, remote.url)
        _loses(remote, monkeypatch)
        remote._database.execute("UPDATE prowess_segments SET first = first + 1000")
        with pytest.raises((RemoteAway, RemoteGarbage)), anyio.fail_after(20):
            await sync(two.store, remote.url)


@pytest.mark.parametrize("schema", ["9" * 5_000, "\u00b2", "", "two"])
async def test_a_schema_that_is_none_is_another_programs(tmp_path: Path, schema: str) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (one,):
        await sync(one.store, remote.url)
        remote._database.execute("UPDATE prowess_meta SET value = ? WHERE key = 'schema'", (schema,))
        with pytest.raises(RemoteError, match="another program"):
            await sync(one.store, remote.url)
