"""``prowess stats``: how much there is."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from prowess.server.cli.command import Run, command
from prowess.server.cli.session import open_store, settings
from prowess.server.cli.terminal import table

__all__ = ["size_of", "stats"]


def show(run: Run, result: dict[str, Any]) -> None:
    rows: list[tuple[str, object]] = []
    for name, value in result.items():
        if isinstance(value, dict):
            value = ", ".join(f"{count} {kind}" for kind, count in sorted(value.items())) or None
        elif isinstance(value, list | tuple):
            value = ", ".join(item or "(none)" for item in value) or None
        rows.append((name.replace("_", " "), value if not isinstance(value, int) else f"{value:,}"))
    run.out.print(table(("", ""), rows))


@command("stats", example="prowess stats --json", show=show)
async def stats(run: Run) -> dict[str, Any]:
    """Count what the store holds, and how many bytes it takes."""
    home = settings(run).home
    async with open_store(run, looks=True) as store:
        found = msgspec.to_builtins(await store.stats())
    return {"store": str(home), **found, "bytes": size_of(home)}


def size_of(folder: Path) -> int:
    """Bytes of all files in ``folder``; those that go away meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            found = path.lstat()
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total
