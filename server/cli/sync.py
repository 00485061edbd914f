"""``prowess sync``: how sharing with other machines goes, and what a person may decide about it."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import click

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.session import open_store, settings
from prowess.server.cli.terminal import printed, table
from prowess.server.hub import client
from prowess.server.settings import Settings

__all__ = ["share", "shortly", "sync"]

WELL = ("ok", "working", "connecting", "paused", "off")


@click.group("sync")
def sync() -> None:
    """Share with other machines through a remote (docs/sync.md)."""


def show_state(run: Run, told: dict[str, Any]) -> None:
    rows = [(name, printed(str(told[name]))) for name in ("state", "reason", "hint") if told.get(name)]
    for name, done, whole in (("sent", "pushed", "head"), ("read", "pulled", "newest")):
        if done in told and whole in told:
            rows.append((name, _far(told[done], told[whole])))
    run.out.print(table(("", ""), rows))


def _far(done: int, whole: int) -> str:
    """What is done has no numbers: they are places in a journal that others write as well, and count nobody's own."""
    return "all there is" if done >= whole else share(done, whole)


def share(done: int, whole: int) -> str:
    """How far something is; only what is whole is told to be 100 %."""
    percent = 100 * done // whole if whole else 100
    return f"{done:,} of {whole:,} ({min(percent, 100)} %)"


def shortly(told: dict[str, Any]) -> str:
    """The state and its reason, and while it works how much was sent."""
    far = share(told["pushed"], told["head"]) + " sent" if told["state"] == "working" and "head" in told else ""
    return ": ".join(filter(None, (told["state"], told.get("reason") or far)))


async def _asked(run: Run, name: str) -> dict[str, Any]:
    values = settings(run)
    try:
        told = await client.ask(values.home, name)
    except client.HubGone as error:
        hint = _hint_without_hub(values)
        raise Failed("no hub is running, so nothing is synchronised", hint=hint, code=Exit.NOT_FOUND) from error
    state: dict[str, Any] = told["sync"] if name == "status" else told
    if state["state"] not in WELL:
        run.code = Exit.UNAVAILABLE
    return state


def _hint_without_hub(values: Settings) -> str:
    """What is to be done first: a hub alone moves nothing where no remote is set, or nothing is to be moved."""
    from prowess.server.hub.sync import without_hub

    state = without_hub(values)
    if state["state"] == "waiting":
        return "`prowess hub start` starts one, and so does the next agent"
    return f"a hub alone would move nothing: sync is {shortly(state)}" + (
        f"; {state['hint']}" if state.get("hint") else ""
    )


@command("status", example="prowess sync status --json", show=show_state, group=sync)
async def status(run: Run) -> dict[str, Any]:
    """Tell how it goes: the state, why, and how far both ways are.

    pushed and head are places in this store's log, where what others sent stands too; pulled and newest are places at
    the remote. The exit code is 4 where no hub is running, and 6 where the remote cannot be worked with.
    """
    return await _asked(run, "status")


@command("now", example="prowess sync now", show=show_state, group=sync)
async def now(run: Run) -> dict[str, Any]:
    """Look at the remote now rather than in some seconds."""
    return await _asked(run, "sync-now")


@command("pause", example="prowess sync pause", show=show_state, group=sync)
async def pause(run: Run) -> dict[str, Any]:
    """Move nothing in either direction until `prowess sync resume`."""
    return await _asked(run, "sync-pause")


@command("resume", example="prowess sync resume", show=show_state, group=sync)
async def resume(run: Run) -> dict[str, Any]:
    """Go on after `prowess sync pause`."""
    return await _asked(run, "sync-resume")


def show_reset(run: Run, told: dict[str, Any]) -> None:
    run.out.print("the remote is read again from its beginning")
    if told["epoch_from"]:
        run.out.print(f"this copy's events from {told['epoch_from']} on have a name of their own now")


@command("reset", example="prowess sync reset", show=show_reset, group=sync)
@click.option(
    "--as-new", is_flag=True, help="This folder is a copy of another machine's: tell its events from that one's."
)
async def reset(run: Run, as_new: bool) -> dict[str, Any]:
    """Read the remote again from its beginning.

    What is here already is recognised, and nothing is lost. A remote in a file that is not there any more is made
    anew.
    """
    from prowess.server.sync.copies import first_difference
    from prowess.server.sync.known import forget_known

    values = settings(run)
    async with open_store(run) as store:
        first = await first_difference(store, values) if as_new else 0
        if first:
            await store.begin_epoch(first)
        await store.pull_again()
    await anyio.to_thread.run_sync(forget_known, values.home)
    return {"epoch_from": first}
