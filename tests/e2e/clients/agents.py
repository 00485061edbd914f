"""The two real clients: how each is started without a person at it, and what its tools are called."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loopback import Call, Conversation, Say, Turn

__all__ = ["AGENTS", "Agent", "Claude", "Codex", "Task", "mend"]


@dataclass(frozen=True)
class Task:
    """One line of one file that a test finds wrong."""

    prompt: str
    file: str = ""
    wrong: str = ""
    right: str = ""
    tests: str = ""


class Agent(Protocol):
    """One client. ``name`` is what Prowess calls it."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str: ...

    @property
    def options(self) -> Sequence[str]:
        """Of ``prowess install``."""
        ...

    def prepare(self, home: Path) -> None:
        """Write what a person's own configuration has before Prowess is installed."""
        ...

    def environment(self, home: Path, url: str) -> Mapping[str, str]: ...

    def arguments(self, url: str, prompt: str, *, again: bool = False) -> Sequence[str]:
        """Of a session with one prompt, or of one that goes on with the last session ``again``."""
        ...

    def run(self, command: str) -> Turn:
        """Run a shell command."""
        ...

    def edit(self, repository: Path, task: Task) -> Sequence[Turn]:
        """Mend ``task``'s line."""
        ...

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Turn:
        """Call one of Prowess's tools."""
        ...

    def seen(self, conversation: Conversation, number: int) -> list[str]:
        """What the model was told in its request ``number``, apart from tools, their calls and results."""
        ...

    def session(self, output: str) -> str:
        """The id of the session that printed ``output``."""
        ...


def mend(agent: Agent, repository: Path, task: Task) -> list[Turn]:
    """A run of the tests that fails, the change, and a run that passes."""
    tests = agent.run(f"{sys.executable} -m pytest {task.tests}")
    return [tests, *agent.edit(repository, task), tests, Say("The test passes now.")]


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    contents = (message.get("content") or () for message in messages)
    parts = (part for content in contents for part in ([{"text": content}] if isinstance(content, str) else content))
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


class Claude:
    """Claude Code in print mode."""

    name = "claude-code"
    program = "claude"
    options = ()

    def prepare(self, home: Path) -> None:
        (home / ".claude").mkdir()
        (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
        allowed = ["Bash", "Edit", "Read", "mcp__prowess"]
        (home / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"allow": allowed}}, indent=2))

    def environment(self, home: Path, url: str) -> Mapping[str, str]:
        quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}

    def arguments(self, url: str, prompt: str, *, again: bool = False) -> Sequence[str]:
        return ["-p", "--output-format", "json", *(["--continue"] if again else []), "--", prompt]

    def run(self, command: str) -> Turn:
        return Call("Bash", {"command": command, "description": "Run a command"})

    def edit(self, repository: Path, task: Task) -> Sequence[Turn]:
        file = str(repository / task.file)
        change = {"file_path": file, "old_string": task.wrong, "new_string": task.right}
        return [Call("Read", {"file_path": file}), Call("Edit", change)]

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Turn:
        return Call(f"mcp__prowess__{tool}", arguments)

    def seen(self, conversation: Conversation, number: int) -> list[str]:
        request = conversation.requests[number]
        return _texts([{"content": request["system"]}, *request["messages"]])

    def session(self, output: str) -> str:
        return str(json.loads(output)["session_id"])


class Codex:
    """``codex exec``, which runs no hook that a person has not reviewed."""

    name = "codex"
    program = "codex"
    options = ("--trust-hooks",)
    _CONFIG = """\
# The model of this person is a server on the loopback.
model = "gpt-5.5"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false

[model_providers.loopback]
name = "loopback"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
"""

    def prepare(self, home: Path) -> None:
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(self._CONFIG)

    def environment(self, home: Path, url: str) -> Mapping[str, str]:
        return {"LOOPBACK_KEY": "none"}

    def arguments(self, url: str, prompt: str, *, again: bool = False) -> Sequence[str]:
        base = f'model_providers.loopback.base_url="{url}/v1"'
        return ["exec", "--json", "-c", base, *(["resume", "--last"] if again else []), prompt]

    def run(self, command: str) -> Turn:
        return Call("exec_command", {"cmd": command})

    def edit(self, repository: Path, task: Task) -> Sequence[Turn]:
        lines = ["*** Begin Patch", f"*** Update File: {task.file}", "@@", f"-{task.wrong}", f"+{task.right}"]
        return [Call("apply_patch", "\n".join([*lines, "*** End Patch", ""]))]

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Turn:
        return Call(tool, arguments, "mcp__prowess")

    def seen(self, conversation: Conversation, number: int) -> list[str]:
        return _texts(conversation.requests[number]["input"])

    def session(self, output: str) -> str:
        return str(json.loads(output.splitlines()[0])["thread_id"])


AGENTS: tuple[Agent, ...] = (Claude(), Codex())
