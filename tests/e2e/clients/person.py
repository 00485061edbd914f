"""A person's home with Prowess installed into the clients, and the repositories that the clients work in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import Agent, Task
from chaos import wait_for
from loopback import Conversation, ModelServer, Turn

from prowess.server.hooks import spool

__all__ = ["SECONDS", "Person", "Worked"]

SECONDS = 120.0  # for one session: a cold hub, node and a dozen Pythons on a busy machine
_GIT = ("-c", "user.name=Person", "-c", "user.email=person@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Worked:
    """One session of a client: its output, and what was said between it and the model."""

    agent: Agent
    task: Task
    conversation: Conversation
    output: str

    @property
    def session(self) -> str:
        """The client's id of it."""
        return self.agent.session(self.output)

    @property
    def seen(self) -> str:
        """What the model was told before it said anything."""
        return "\n".join(self.agent.seen(self.conversation, 0))


class Person:
    """Everything below ``home``; the store is where it is for a person who sets nothing."""

    def __init__(self, home: Path, programs: Path, models: ModelServer) -> None:
        self.home = home
        self._programs = programs
        self._models = models
        self.store = home / ".local" / "share" / "prowess"
        self.store.mkdir(parents=True)
        (self.store / "config.toml").write_text('embedder = "none"\nlearn_after = 0\nwithhold = 0\n')
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}

    def install(self, agent: Agent) -> None:
        agent.prepare(self.home)
        self.prowess("install", agent.name, "--yes", *agent.options)

    def prowess(self, *words: str) -> Any:
        """What a command prints as JSON."""
        done = self._run([sys.executable, "-I", "-m", "prowess.server", *words, "--json"], self.home, {})
        return json.loads(done.stdout)

    def leave(self) -> None:
        """End the hub and erase the home."""
        try:
            self.prowess("hub", "stop")
        finally:
            shutil.rmtree(self.home)

    def client(self, agent: Agent, *words: str) -> str:
        """What the client's own command prints."""
        return self._run([str(self._programs / agent.program), *words], self.home, {}).stdout

    def repository(self, name: str, files: dict[str, str]) -> Path:
        """A new git repository with one commit."""
        folder = self.home / "work" / name
        folder.mkdir(parents=True)
        # Without it pytest would take the settings of a folder above.
        for file, text in {"pytest.ini": "[pytest]\n", **files}.items():
            (folder / file).write_text(text)
        for words in (("init", "-q"), ("add", "."), (*_GIT, "commit", "-qm", "Begin")):
            self._run(["git", *words], folder, {})
        return folder

    def work(
        self,
        agent: Agent,
        repository: Path,
        task: Task,
        script: list[Turn],
        before: Callable[[int], None] | None = None,
        *,
        again: bool = False,
    ) -> Worked:
        """Let the client do ``task`` while the model plays ``script``; ``before`` as in ``Conversation``.

        It goes on with the last session in ``repository`` where that is to be done ``again``.
        """
        url, conversation = self._models.play(script)
        conversation.before = before or conversation.before
        command = [str(self._programs / agent.program), *agent.arguments(url, task.prompt, again=again)]
        done = self._run(command, repository, dict(agent.environment(self.home, url)))
        assert conversation.played == len(script), done.stdout + done.stderr
        # What the last hooks told is filed while nobody waits for it.
        if self.store.is_dir():
            wait_for("the spool is empty", lambda: not spool.names(str(self.store)), SECONDS)
        return Worked(agent, task, conversation, done.stdout)

    def _run(self, command: list[str], folder: Path, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **more}
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done
