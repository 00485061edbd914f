"""A client's session as its hooks tell it, straight into the spool."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio.to_thread
from hubkit import Peer

from prowess.server.hooks import hub as hooks_hub
from prowess.server.hooks import spool
from prowess.server.hooks.records import record_of
from prowess.server.hub.hub import Hub
from prowess.storage.models import Episode, EpisodeFilter, Origin, Step
from prowess.storage.store import Store

__all__ = ["TRACK", "Client", "ask", "call", "put", "save", "waiting"]

TRACK = {"tool": "Bash", "action": "run the tests", "args": {"command": "pytest -q"}, "observation": "3 passed in 0.1s"}


async def call(peer: Peer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool's answer to the agent."""
    result = await peer.call(tool, arguments)
    assert not result.get("isError"), result
    found: dict[str, Any] = result["structuredContent"]
    return found


def waiting(home: Path) -> dict[str, bytes]:
    """The files of the spool."""
    folder = Path(spool.folder(str(home)))
    return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.is_dir() else {}


def put(home: Path, files: dict[str, bytes]) -> None:
    """Leave files in the spool as they are."""
    folder = Path(spool.folder(str(home)))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


class Client:
    """Leaves the events of one session for a hub, and looks at what became of them."""

    def __init__(self, hub: Hub, home: Path, *, name: str = "claude-code", session: str = "s1", cwd: str = "/") -> None:
        self._hub = hub
        self._home = str(home)
        self._calls = count(1)
        self.name, self.session, self.cwd = name, session, cwd
        self.prompts = count(1)

    def leave(self, event: str, **given: Any) -> str:
        """One event, as the hook's process leaves it."""
        told = {"session_id": self.session, "cwd": self.cwd, "hook_event_name": event, **given}
        record = record_of(self.name, event, told, "shop")
        assert record is not None
        name = spool.write(self._home, record)
        self._hub.capture.poke()
        return name

    def prompt(self, text: str, **given: Any) -> None:
        self.leave("UserPromptSubmit", **{"prompt": text, "prompt_id": f"p{next(self.prompts)}", **given})

    def shell(self, command: str, said: str = "", *, call: str = "", failed: bool = False, **given: Any) -> str:
        """A command, and the id of its call."""
        call = call or f"c{next(self._calls)}"
        told = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call, **given}
        if failed:
            self.leave("PostToolUseFailure", **told, error=f"Exit code 1\n{said}")
        else:
            self.leave("PostToolUse", **told, tool_response={"stdout": said, "stderr": ""})
        return call

    async def store(self) -> Store:
        """The store, with all that was left in it."""
        await self._hub.capture.drain()
        return (await self._hub.opening.opened()).store

    async def episodes(self) -> list[Episode]:
        """The oldest first."""
        return list(reversed(await (await self.store()).episodes(EpisodeFilter(project="shop"))))

    async def steps(self, at: int = 0) -> list[Step]:
        """Of the episode that was opened ``at``."""
        episode = (await self.episodes())[at]
        return list(await (await self.store()).steps(episode.id))

    async def evidence(self, at: int = 0) -> dict[str, float | None]:
        """Rewards of the episode that was opened ``at``, by source."""
        episode = (await self.episodes())[at]
        return {reward.source: reward.value for reward in await (await self.store()).rewards(episode.id)}


async def ask(home: Path, kind: str, name: str, session: str = "s1", **more: str) -> dict[str, Any]:
    """What a hook of ``kind`` is answered."""
    question = {"event": name, "kind": kind, "client": "claude-code", "session": session, **more}
    return await anyio.to_thread.run_sync(partial(hooks_hub.ask, str(home), question, 60.0))


async def save(agent: Client, *events: Any) -> None:
    """Append ``events`` as a person."""
    await (await agent.store()).append(events, origin=Origin(actor="person"))
