"""``prowess rebuild``, ``backup`` and ``restore``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import click

from prowess.learning.counting import counted
from prowess.server.cli.command import PathGiven, Run, command, confirm
from prowess.server.cli.session import open_store, send_hub_away, settings
from prowess.server.cli.terminal import printed

__all__ = ["backup", "rebuild", "restore"]


def show_rebuild(run: Run, result: dict[str, Any]) -> None:
    run.out.print(
        f"the catalog was made anew: {counted(result['episodes'], 'episode')}, {counted(result['steps'], 'step')}"
    )


@command("rebuild", example="prowess rebuild", show=show_rebuild)
async def rebuild(run: Run) -> dict[str, Any]:
    """Drop the catalog and make it anew from the log.

    Nothing is lost by it: whatever was recorded or decided is in the log. A catalog that cannot be read is moved aside.
    """
    async with open_store(run, replace_catalog=True) as store:
        with run.progress("rebuilding", 1.0) as tick:
            await store.rebuild(lambda done, total: tick(done / max(total, 1)))
        stats = await store.stats()
    return {"episodes": stats.episodes, "steps": stats.steps}


def show_path(run: Run, result: dict[str, Any]) -> None:
    run.out.print(result["path"])


@command("backup", example="prowess backup ~/backups", show=show_path)
@click.argument("target", type=PathGiven(path_type=Path))
async def backup(run: Run, target: Path) -> dict[str, Any]:
    """Copy the log and the memory skills in use to TARGET.

    The folder TARGET is made; where it exists, a new folder in it. Prints the backup's path. Work may go on meanwhile.
    """
    async with open_store(run) as store:
        return {"path": str(await store.backup(target))}


def show_restore(run: Run, result: dict[str, Any]) -> None:
    run.out.print(f"restored {result['backup']} to {result['store']}")
    if result["replaced"]:
        run.out.print(f"the log that was there is now the backup {printed(result['replaced'])}")
        run.note("once the restored one is what you want, delete that folder: nothing else does")


@command("restore", example="prowess restore ~/backups/prowess-20261129T120000000000Z", show=show_restore)
@click.argument("backup_path", metavar="BACKUP", type=PathGiven(exists=True, file_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
async def restore(run: Run, backup_path: Path, yes: bool) -> dict[str, Any]:
    """Put BACKUP in place of the store's log.

    BACKUP is a folder that `prowess backup` made. The present log is kept beside it as a backup, until you delete that
    folder; what was forgotten since stays forgotten. No agent may be connected.
    """
    from prowess.storage.manifest import check_is_backup
    from prowess.storage.restore import restore as put_back

    values = settings(run)
    await anyio.to_thread.run_sync(check_is_backup, backup_path)
    confirm(run, f"Replace the log of {values.home} by {backup_path}?", yes)
    await send_hub_away(values)
    work = partial(put_back, values.home, backup_path, redb_path=values.redb_path)
    replaced = await anyio.to_thread.run_sync(work)
    async with open_store(run, replace_catalog=True):
        pass  # brings the catalog in line, so that a damaged backup is told now
    return {"backup": str(backup_path), "store": str(values.home), "replaced": str(replaced) if replaced else None}
