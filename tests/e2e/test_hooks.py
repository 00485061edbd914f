"""Many hooks at once, and hubs that are killed while they read: every event is stored, and stored once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from prowess.server.hooks import spool
from prowess.server.hooks.events import command
from prowess.server.hub import client
from prowess.server.shim import places
from prowess.storage.models import EpisodeFilter

pytestmark = pytest.mark.anyio

HOOKS = 50
KILLS = 4
SECONDS = 120.0


@contextmanager
def hub(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A hub of its own process; killed at the end where it still lives."""
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "prowess.server.hub", "--home", str(home)], stdin=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def begin(home: Path, event: str, **given: Any) -> subprocess.Popen[bytes]:
    """A hook that runs, with all that it wants to know written into its pipe."""
    told = {"session_id": "s1", "cwd": "/", "hook_event_name": event, **given}
    hook = subprocess.Popen(
        command("claude-code", event, store=str(home)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(told).encode())
    hook.stdin.close()
    return hook


def use(home: Path, number: int) -> subprocess.Popen[bytes]:
    given = {"tool_name": "Bash", "tool_use_id": f"c{number}", "tool_input": {"command": f"echo {number}"}}
    return begin(home, "PostToolUse", **given, tool_response={"stdout": str(number)})


def end_all(hooks: list[subprocess.Popen[bytes]]) -> None:
    assert {hook.wait(SECONDS) for hook in hooks} == {0}


async def until_empty(home: Path) -> None:
    with anyio.fail_after(SECONDS):
        while spool.names(str(home)):  # noqa: ASYNC110 - the hub tells nobody when it has read
            await anyio.sleep(0.02)


async def until_up(home: Path, process: subprocess.Popen[bytes]) -> None:
    with anyio.fail_after(SECONDS):
        while places.read_state(home).get("pid") != process.pid:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def stored(home: Path) -> list[str]:
    """The identities of all steps."""
    async with client.open_calls(home) as store:
        episodes = await store.episodes(EpisodeFilter())
        return [step.external_id or "" for episode in episodes for step in await store.summaries(episode.id)]


def identities(numbers: range) -> list[str]:
    return sorted(f"claude-code:s1:c{number}" for number in numbers)


async def test_fifty_hooks_at_once_lose_nothing(home: Path) -> None:
    with hub(home):
        end_all([use(home, number) for number in range(HOOKS)])
        await until_empty(home)
        assert sorted(await stored(home)) == identities(range(HOOKS))


async def test_hubs_that_are_killed_while_they_read_lose_and_double_nothing(home: Path) -> None:
    dice = random.Random(20261129)
    each = HOOKS // KILLS
    for turn in range(KILLS):
        with hub(home) as process:
            await until_up(home, process)
            hooks = [use(home, number) for number in range(turn * each, (turn + 1) * each)]
            await anyio.sleep(dice.random() * 0.6)  # the moment of the kill is what varies
            process.kill()
            end_all(hooks)
    with hub(home) as process:
        await until_up(home, process)  # the spool may be empty before it listens
        await until_empty(home)
        assert sorted(await stored(home)) == identities(range(KILLS * each))


async def test_what_was_left_while_no_hub_ran_is_read_by_the_one_that_a_prompt_starts(home: Path) -> None:
    end_all([use(home, number) for number in range(3)])
    assert len(spool.names(str(home))) == 3
    end_all([begin(home, "UserPromptSubmit", prompt="Mend the till of the shop")])
    try:
        await until_empty(home)
        assert sorted(await stored(home)) == identities(range(3))
    finally:
        await client.ask(home, "stop")
        assert await client.wait_until_gone(home, SECONDS)
