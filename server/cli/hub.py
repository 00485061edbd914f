"""``prowess hub``: the process that agents share."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import click

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.session import settings
from prowess.server.cli.sync import shortly
from prowess.server.cli.terminal import printed, table
from prowess.server.hub import client, lock
from prowess.server.hub.starting import start_hub
from prowess.server.repository import read_regular
from prowess.server.settings import BadSetting
from prowess.server.shim import places

__all__ = ["hub"]

LEAVE_SECONDS = 50.0  # a hub that leaves ends itself by then
START_SECONDS = 10.0  # until one that has the lock answers
IN_LINE = 3  # hooks that run at once may each start a hub, and the next one takes over when the first leaves
TERM_SECONDS = 5.0
TAIL_BYTES = 1_000_000


@click.group("hub")
def hub() -> None:
    """Look after the process that agents share."""


def show_status(run: Run, told: dict[str, Any]) -> None:
    if not told["running"]:
        run.out.print("no hub is running; the next agent starts one, or `prowess hub start`")
        return
    fields = ("state", "pid", "version", "protocol", "socket", "store", "hint", "trouble", "renewed")
    rows = [(name, printed(told[name])) for name in fields if told.get(name)]
    rows.append(("schema", ", ".join(f"{name} {number}" for name, number in told["schema"].items())))
    rows.append(("started", f"{told['started']} ({told['uptime_seconds']:g} s ago)"))
    rows.append(("sync", printed(shortly(told["sync"]))))
    rows.append(("work", printed(", ".join(told["work"])) or "none"))
    rows.append(("http", printed(", ".join(told["http"])) or "not served"))
    if not told["clients"]:
        rows.append(("clients", "none"))
    run.out.print(table(("", ""), rows))
    if not told["clients"]:
        return
    names = ("name", "project", "session", "version", "since", "calls")
    headings = ("NAME", "PROJECT", "SESSION", "VERSION", "SINCE", "OPEN CALLS")
    run.out.print(table(headings, ([client[name] for name in names] for client in told["clients"])))


@command("status", example="prowess hub status --json", show=show_status, group=hub)
async def status(run: Run) -> dict[str, Any]:
    """Tell who is connected and what goes on.

    The exit code is 4 where no hub is running.
    """
    home = settings(run).home
    try:
        return {"running": True, **await client.ask(home, "status")}
    except client.HubGone as error:
        if client.is_running(home):
            raise Failed("a hub starts or leaves just now", hint="ask again in a moment") from error
    run.code = Exit.NOT_FOUND
    return {"running": False}


def show_start(run: Run, told: dict[str, Any]) -> None:
    what = "a hub was started" if told["started"] else "a hub runs already"
    run.out.print(f"{what}: process {told['pid']}, version {told['version']}, store at {printed(told['home'])}")
    run.out.print(f"sync: {printed(shortly(told['sync']))}")


@command("start", example="prowess hub start", show=show_start, group=hub)
async def start(run: Run) -> dict[str, Any]:
    """Start the hub unless one runs, and wait until it answers.

    Agents start one by themselves. This is for who wants one without an agent, such as to synchronise. It leaves when
    nobody used it for hub_idle_minutes (15).
    """
    return await _start(settings(run).home)


async def _start(home: Path) -> dict[str, Any]:
    there = client.is_running(home)
    await anyio.to_thread.run_sync(start_hub, home, "cli", abandon_on_cancel=True)
    try:
        told = await client.ask(home, "status")
    except client.HubGone as error:
        raise Failed("the hub left again", hint="`prowess hub logs` tells why") from error
    return {"started": not there, **{name: told[name] for name in ("pid", "version", "home", "sync")}}


def show_stop(run: Run, told: dict[str, Any]) -> None:
    run.out.print("the hub has left" if told["stopped"] else "no hub was running")


@command("stop", example="prowess hub stop", show=show_stop, group=hub)
async def stop(run: Run) -> dict[str, Any]:
    """Let the hub finish what it was asked, and leave.

    Agents that are connected start a new one with their next call. A hub that does not answer is ended; nothing that
    was acknowledged is lost.
    """
    return {"stopped": await _stop(_home(run))}


async def _stop(home: Path) -> bool:
    """Whether there was a hub, which is gone. Raises ``Failed`` where it stays."""
    if not client.is_running(home):
        return False
    with suppress(client.HubError, client.HubGone):
        for _ in range(IN_LINE):
            told = await _asked(home)
            if not await client.wait_until_gone(home, LEAVE_SECONDS, told.get("pid")):
                break
            if not client.is_running(home):
                return True
        else:
            return True  # agents want one again and again
    if await _ended(home):
        return True
    lock_file = places.hub_lock(home)
    raise Failed("the hub does not leave", hint=f"end the process that has {lock_file} open", code=Exit.IN_USE)


def show_restart(run: Run, told: dict[str, Any]) -> None:
    show_stop(run, told)
    show_start(run, told)


@command("restart", example="prowess hub restart", show=show_restart, group=hub)
async def restart(run: Run) -> dict[str, Any]:
    """Stop the hub and start one, such as for changed settings.

    One is started also where none ran. Of agents that are connected, one may have started it first.
    """
    home = settings(run).home
    return {"stopped": await _stop(home), **await _start(home)}


def _home(run: Run) -> Path:
    """Also where a setting makes no sense: a hub that started with it can be ended, and tell of it."""
    try:
        return settings(run).home
    except BadSetting:
        home = Path(places.home(run.store, os.environ))
        if not home.is_absolute():  # nobody knows it
            raise
        return home


async def _asked(home: Path) -> dict[str, Any]:
    """What the hub said to being asked to leave; empty once there is none. One that starts or leaves is waited for."""
    deadline = time.monotonic() + START_SECONDS
    while client.is_running(home):
        try:
            return await client.ask(home, "stop")
        except client.HubGone:
            if time.monotonic() > deadline:
                raise
            await anyio.sleep(client.POLL_SECONDS)
    return {}


async def _ended(home: Path) -> bool:
    """End the process that has the hub's lock, first politely; whether it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not await client.wait_until_gone(home, 0):
            lock.send_signal(home, number)
        if await client.wait_until_gone(home, TERM_SECONDS):
            return True
    return False


def show_logs(run: Run, told: dict[str, Any]) -> None:
    for line in told["lines"]:
        click.echo(printed(line))


@command("logs", example="prowess hub logs -n 100", show=show_logs, group=hub)
@click.option("-n", "count", type=click.IntRange(1), default=30, show_default=True, help="The last so many lines.")
async def logs(run: Run, count: int) -> dict[str, Any]:
    """Print the end of the hub's log."""
    path = Path(places.log_file(_home(run)))
    files = [path.with_name(f"{path.name}.1"), path]
    lines = [line for file in files if file.exists() for line in _tail(file)]
    if not lines:
        raise Failed(f"there is no log at {path}", hint="no hub ran for this store yet", code=Exit.NOT_FOUND)
    return {"path": str(path), "lines": lines[-count:]}


def _tail(path: Path) -> list[str]:
    return read_regular(path, TAIL_BYTES, end=True).decode("utf-8", "replace").splitlines()
