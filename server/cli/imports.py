"""``prowess import``: past work into the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO

import click

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit

__all__ = ["import_group"]


@click.group("import")
def import_group() -> None:
    """Take past work into the store."""


def show(run: Run, result: dict[str, Any]) -> None:
    known = f", {result['known']} known already" if result["known"] else ""
    run.out.print(f"{result['episodes']} episodes with {result['steps']} steps imported{known}")


@command("jsonl", example="prowess import jsonl trajectories.jsonl --project shop", show=show, group=import_group)
@click.argument("path", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
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
        run.note(f"{result.broken_lines} of {result.lines} lines were left out")
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
