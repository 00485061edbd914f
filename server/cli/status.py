"""``prowess status``: how everything is, on one page."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from prowess.learning.counting import counted
from prowess.server.background.background import LEARNED_AT, MARK, is_enough
from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.session import open_store, settings
from prowess.server.cli.stats import size_of
from prowess.server.cli.sync import shortly
from prowess.server.cli.terminal import table
from prowess.server.hooks import losses, spool
from prowess.server.hub import client
from prowess.server.hub.sync import without_hub
from prowess.server.settings import BadSetting, Settings
from prowess.server.trainer.runs import read_runs, runs_now
from prowess.storage.backup import log_path
from prowess.storage.errors import StoreError
from prowess.storage.models import format_time

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["status"]

STORE_SECONDS = 20.0  # a store that is being made again, or a hub that hangs, must not keep the rest from being told
RUN_FIELDS = ("id", "status", "project", "started", "ended", "verdict", "reason", "progress")


def show(run: Run, told: dict[str, Any]) -> None:
    rows = [
        ("hub", _hub_line(told["hub"])),
        ("store", _store_line(told["store"])),
        ("remote", _remote_line(told["sync"])),
        ("learning", _learning_line(told["learning"], empty=told["store"]["state"] == "empty")),
        ("training", _training_line(told["training"])),
        ("HTTP", ", ".join(told["http"]) or "not served"),
        ("hooks", _hooks_line(told)),
    ]
    run.out.print(table(("", ""), rows))


def _hub_line(hub: dict[str, Any]) -> str:
    if hub["state"] in ("none", "unknown"):
        return str(hub["reason"])
    work = f"; {', '.join(hub['work'])}" if hub["work"] else ""
    trouble = f"; {hub['trouble']}" if hub["trouble"] else ""
    who = f"process {hub['pid']}, version {hub['version']}, {counted(hub['clients'], 'client')}"
    return f"{hub['state']}, {who}{work}{trouble}"


def _store_line(store: dict[str, Any]) -> str:
    where = f"{store['path']}, {store['bytes'] / 1e6:,.1f} MB"
    if store["state"] != "open":
        return _with_hint(f"{where}: {': '.join(filter(None, (store['state'], store['reason'])))}", store["hint"])
    skills = sum(store["skills"].values())
    said = [counted(store[f"{noun}s"], noun) for noun in ("episode", "step", "reward")]
    said += [counted(store["memories"], "memory", "memories"), counted(store["patterns"], "pattern")]
    return f"{where}: {', '.join(said)}, {counted(skills, 'skill')}"


def _remote_line(sync: dict[str, Any]) -> str:
    return _with_hint(shortly(sync), sync.get("hint", ""))


def _with_hint(said: str, hint: str) -> str:
    return f"{said} ({hint})" if hint else said


def _learning_line(learning: dict[str, Any] | None, *, empty: bool) -> str:
    if learning is None:
        return "nothing to learn from yet" if empty else "unknown while the store is not open"
    last = f"by itself last at {learning['at']}" if learning["at"] else "not yet by itself"
    return f"{last}; {counted(learning['waiting'], 'episode')} scored since, {_when(learning)}"


def _when(learning: dict[str, Any]) -> str:
    if not learning["after"]:
        return "switched off (learn_after)"
    if learning["due"]:
        return "enough: a hub learns when agents pause"
    return f"at {learning['after']} a hub learns, in a new project earlier"


def _training_line(training: dict[str, Any] | None) -> str:
    if training is None:
        return "no run yet"
    told = [training["status"] + _how_far(training["progress"]), training["verdict"], training["reason"]]
    return f"run {training['id']}, {': '.join(filter(None, told))}"


def _how_far(progress: dict[str, Any]) -> str:
    done, total = progress.get("iteration"), progress.get("of")
    return f" at iteration {done} of {total}" if done is not None and total is not None else ""


def _hooks_line(told: dict[str, Any]) -> str:
    since = f", the oldest since {told['spool_since']}" if told["spool_since"] else ""
    waits = counted(told["spool"], "event waits", "events wait")
    said = f"{waits} for the hub{since}" if told["spool"] else "nothing waits"
    lost = told["spool_lost"]
    if lost is None:
        return said
    return f"{said}; {counted(lost['events'], 'event')} could not be kept since {lost['since']} (`prowess doctor`)"


@command("status", example="prowess status --json", show=show)
async def status(run: Run) -> dict[str, Any]:
    """Tell on one page how hub, store, remote and learning are.

    Nothing is started and nothing changed by it. The exit code is 0 whatever it tells; `prowess doctor` looks for what
    is wrong and names what mends it, and `prowess hub status` and `prowess sync status` say more.
    """
    values = settings(run)
    hub = await _hub(values)
    alone = hub["state"] == "none"
    store, learning = (await _unseen(values), None) if hub["silent"] else await _store(run, values, alone=alone)
    runs = await anyio.to_thread.run_sync(runs_now if alone else read_runs, values.home / "runs")
    return {
        "hub": {name: hub[name] for name in ("state", "reason", "trouble", "pid", "version", "clients", "work")},
        "store": store,
        "sync": hub["sync"],
        "learning": learning,
        "training": {name: getattr(runs[0], name) for name in RUN_FIELDS} if runs else None,
        "http": hub["http"],
        **await _waiting(values),
    }


async def _hub(values: Settings) -> dict[str, Any]:
    """What the hub says of itself, or why it says nothing."""
    try:
        told = await client.ask(values.home, "status")
        return {"reason": "", "trouble": "", "silent": False, **told, "clients": len(told["clients"])}
    except client.HubGone:
        there = client.is_running(values.home)
        state, reason = (
            ("unknown", "one starts or leaves just now")
            if there
            else ("none", "not running; the next agent starts one, or `prowess hub start`")
        )
        silent = False
    except StoreError as error:
        state, reason, silent = "unknown", _with_hint(str(error), error.hint), True
    nothing: dict[str, Any] = {"trouble": "", "pid": None, "version": None, "clients": 0, "work": [], "http": []}
    return {"state": state, "reason": reason, "silent": silent, **nothing, "sync": without_hub(values)}


async def _about(values: Settings) -> dict[str, Any]:
    size = await anyio.to_thread.run_sync(size_of, values.home)
    return {"path": str(values.home), "bytes": size, "reason": "", "hint": ""}


async def _unseen(values: Settings) -> dict[str, Any]:
    """A store whose hub does not answer: to ask it again would take as long as the first time."""
    return {**await _about(values), "state": "unknown", "reason": "its hub has it, and does not answer"}


async def _store(run: Run, values: Settings, *, alone: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The store's counts, and how far was learned from it; where it cannot be looked into, why."""
    about = await _about(values)
    if alone and not log_path(values.home, values.redb_path).exists():
        return {**about, "state": "empty", "reason": "nothing was recorded yet"}, None
    try:
        async with _opened(run) as store:
            return {**about, "state": "open", **msgspec.to_builtins(await store.stats())}, await _learning(
                store, values
            )
    except TimeoutError:
        return {**about, "state": "unknown", "reason": f"no answer within {STORE_SECONDS:g} seconds"}, None
    except (Failed, StoreError, BadSetting) as error:
        return {**about, "state": "closed", "reason": str(error), "hint": error.hint}, None


@asynccontextmanager
async def _opened(run: Run) -> AsyncIterator[Store]:
    with anyio.fail_after(STORE_SECONDS):
        async with open_store(run, looks=True) as store:
            yield store


async def _learning(store: Store, values: Settings) -> dict[str, Any]:
    at = await store.mark(LEARNED_AT)
    fresh = await store.newly_scored(await store.mark(MARK))
    due = values.learn_after > 0 and is_enough(fresh, await store.newly_scored(0), values.learn_after)
    when = _time(at) if at else None
    return {"at": when, "waiting": sum(fresh.values()), "after": values.learn_after, "due": due}


async def _waiting(values: Settings) -> dict[str, Any]:
    """How many events hooks left that no hub has taken yet, and when the oldest was left; what they could not leave."""
    try:
        names = await anyio.to_thread.run_sync(spool.names, str(values.home))
    except OSError:
        names = []
    at = spool.left_at(names[0]) if names else None
    return {"spool": len(names), "spool_since": at and _time(at), "spool_lost": _lost(values)}


def _lost(values: Settings) -> dict[str, Any] | None:
    told = losses.told(str(values.home), time.time())
    return told and {"events": told[0], "since": _time(told[1]), "last": _time(told[2])}


def _time(seconds: float) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))
