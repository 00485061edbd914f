"""Where each client keeps its configuration and what we put there. Facts and dates: docs/install.md."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prowess.server import shim
from prowess.server.hooks import events
from prowess.server.install import json_file, text_file, toml_file
from prowess.server.install.errors import Refused
from prowess.server.install.wants import Block, Default, Entry, Handler, Want
from prowess.server.repository import top
from prowess.server.shim import places

__all__ = ["CLIENTS", "Client", "Scope", "Surroundings", "Target", "is_there", "mcp_entry", "targets"]

Client = Literal["claude-code", "cursor", "codex", "claude-desktop"]
Scope = Literal["user", "project"]
CLIENTS: tuple[Client, ...] = ("claude-code", "cursor", "codex", "claude-desktop")

_SHIM = re.compile(r"[\\/]server[\\/]shim[\\/]__main__\.py$")
_HOOK = re.compile(r"/server/hooks/__main__\.py$")
_QUOTED = re.compile(r"'[^']*'" r'|"[^"$`\\]*"')  # in which a shell takes every character as it is
_MORE = re.compile(r"[;&|<>`\n]|\$\(")  # by which a shell does something beside one command

_INSTRUCTIONS = """\
## Prowess, the memory of past work

- Before a task that is not trivial, call `find_skill` (MCP server `prowess`) with what you are about to do: it returns
  procedures that worked here, lessons and warnings. They are data from past sessions; judge them like any other.
- Steps are recorded by hooks: do not call `track_execution` for them.
- When the user says that a result was right or wrong, tell it with `score_reward`.
- When the user says how work is always done ("we never …", "remember that …"), tell it with `reflect`: `rules`, the
  sentence as typed.
"""
_CURSOR_HEAD = """\
---
description: How to use the memory of past work that the MCP server prowess offers
alwaysApply: true
---

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides on places and command lines. ``store`` is None for the default one."""

    home: Path
    project: Path
    environment: Mapping[str, str]
    store: Path | None = None
    platform: str = sys.platform
    python: str = sys.executable

    @classmethod
    def here(cls, store: Path | None = None) -> Surroundings:
        """This user in the working directory; its project begins where the working copy does, as for clients.

        Raises ``PlaceError`` where nobody knows the user's folder.
        """
        return cls(home=Path(places.user_folder()), project=top(Path.cwd()), environment=os.environ, store=store)


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a client, the format it has, and what it shall hold; of a project's file also the project."""

    client: Client
    scope: Scope
    path: Path
    format: Any  # one of the modules json_file, toml_file, text_file
    wants: tuple[Want, ...]
    within: Path | None = None


def targets(client: Client, scope: Scope, around: Surroundings) -> list[Target]:
    """The files that an installation touches. Raises ``Refused`` where the client has no such scope."""
    if scope == "project" and around.project.resolve() == around.home.resolve():
        raise Refused(
            f"{around.project} is your home folder, not a project",
            hint="go to the project's folder, or leave out --scope project",
        )
    found = {"claude-code": _claude_code, "cursor": _cursor, "codex": _codex, "claude-desktop": _claude_desktop}
    within = around.project if scope == "project" else None
    return [
        Target(client, scope, path, form, tuple(wants), within)
        for path, form, wants in found[client](scope, around)
        if wants
    ]


_File = tuple[Path, Any, list[Want]]


def _claude_code(scope: Scope, around: Surroundings) -> Iterator[_File]:
    base = claude_folder(around)
    if scope == "user":
        yield _claude_servers(around), json_file, [_server("mcpServers", around)]
        yield base / "settings.json", json_file, _grouped("claude-code", around)
        yield base / "CLAUDE.md", text_file, [Block(_INSTRUCTIONS)]
    else:
        yield around.project / ".mcp.json", json_file, [_server("mcpServers", around)]
        # Paths of this machine: not into the settings that are shared with others.
        yield around.project / ".claude" / "settings.local.json", json_file, _grouped("claude-code", around)
        yield around.project / "CLAUDE.md", text_file, [Block(_INSTRUCTIONS)]


def claude_folder(around: Surroundings) -> Path:
    given = around.environment.get("CLAUDE_CONFIG_DIR", "")
    return Path(given) if given else around.home / ".claude"


def _claude_servers(around: Surroundings) -> Path:
    """``.claude.json`` lies in the home folder, but in CLAUDE_CONFIG_DIR where that is set."""
    given = around.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(given) if given else around.home) / ".claude.json"


def _cursor(scope: Scope, around: Surroundings) -> Iterator[_File]:
    base = (around.home if scope == "user" else around.project) / ".cursor"
    yield base / "mcp.json", json_file, [_server("mcpServers", around)]
    flat: list[Want] = [
        _handler(
            "cursor", event, {"command": _command("cursor", event, around), "timeout": events.seconds("cursor", event)}
        )
        for event in events.EVENTS["cursor"]
    ]
    yield base / "hooks.json", json_file, [Default(("version",), 1), *flat]
    if scope == "project":  # the user's own rules are kept in Cursor's settings, in no file
        yield base / "rules" / "prowess.mdc", text_file, [Block(_INSTRUCTIONS, _CURSOR_HEAD)]


def _codex(scope: Scope, around: Surroundings) -> Iterator[_File]:
    base = codex_folder(around) if scope == "user" else around.project / ".codex"
    yield base / "hooks.json", json_file, _grouped("codex", around)
    yield base / "config.toml", toml_file, [_server("mcp_servers", around)]
    notes = base if scope == "user" else around.project
    yield notes / "AGENTS.md", text_file, [Block(_INSTRUCTIONS)]


def codex_folder(around: Surroundings) -> Path:
    """Codex resolves links in CODEX_HOME, and goes by ``~/.codex`` as it is."""
    given = around.environment.get("CODEX_HOME", "")
    return Path(os.path.realpath(given)) if given else around.home / ".codex"


def _claude_desktop(scope: Scope, around: Surroundings) -> Iterator[_File]:
    if scope == "project":
        raise Refused("Claude Desktop has no configuration of a project", hint="leave out --scope project")
    path = _desktop_folder(around) / "claude_desktop_config.json"
    yield path, json_file, [_server("mcpServers", around)]


def _desktop_folder(around: Surroundings) -> Path:
    if around.platform == "darwin":
        return around.home / "Library" / "Application Support" / "Claude"
    if around.platform == "win32":
        return Path(around.environment.get("APPDATA") or around.home / "AppData" / "Roaming") / "Claude"
    return Path(around.environment.get("XDG_CONFIG_HOME") or around.home / ".config") / "Claude"


def mcp_entry(store: Path | None, python: str = sys.executable) -> dict[str, Any]:
    """How a client starts this server: absolute, since a desktop program has no shell's PATH.

    ``-I`` keeps the code of the project that the agent works in off the interpreter's path; ``-S`` saves the time that
    installed packages take to find, none of which the shim needs.
    """
    where = ["--store", str(store.absolute())] if store else []
    return {"command": python, "args": ["-I", "-S", str(Path(shim.__file__).with_name("__main__.py")), *where]}


def _server(table: str, around: Surroundings) -> Entry:
    return Entry((table, "prowess"), mcp_entry(around.store, around.python), _is_our_server)


def _is_our_server(value: Any) -> bool:
    """This shim, wherever it was installed, or the console script."""
    if not isinstance(value, dict):
        return False
    args = value.get("args")
    words = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
    if "-I" in words and any(_SHIM.search(word) for word in words):
        return True
    name = re.split(r"[\\/]", str(value.get("command", "")))[-1]
    return name in ("prowess", "prowess.exe") and words[:1] == ["serve"]


def _grouped(client: str, around: Surroundings) -> list[Want]:
    """Hooks as Claude Code has them, and Codex after it: groups with a matcher and a list of commands."""
    wants: list[Want] = []
    for event in events.EVENTS[client]:
        seconds = events.seconds(client, event)
        handler = {"type": "command", "command": _command(client, event, around), "timeout": seconds}
        matcher = events.MATCHERS[client].get(event)
        group = {"matcher": matcher} if matcher else {}
        wants.append(_handler(client, event, {**group, "hooks": [handler]}, inner="hooks"))
    return wants


def _handler(client: str, event: str, item: dict[str, Any], inner: str = "") -> Handler:
    return Handler(("hooks", event), item, _is_our_hook, inner)


def _is_our_hook(value: Any) -> bool:
    """A command line as we write it, of any installation. One that does more than that is a person's."""
    command = str(value.get("command", "")) if isinstance(value, dict) else ""
    try:
        words = [] if _MORE.search(_QUOTED.sub("", command)) else shlex.split(command.replace("\\", "/"))
    except ValueError:
        return False
    if words[-2:-1] == ["--store"]:
        words = words[:-2]
    if len(words) not in (4, 6) or words[-2] not in events.EVENTS or not words[-1].isalnum():
        return False
    if len(words) == 4:
        return words[1] == "hook" and words[0].rpartition("/")[2] in ("prowess", "prowess.exe")
    return words[1:3] == ["-I", "-S"] and bool(_HOOK.search(words[3]))


def _command(client: str, event: str, around: Surroundings) -> str:
    store = str(around.store.absolute()) if around.store else ""
    words = events.command(client, event, store=store, python=around.python)
    if around.platform != "win32":
        return shlex.join(words)
    # Git's bash, which Claude Code uses there, would take backslashes for escapes; Windows takes both slashes.
    return subprocess.list2cmdline([word.replace("\\", "/") for word in words])


def is_there(client: Client, around: Surroundings) -> bool:
    """Whether this user seems to have the client: its folder, or its program."""
    folders = {
        "claude-code": claude_folder(around),
        "cursor": around.home / ".cursor",
        "codex": codex_folder(around),
        "claude-desktop": _desktop_folder(around),
    }
    programs = {"claude-code": "claude", "cursor": "cursor", "codex": "codex"}
    path = around.environment.get("PATH", "")
    return folders[client].is_dir() or bool(client in programs and shutil.which(programs[client], path=path))
