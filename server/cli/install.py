"""``prowess install`` and ``prowess uninstall``: the entries in the configuration of clients."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
import click

from prowess.learning.counting import counted
from prowess.server import install as installer
from prowess.server.cli.command import Failed, Run, command, confirm
from prowess.server.cli.exits import Exit
from prowess.server.cli.terminal import printed
from prowess.server.shim import places
from prowess.storage.errors import InvalidInput

__all__ = ["install", "uninstall"]

_NEXT = "It takes effect in the client's next session."
_REVIEW = "Codex runs these hooks only after a review: start codex and open /hooks"
_NOTES = {
    ("codex", "user"): f"{_REVIEW}, or give your word now with `prowess install codex --trust-hooks`.",
    ("codex", "project"): f"{_REVIEW}. It reads a project's configuration once you trust the project.",
    ("claude-code", "project"): "Claude Code asks you once whether to use the project's MCP server.",
}

_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="All projects of this user, or the project in the working directory.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Show the change as a diff and write nothing.")
_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask on a terminal.")
_client = click.argument("client", type=click.Choice([*installer.CLIENTS, "all"]))


def _surroundings(run: Run) -> installer.Surroundings:
    home = os.environ.get("PROWESS_HOME", "").strip()
    return installer.Surroundings.here(run.store or (Path(places.home(None, os.environ)) if home else None))


def _chosen(client: str, scope: installer.Scope, around: installer.Surroundings) -> list[installer.Client]:
    if client != "all":
        return [name for name in installer.CLIENTS if name == client]
    found = [name for name in installer.CLIENTS if installer.is_there(name, around)]
    if scope == "project":  # Claude Desktop has no projects
        found = [name for name in found if name != "claude-desktop"]
    if not found:
        raise Failed(
            "none of the clients was found here",
            hint=f"name the one that you mean: {', '.join(installer.CLIENTS)}",
            code=Exit.NOT_FOUND,
        )
    return found


def _targets(clients: Sequence[installer.Client], scope: installer.Scope, around: installer.Surroundings) -> list[Any]:
    return [target for client in clients for target in installer.targets(client, scope, around)]


def _records(run: Run) -> installer.Records:
    return installer.Records(Path(places.home(run.store, os.environ)))


def _go(
    run: Run, records: installer.Records, changes: list[installer.Change], notes: list[str], dry_run: bool, yes: bool
) -> dict[str, Any]:
    asked = sys.stdin is not None and sys.stdin.isatty() and not (yes or run.json or dry_run)
    if asked and any(change.state != "unchanged" for change in changes):
        _show_diffs(run, [change.diff() for change in changes])
        confirm(run, "Write this?", yes=False)
    if not dry_run:
        installer.carry_out(changes, records)
    return {"dry_run": dry_run, "changes": [_told(change, dry_run) for change in changes], "notes": notes}


def _told(change: installer.Change, dry_run: bool) -> dict[str, Any]:
    told = {"client": change.target.client, "scope": change.target.scope, "file": str(change.target.path)}
    return {**told, "state": change.state, **({"diff": change.diff()} if dry_run else {})}


async def _in_thread(work: Any, *arguments: Any) -> Any:
    try:
        return await anyio.to_thread.run_sync(work, *arguments)
    except installer.Refused as error:
        raise Failed(str(error), hint=error.hint) from error


def _show_diffs(run: Run, diffs: list[str]) -> None:
    for diff in filter(None, diffs):
        run.out.print(diff.rstrip("\n"))


def _show(run: Run, result: dict[str, Any]) -> None:
    if result["dry_run"]:
        _show_diffs(run, [change["diff"] for change in result["changes"]])
    for change in result["changes"]:
        state = (
            f"would be {change['state']}" if result["dry_run"] and change["state"] != "unchanged" else change["state"]
        )
        run.out.print(f"{state}: {printed(change['file'])}")
    for note in result["notes"]:
        run.note(note)


@command("install", example="prowess install claude-code --dry-run", show=_show)
@_client
@_scope
@_dry_run
@_yes
@click.option("--trust-hooks", is_flag=True, help="Codex: record your word that it may run these hooks.")
async def install(
    run: Run, *, client: str, scope: installer.Scope, dry_run: bool, yes: bool, trust_hooks: bool
) -> dict[str, Any]:
    """Put Prowess into a client's own configuration.

    That is the MCP server, hooks and instructions. Running it again changes nothing, or brings an older entry of ours
    up to date. What others wrote stays byte for byte; a file that does not parse is refused, and then no file is
    changed. `all` means the clients found here.
    """
    return await _in_thread(_install, run, client, scope, dry_run, yes, trust_hooks)  # type: ignore[no-any-return]


def _install(run: Run, client: str, scope: installer.Scope, dry_run: bool, yes: bool, trust: bool) -> dict[str, Any]:
    around = _surroundings(run)
    clients = _chosen(client, scope, around)
    if trust and (scope == "project" or "codex" not in clients):
        raise Failed(
            "--trust-hooks is for Codex and the user's scope",
            hint="review a project's hooks in codex, with /hooks",
            code=Exit.USAGE,
        )
    records = _records(run)
    changes = installer.installing(_targets(clients, scope, around), records, trust=trust)
    notes = _notes(changes, trust, dry_run=dry_run)
    return _go(run, records, changes, notes, dry_run, yes)


def _notes(changes: list[installer.Change], trust: bool, *, dry_run: bool) -> list[str]:
    """What a person still has to do, and from when on it counts."""
    changed = [change.target for change in changes if change.state != "unchanged"]
    if not changed:
        return []
    told = dict.fromkeys(
        (target.client, target.scope) for target in changed if not (trust and target.client == "codex")
    )
    return [*([] if dry_run else [_NEXT]), *(_NOTES[place] for place in told if place in _NOTES)]


@command("uninstall", example="prowess uninstall all", show=_show)
@_client
@_scope
@_dry_run
@_yes
async def uninstall(run: Run, *, client: str, scope: installer.Scope, dry_run: bool, yes: bool) -> dict[str, Any]:
    """Take Prowess out of a client's configuration again.

    A file that nobody changed since is as it was, byte for byte; of one that was edited only our entries go. The store
    stays, and so do exported skills, which are told.
    """
    return await _in_thread(_uninstall, run, client, scope, dry_run, yes)  # type: ignore[no-any-return]


def _uninstall(run: Run, client: str, scope: installer.Scope, dry_run: bool, yes: bool) -> dict[str, Any]:
    around = _surroundings(run)
    clients = list(installer.CLIENTS) if client == "all" else _chosen(client, scope, around)
    if scope == "project":
        clients = [name for name in clients if name != "claude-desktop" or client == name]
    records = _records(run)
    changes = installer.removing(_targets(clients, scope, around), records)
    touched = [change for change in changes if change.state != "unchanged" or str(change.target.path) in records.files]
    notes = [] if touched else ["nothing of ours was found"]
    left = [*_elsewhere(records, changes, clients, scope), *_exported(clients, scope, around)]
    return _go(run, records, touched, [*notes, *left], dry_run, yes)


def _elsewhere(
    records: installer.Records, changes: list[installer.Change], clients: Sequence[str], scope: str
) -> list[str]:
    """What an installation with other variables, or in other projects, wrote."""
    here = {str(change.target.path) for change in changes}
    return [
        f"still installed: {printed(path)} (go to that project, or set the variable that was set then)"
        for path, record in records.files.items()
        if path not in here and record.client in clients and record.scope == scope and Path(path).exists()
    ]


def _exported(clients: Sequence[str], scope: installer.Scope, around: installer.Surroundings) -> list[str]:
    """The skills that ``prowess skills export`` put into the agents' folders: they act without the server too."""
    from prowess.server.skills.hosts import HOSTS, exported, host_folder

    told = []
    for client in clients:
        if host := HOSTS.get(client.removesuffix("-code")):
            with suppress(InvalidInput, OSError):  # a folder that no export would have written to
                folder = host_folder(host, scope, around.home, around.project, around.environment)
                if count := len(exported(folder)):
                    wanted = f"--to {host.name}" + (" --scope project" if scope == "project" else "")
                    skills = counted(count, "exported skill stays", "exported skills stay")
                    remedy = f"`prowess skills export {wanted} --remove` takes out those of this store"
                    told.append(f"{skills} in {printed(folder)}: {remedy}")
    return told
