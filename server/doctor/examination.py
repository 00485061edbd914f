"""What is wrong with an installation and its store, and the command that mends it."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from prowess.learning.counting import counted
from prowess.providers.errors import EmbeddingError
from prowess.server.doctor.finding import Finding
from prowess.server.doctor.folder import look_at_places
from prowess.server.doctor.spool import look_at_spool
from prowess.server.doctor.sync import look_at_sync
from prowess.server.http.tokens import Tokens
from prowess.server.settings import CONFIG_FILE, TABLE, BadSetting, Settings, of_hub
from prowess.storage.errors import StoreDamaged, StoreError, StoreInUse

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["examine"]

LOW_DISK = 1_000_000_000  # bytes; the log is rewritten as a whole when something is forgotten
NO_DISK = 50_000_000
CHECK_SECONDS = 60.0  # a disk or a process that hangs is a finding too
VERIFY_SECONDS = 20.0  # a million events; a larger log is left at that
PACKAGES = ("mcp", "redb-py", "libsql", "onnxruntime", "anthropic")
MEND_LOG = "look at the disk and its log; where it stays so, `prowess hub stop` and `prowess restore` a backup"
_UNSEEN = Finding("store", "warn", "not looked into: its hub has it, and does not answer", "prowess hub stop")
_WORKER = b"prowess.server.worker"


async def examine(settings: Settings | BadSetting) -> AsyncIterator[Finding]:
    """Every finding, one after another. Changes nothing; a store that is not there is not made."""
    yield _versions()
    if isinstance(settings, BadSetting):
        yield Finding("settings", "fail", str(settings), settings.hint)
        return
    yield Finding("settings", "ok", f"store at {settings.home}")
    place = await _bounded(
        "folder", lambda: anyio.to_thread.run_sync(look_at_places, settings.home, settings.redb_path)
    )
    yield place
    if place.state != "fail":  # else each of these would only say so again
        async for finding in _of_the_store(settings):
            yield finding
    yield await _bounded("embedding", lambda: _embedding(settings))
    yield _language(settings)
    yield await _bounded("worker", _worker)
    for finding in _left_over():
        yield finding


async def _of_the_store(settings: Settings) -> AsyncIterator[Finding]:
    yield _disk(settings)
    yield _environment(settings)
    hub, told = await _hub(settings)
    yield hub
    # To ask a hub that does not answer again would take as long as the first time.
    yield _UNSEEN if hub.state == "fail" and told is None else await _bounded("store", lambda: _store(settings))
    yield await _bounded("spool", lambda: anyio.to_thread.run_sync(look_at_spool, settings.home))
    yield await _bounded("sync", lambda: look_at_sync(settings, told))
    if wrong := await anyio.to_thread.run_sync(_tokens, settings.home):
        yield wrong


def _versions() -> Finding:
    known = [("prowess", version("prowess")), ("python", ".".join(map(str, sys.version_info[:3])))]
    absent = []
    for name in PACKAGES:
        try:
            known.append((name, version(name)))
        except PackageNotFoundError:
            absent.append(name)
    said = ", ".join(" ".join(pair) for pair in known)
    # Without libsql the catalog runs over the standard library's sqlite3.
    missing = [name for name in absent if name != "libsql"]
    if missing:
        return Finding("versions", "fail", f"{said}; missing: {', '.join(missing)}", "make install")
    return Finding("versions", "ok", said)


def _disk(settings: Settings) -> Finding:
    place = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    said = f"{free / 1e9:.1f} GB free" if free >= 1e9 else f"{free / 1e6:.0f} MB free"
    mend = "free some space; `prowess stats` tells what the store takes, PROWESS_KEEP_MB bounds it"
    if free < LOW_DISK:
        return Finding("disk", "fail" if free < NO_DISK else "warn", said, mend)
    return Finding("disk", "ok", said)


def _environment(settings: Settings) -> Finding:
    """What an agent's environment would change and the shared hub, which outlives it, does not go by."""
    try:
        theirs = of_hub(settings.home)
    except BadSetting as error:
        return Finding("environment", "fail", str(error), error.hint)
    names = {row.name: row.env for row in TABLE if row.name not in ("home", "project")}
    ignored = [env for name, env in names.items() if getattr(settings, name) != getattr(theirs, name)]
    if not ignored:
        return Finding("environment", "ok", "the hub goes by the same settings as this shell")
    them, called = ("it", "its name") if len(ignored) == 1 else ("them", "their names")
    mend = f"write {them} into {settings.home / CONFIG_FILE}, or {called} into {settings.home / 'allow-env'}"
    return Finding("environment", "warn", f"the hub does not go by {', '.join(ignored)} of this environment", mend)


async def _hub(settings: Settings) -> tuple[Finding, dict[str, Any] | None]:
    """What is to say of the hub, and what it told as its status; None where it told nothing."""
    from prowess.server.hub import client

    try:
        told = await client.ask(settings.home, "status")
    except client.HubGone:
        if client.is_running(settings.home):
            return Finding("hub", "warn", "one starts or leaves just now", "prowess hub status"), None
        return Finding("hub", "ok", "none is running; the next agent starts one, or `prowess hub start`"), None
    except StoreError as error:
        return Finding("hub", "fail", str(error), "prowess hub stop"), None
    return _of_hub(told), told


def _of_hub(told: dict[str, Any]) -> Finding:
    said = f"version {told['version']}, process {told['pid']}, {counted(len(told['clients']), 'client')}"
    if told["version"] != version("prowess"):
        return Finding("hub", "warn", f"{said}; this is version {version('prowess')}", "prowess hub stop")
    if told.get("trouble"):
        return Finding("hub", "fail", f"{said}; {told['trouble']}", MEND_LOG)
    if told.get("renewed"):
        return Finding("hub", "warn", f"{said}; {told['renewed']}", MEND_LOG)
    return Finding("hub", "ok", said)


async def _bounded(check: str, look: Callable[[], Awaitable[Finding]]) -> Finding:
    try:
        with anyio.fail_after(CHECK_SECONDS):
            return await look()
    except TimeoutError:
        return Finding(check, "fail", f"no answer within {CHECK_SECONDS:g} seconds", "look at the disk and the load")


def _opened(settings: Settings) -> AbstractAsyncContextManager[Store]:
    from prowess.server.hub import client
    from prowess.storage.store import Store

    if client.is_running(settings.home):
        return client.open_calls(settings.home)
    return Store.open(settings.home, redb_path=settings.redb_path)


async def _store(settings: Settings) -> Finding:
    from prowess.storage.backup import log_path

    if not log_path(settings.home, settings.redb_path).exists():
        return Finding("store", "ok", "empty: nothing was recorded yet")
    try:
        async with _opened(settings) as store:
            stats = await store.stats()  # a read waits until the catalog has all of the log
            backups, owed = await store.backups(), await store.owed()
            chain = await _verified(store)
    except StoreInUse as error:
        return Finding("store", "warn", f"not looked into: {error}", error.hint)
    except StoreDamaged as error:
        return Finding("store", "fail", str(error), error.hint or "prowess rebuild")
    except StoreError as error:
        return Finding("store", "fail", str(error), error.hint)
    said = (
        f"{counted(stats.episodes, 'episode')}, {counted(stats.steps, 'step')}; the catalog has all of the log; {chain}"
    )
    if owed:
        mend = "let it be there while a hub runs (`prowess hub start`); one that you deleted holds nothing"
        return Finding("store", "warn", f"{said}; a backup may hold what was forgotten: {owed[0]}", mend)
    if backups and not _there(backups):
        return Finding("store", "warn", f"{said}; no backup is where it was made: {backups[0]}", "prowess backup DIR")
    return Finding("store", "ok", said)


def _there(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if Path(path).exists()]


async def _verified(store: Store) -> str:
    with anyio.move_on_after(VERIFY_SECONDS):
        return f"{counted(await store.verify(), 'event')} in one chain"
    return f"its events are too many to read in {VERIFY_SECONDS:g} seconds"


def _tokens(home: Path) -> Finding | None:
    """What keeps everybody out who asks over HTTP."""
    try:
        Tokens(home).all()
    except StoreError as error:
        return Finding("tokens", "fail", f"{error}; nobody is let in over HTTP", error.hint)
    return None


async def _embedding(settings: Settings) -> Finding:
    from prowess.providers.embedding import EmbeddingSettings, load

    began = time.monotonic()
    try:
        embedder = await anyio.to_thread.run_sync(load, EmbeddingSettings(model=settings.embedder))
        if embedder is not None:
            await anyio.to_thread.run_sync(embedder.embed, ["hello"])
    except EmbeddingError as error:
        return Finding("embedding", "fail", f"{error}; search is lexical only", error.hint or "make install")
    if embedder is None:
        return Finding("embedding", "warn", "switched off: search is lexical only", "unset PROWESS_EMBEDDER")
    return Finding("embedding", "ok", f"{embedder.name}, ready in {time.monotonic() - began:.1f} s")


def _language(settings: Settings) -> Finding:
    if not (settings.api_key or settings.auth_token):
        return Finding("language model", "ok", "no API key: no model is ever called, nothing costs anything")
    where = settings.base_url or "Anthropic"
    training = f" and ${settings.train_usd:g} for training" if settings.train_usd else ""
    told = f"API key present, for {where}, at most ${settings.daily_usd:g}{training} a day"
    return Finding("language model", "ok", told)


async def _worker() -> Finding:
    from prowess.server.compute import Compute

    began = time.monotonic()
    try:
        async with Compute() as compute:
            await compute.propose([], [])
    except StoreError as error:
        mend = f"{shlex.quote(sys.executable)} -I -m prowess.server.worker < /dev/null"
        return Finding("worker", "fail", str(error), mend)
    return Finding("worker", "ok", f"starts and answers in {time.monotonic() - began:.1f} s")


def _left_over(processes: Path = Path("/proc")) -> Iterator[Finding]:
    """Workers whose server is gone. They leave by themselves; one that did not is stuck."""
    for entry in processes.glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if _WORKER in words and parent == "1":
                yield Finding("left over", "warn", f"worker {entry.name} has no server any more", f"kill {entry.name}")
