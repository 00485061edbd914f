"""Imports beside hooks, and imports that were interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from clikit import Command
from transcriptkit import SAMPLES, episode_of, shell, user, write

from prowess.server.transcripts import importer
from prowess.server.transcripts.episodes import external_id
from prowess.storage.errors import StoreUnavailable
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

REAL = SAMPLES / "claude-code" / "projects"
SESSION = "755ec461-27ba-4636-adc4-27c77c9964d2"


def tell_as_a_hook(store: Path, calls: list[str]) -> None:
    async def tell() -> None:
        async with Store.open(store) as opened:
            where = Where(task_id="hooked", session=SESSION, task="Told by a hook", agent="claude-code")
            steps = [NewStep(action=call, external_id=external_id("claude-code", SESSION, call)) for call in calls]
            await opened.track(where, steps, origin=Origin(client="claude-code", session=SESSION))

    anyio.run(tell)


def test_steps_that_a_hook_told_are_not_stored_again(tmp_path: Path, prowess: Command) -> None:
    calls = [f"toolu_{name}" for name in ("a1", "a2", "a3", "a3b", "a4", "a5", "a6", "b1", "c1", "s1", "s2")]
    tell_as_a_hook(tmp_path / "store", calls)
    ended = prowess("import", "claude-code", REAL, "--json")
    assert (ended.json["episodes"], ended.json["steps"], ended.json["known"]) == (0, 0, 2)
    assert len(prowess("episodes", "list", "--json").json) == 1


def test_steps_that_a_hook_missed_are_added_to_its_episode(tmp_path: Path, prowess: Command) -> None:
    tell_as_a_hook(tmp_path / "store", ["toolu_a1", "toolu_a2", "toolu_a6"])
    assert prowess("import", "claude-code", REAL, "--json").json["steps"] == 8
    hooked = episode_of(prowess, "Told by a hook")
    assert [step["action"] for step in hooked["steps"]].count("toolu_a1") == 1
    assert (len(hooked["steps"]), hooked["rewards"]) == (10, [])
    assert len(episode_of(prowess, "Now show me")["steps"]) == 1


def test_a_task_that_was_forgotten_stays_so(prowess: Command) -> None:
    prowess("import", "claude-code", REAL)
    episodes = prowess("episodes", "list", "--json").json
    prowess("forget", "--episode", episodes[0]["episode_id"], "--yes")
    again = prowess("import", "claude-code", REAL, "--json")
    assert (again.code, again.json["episodes"], again.json["broken_lines"]) == (0, 0, 0)
    assert len(prowess("episodes", "list", "--json").json) == len(episodes) - 1


def test_an_import_that_was_interrupted_is_gone_on_with(
    tmp_path: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        session = [user(0, f"Count shelf {number}", uuid=f"p{number}"), *shell(1, f"t{number}", "ls", "orders")]
        records = [{**record, "sessionId": f"s{number}", "uuid": f"{number}-{i}"} for i, record in enumerate(session)]
        write(tmp_path / "projects" / f"s{number}.jsonl", records)
    whole, stored = importer._store, []

    async def fails_once(episode: Any, *others: Any) -> int:
        stored.append(episode)
        if len(stored) == 2:
            raise StoreUnavailable("the disk is full", hint="make room")
        return await whole(episode, *others)

    monkeypatch.setattr(importer, "_store", fails_once)
    assert prowess("import", "claude-code", tmp_path / "projects").code == 6
    ended = prowess("import", "claude-code", tmp_path / "projects", "--json")
    assert (ended.json["episodes"], ended.json["known"]) == (2, 1)
    assert len(prowess("episodes", "list", "--json").json) == 3
