"""``prowess import``: past work into the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio.to_thread
import click

from prowess.learning.counting import counted
from prowess.server.cli.command import Failed, PathGiven, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.terminal import beginning, printed, table

if TYPE_CHECKING:
    from prowess.server.transcripts.importer import Client, ImportedTranscripts

__all__ = ["import_group"]

TASK_SHOWN = 60


@click.group("import")
def import_group() -> None:
    """Take past work into the store."""


def show(run: Run, result: dict[str, Any]) -> None:
    known = f", {result['known']} known already" if result["known"] else ""
    run.out.print(f"{_counts(result)} imported{known}")


def _counts(result: dict[str, Any]) -> str:
    return f"{counted(result['episodes'], 'episode')} with {counted(result['steps'], 'step')}"


@command("jsonl", example="prowess import jsonl trajectories.jsonl --project shop", show=show, group=import_group)
@click.argument("path", type=PathGiven(exists=True, dir_okay=False, allow_dash=True))
@click.option("--project", help="Project of the lines that name none.")
async def jsonl(run: Run, path: str, project: str | None) -> dict[str, Any]:
    """Import PATH (- for standard input), one episode per line.

    The format is described in docs/import-format.md. A broken line is told and left out, all others are stored;
    importing the same file again stores nothing twice.
    """
    from prowess.server.cli.session import open_context
    from prowess.server.importer import import_jsonl

    with _opened(path) as (file, size):
        async with open_context(run, project=project, create=True) as ctx:
            with run.progress("importing", size) as report:
                result = await import_jsonl(file, ctx, report=report)
    for broken in result.broken:
        run.note(f"{path}:{broken.line}: {broken.reason}")
    if result.broken_lines:
        run.note(f"left out: {result.broken_lines} of {counted(result.lines, 'line')}")
        run.code = Exit.FAILED
    return asdict(result)


@contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, float]]:
    if path == "-":
        if sys.stdin is None:
            raise Failed("standard input is closed", hint="name a file", code=Exit.USAGE)
        yield sys.stdin.buffer, 0
        return
    with open(path, "rb") as file:  # noqa: PTH123 - the path is click's text, with its dash
        yield file, os.fstat(file.fileno()).st_size


# ---- transcripts of clients


def show_transcripts(run: Run, result: dict[str, Any]) -> None:
    if result["dry_run"]:
        headings = ("SESSION", "STEPS", "FAILED", "OUTCOME", "TASK")
        run.out.print(table(headings, (_row(task) for task in result["tasks"])))
    known = f", {result['known']} known already" if result["known"] else ""
    what = "would be imported" if result["dry_run"] else "imported"
    run.out.print(f"{_counts(result)} {what}{known}; {counted(result['sessions'], 'session')} read")


def _row(task: dict[str, Any]) -> tuple[object, ...]:
    first = printed(beginning(task["task"], TASK_SHOWN)) if task["task"].strip() else "(unknown)"
    return (task["session"][:8], task["steps"], task["failures"], task["outcome"], first)


_PATH = click.argument("path", required=False, type=PathGiven(exists=True, path_type=Path))
_PROJECT = click.option("--project", help="Project of all that is imported; else each session's folder tells.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be imported, and store nothing.")


@command("claude-code", example="prowess import claude-code --dry-run", show=show_transcripts, group=import_group)
@_PATH
@_PROJECT
@_DRY_RUN
async def claude_code(run: Run, path: Path | None, project: str | None, dry_run: bool) -> dict[str, Any]:
    """Import past sessions of Claude Code.

    PATH is one transcript or a folder of them; without it the client's own, ~/.claude/projects (CLAUDE_CONFIG_DIR).
    Each task becomes an episode. It can be repeated: what is stored already, also by hooks, is not stored again. See
    docs/transcripts.md.
    """
    from prowess.server.transcripts import claude_code as client

    return await _import(run, client, path or client.folder(os.environ), project, dry_run)


@command("codex", example="prowess import codex --dry-run", show=show_transcripts, group=import_group)
@_PATH
@_PROJECT
@_DRY_RUN
async def codex(run: Run, path: Path | None, project: str | None, dry_run: bool) -> dict[str, Any]:
    """Import past sessions of Codex.

    PATH is one rollout file or a folder of them; without it the client's own, ~/.codex (CODEX_HOME). Each task becomes
    an episode. It can be repeated: what is stored already, also by hooks, is not stored again. See
    docs/transcripts.md.
    """
    from prowess.server.transcripts import codex as client

    return await _import(run, client, path or client.folder(os.environ), project, dry_run)


@command("cursor", example="prowess import cursor", show=show_transcripts, group=import_group)
@_PATH
async def cursor(run: Run, path: Path | None) -> dict[str, Any]:
    """Tell why Cursor's past sessions cannot be imported."""
    from prowess.server.transcripts.cursor import HINT, REASON

    raise Failed(REASON, hint=HINT)


async def _import(run: Run, client: Client, path: Path, project: str | None, dry_run: bool) -> dict[str, Any]:
    from prowess.server.cli.session import open_context
    from prowess.server.transcripts.importer import import_sessions, preview

    size = await anyio.to_thread.run_sync(_size, client, path)
    if dry_run:
        return _reported(run, await preview(client, path, project=project or ""), dry_run=True)
    async with open_context(run, create=True) as ctx:
        with run.progress("importing", size) as report:
            result = await import_sessions(client, path, ctx, project=project or "", report=report)
    return _reported(run, result, dry_run=False)


def _size(client: Client, path: Path) -> float:
    """Bytes of all transcripts. Raises ``Failed`` where there are none at all."""
    sources = client.find(path) if path.exists() else []
    if not sources:
        hint = f"name their folder: `prowess import {client.CLIENT} FOLDER`"
        raise Failed(f"there are no transcripts of {client.CLIENT} at {path}", hint=hint, code=Exit.NOT_FOUND)
    return sum(source.size for source in sources)


def _reported(run: Run, result: ImportedTranscripts, *, dry_run: bool) -> dict[str, Any]:
    notes = result.notes
    for broken in notes.broken:
        place = f"{broken.file}:{broken.line}" if broken.line else broken.file
        run.note(f"{place}: {broken.reason}")
    if notes.broken_lines:
        run.note(f"{counted(notes.broken_lines, 'line was', 'lines were')} left out")
        run.code = Exit.FAILED
    if notes.unknown:
        kinds = ", ".join(f"{printed(kind)} ({count})" for kind, count in notes.unknown.most_common(10))
        run.note(f"records of unknown types were left out: {kinds}")
    return {"dry_run": dry_run, **result.as_json()}
