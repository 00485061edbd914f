"""What is installed where, as the clients' own files tell it."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from prowess.server.install import codex_trust, json_file, toml_file
from prowess.server.install.clients import CLIENTS, Client, Scope, Surroundings, Target, targets
from prowess.server.install.errors import Refused, Unreadable
from prowess.server.install.jsontext import parse, value_at
from prowess.server.install.plan import read, text_of
from prowess.server.install.wants import Default, Handler
from prowess.server.shim import places

__all__ = ["Installed", "installed", "mending", "store_of"]

Found = Literal["ok", "outdated", "partial", "disabled", "untrusted", "unreadable"]


@dataclass(frozen=True, slots=True)
class Installed:
    """What a client has of ours in one scope.

    ``hooks`` has the command line of each event as the configuration has it. ``disabled``: all is there, but the
    client runs no hooks at all; ``untrusted``: Codex passes over these until they are reviewed.
    """

    client: Client
    scope: Scope
    files: tuple[Path, ...]
    state: Found
    hint: str = ""
    hooks: dict[str, str] = field(default_factory=dict)


def mending(client: Client, scope: Scope, store: Path | None) -> str:
    """The command that brings what is installed up to date; ``store`` is None for the default one."""
    where = ["--scope", "project"] if scope == "project" else []
    which = ["--store", str(store)] if store else []
    return shlex.join(["prowess", "install", client, *where, *which])


def store_of(hook: str, environment: Mapping[str, str]) -> Path:
    """The store that the command line ``hook`` serves."""
    try:
        words = shlex.split(hook.replace("\\", "/"))
    except ValueError:  # a person's, who left a quote open
        words = []
    return Path(places.home(words[-1] if words[-2:-1] == ["--store"] else None, environment))


def installed(around: Surroundings) -> list[Installed]:
    """Every client and scope in which something of ours is found, or in which nobody can tell."""
    found = []
    for client in CLIENTS:
        for scope in ("user", "project"):
            try:
                told = _look(client, scope, around)
            except Refused:  # no such scope, or the home folder taken for a project
                continue
            if told:
                found.append(told)
    return found


def _look(client: Client, scope: Scope, around: Surroundings) -> Installed | None:
    files = targets(client, scope, around)
    try:
        return _looked(client, scope, files, around)
    except Refused as error:
        return Installed(client, scope, (), "unreadable", f"{error}: {error.hint}")
    except OSError as error:  # such as a file that once was written by another user
        said = f"{error.filename or client}: {error.strerror}: see that you may read it"
        return Installed(client, scope, (), "unreadable", said)


def _looked(client: Client, scope: Scope, files: list[Target], around: Surroundings) -> Installed | None:
    states = {target.path: _states(target) for target in files}
    seen = [state for each in states.values() for state in each]
    if not any(state in ("ok", "outdated") for state in seen):
        return None
    state: Found = "outdated" if "outdated" in seen else "partial" if set(seen) != {"ok"} else "ok"
    again = mending(client, scope, around.store)
    hint = again if state != "ok" else ""
    if state == "ok" and (switch := _switch(client, files)):
        state, hint = "disabled", f"take out {switch}"
    elif state == "ok" and client == "codex" and not _trusted(files, around):
        state, hint = "untrusted", "start codex and review them with /hooks"
        hint += f", or {again} --trust-hooks" if scope == "user" else ""
    ours = tuple(path for path, each in states.items() if set(each) & {"ok", "outdated"})
    return Installed(client, scope, ours, state, hint, _hooks(files))


def _switch(client: Client, files: list[Target]) -> str:
    """The line that switches all hooks of the client off, with its file; "" for none."""
    for target in files:
        text = text_of(target, read(target.path))[1]
        if client == "claude-code" and target.path.name.startswith("settings"):
            if value_at(parse(text), ("disableAllHooks",)) is True:
                return f'"disableAllHooks" in {target.path}'
        elif target.format is toml_file:
            features = tomllib.loads(text).get("features")
            for name in ("hooks", "codex_hooks"):
                if isinstance(features, dict) and features.get(name) is False:
                    return f"features.{name} in {target.path}"
    return ""


def _states(target: Target) -> list[str]:
    try:
        text = text_of(target, read(target.path))[1]
        return [target.format.state(text, want) for want in target.wants if not isinstance(want, Default)]
    except Unreadable as error:
        raise error.at(target.path) from error


def _hooks(files: list[Target]) -> dict[str, str]:
    return {
        want.path[-1]: str(handler["command"])
        for target in files
        if target.format is json_file
        for want in target.wants
        if isinstance(want, Handler)
        for _, handler in json_file.handlers(text_of(target, read(target.path))[1], want)
    }


def _trusted(files: list[Target], around: Surroundings) -> bool:
    """Whether Codex has a person's word for each hook; it keeps them in the user's file, those of projects too."""
    hooks = next(target for target in files if target.format is json_file)
    config = next(target for target in targets("codex", "user", around) if target.format is toml_file)
    words = tuple(codex_trust.entries(hooks.path, text_of(hooks, read(hooks.path))[1], hooks.wants))
    return set(_states(replace(config, wants=words))) == {"ok"}
