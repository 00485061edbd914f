"""The supervisor of the sync process: it runs while a remote is set and nobody paused it, and ends with the hub.

A remote or a token that ``config.toml`` names anew is worked with from then on: the process is started again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from prowess.server.opening import Opening
from prowess.server.settings import CONFIG_FILE, BadSetting, Settings, of_hub
from prowess.server.shim import places
from prowess.server.sync import ASKED
from prowess.storage.errors import StoreError
from prowess.storage.log.failures import translated

if TYPE_CHECKING:
    from prowess.server.runtime import Runtime

__all__ = ["COMMANDS", "PAUSED", "Syncer", "fingerprint", "without_hub"]

PAUSED = "sync-paused"  # a file in the store's folder: who paused it means it, also for the next hub
LOOK_SECONDS = 1.0  # between looks whether something was written
GRACE_SECONDS = 5.0  # for what is under way at the remote
REOPEN_SECONDS = 60.0  # between tries at a store that does not open
AGAIN_SECONDS = 10.0  # after a process that ended by itself
PASSING = ("connecting", "working")  # what is said at every look: the log is to tell of what changed
LOOK_ANSWER_SECONDS = 8.0  # for a look that a person waits for; a command waits ten seconds for the hub
MAX_LINE = 64 * 1024
IGNORED = "TURSO_DATABASE_URL is set for this shell alone; the hub does not go by it"
COMMANDS = ("sync-now", "sync-pause", "sync-resume")
REMOTE = ("turso_url", "turso_token", "sync_plain_http")  # what is followed; all else counts from the next hub on

_log = logging.getLogger(__name__)

_HELD: dict[str, Any] = {"state": "paused", "reason": "a person paused it", "hint": "`prowess sync resume` goes on"}
_BEGINS: dict[str, Any] = {"state": "connecting", "reason": "", "hint": ""}


def _off(home: Path, reason: str = "") -> dict[str, Any]:
    where = home / CONFIG_FILE
    return {
        "state": "off",
        "reason": reason,
        "hint": f"write turso_url (and turso_token) into {where} to share with others",
    }


def _at_first(home: Path) -> dict[str, Any]:
    """Before the store is open."""
    try:
        return _BEGINS if of_hub(home).turso_url else _off(home)
    except BadSetting:
        return _off(home)


def _is_off(state: dict[str, Any]) -> bool:
    return bool(state["state"] == "off")


def without_hub(settings: Settings) -> dict[str, Any]:
    """The state where no hub runs, so that nothing is moved."""
    try:
        known = of_hub(settings.home).turso_url
    except BadSetting as error:
        return {"state": "failed", "reason": str(error), "hint": error.hint}
    if not known:
        return _off(settings.home, IGNORED if settings.turso_url else "")
    if (settings.home / PAUSED).exists():
        return _HELD
    hint = "it goes on with the next agent, or with `prowess hub start`"
    return {"state": "waiting", "reason": "no hub is running", "hint": hint}


def fingerprint(settings: Settings, salt: str) -> str:
    """Tells two remotes or tokens apart, and nothing of what they are; ``salt`` is part of it."""
    said = "\0".join((salt, settings.turso_url, settings.turso_token)).encode("utf-8", "replace")
    return f"{salt}:{hashlib.sha256(said).hexdigest()[:16]}"


class Syncer:
    """Background work of the hub. ``state`` is what it last knew, as plain fields.

    ``remote`` is the ``fingerprint`` of what it works with, "" before the store is open.
    """

    def __init__(self, opening: Opening, home: Path) -> None:
        self._opening = opening
        self._resumed = anyio.Event()
        self._end = anyio.Event()
        self._process: Process | None = None
        self._settings: Settings | None = None  # with the remote as config.toml names it now
        self._config = home / CONFIG_FILE
        self._seen = _stamp(self._config)
        self.state: dict[str, Any] = _at_first(home)
        self._known = anyio.Event()  # whether there is a remote, or why nobody can tell
        self.remote = ""
        self._news = anyio.Event()
        self._woken = self._looked = 0  # how often the process was, and what of that its last finished look began after
        self._logged: Any = None

    def working(self) -> list[str]:
        return []  # the next hub goes on with it

    async def run(self) -> None:
        runtime = await self._opened()
        self._go_by(runtime.settings)
        self._tell(_BEGINS if runtime.settings.turso_url else _off(runtime.settings.home))
        self._known.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            while True:
                await self._turn(runtime)

    async def _opened(self) -> Runtime:
        """The store, once it is open: a call tries that again, and where there is a remote so does this."""
        while True:
            try:
                return await self._opening.opened()
            except StoreError as error:
                shares = not _is_off(self.state)
                if shares:
                    self._tell({"state": "failed", "reason": str(error), "hint": error.hint})
                self._known.set()
            with anyio.move_on_after(REOPEN_SECONDS if shares else None):
                while self._opening.state != "open":  # noqa: ASYNC110 - it tells of no event
                    await anyio.sleep(LOOK_SECONDS)

    async def _turn(self, runtime: Runtime) -> None:
        """Until the process has ended, or there is a reason to have one."""
        home = runtime.settings.home
        while (home / PAUSED).exists() and self._is_on():
            self.state = _HELD
            self._resumed = anyio.Event()  # who resumed what was not paused meant no later pause
            await self._resumed.wait()
        if self._is_on():
            await self._serve(runtime)
        else:
            self._tell(_off(home))
            await self._end.wait()
        if not (home / PAUSED).exists():
            with anyio.move_on_after(AGAIN_SECONDS):
                await self._end.wait()
        self._end = anyio.Event()

    def _is_on(self) -> bool:
        return self._settings is not None and bool(self._settings.turso_url)

    def _go_by(self, settings: Settings) -> None:
        self._settings = settings
        self.remote = fingerprint(settings, secrets.token_hex(8))

    async def _follow(self) -> None:
        """See when the remote or its token is named anew. What makes no sense changes nothing."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            stamp = await anyio.to_thread.run_sync(_stamp, self._config)
            if stamp == self._seen:
                continue
            self._seen = stamp
            try:
                told = await anyio.to_thread.run_sync(of_hub, self._config.parent)
            except BadSetting as error:
                _log.error("the remote stays what it was: %s", error)
                continue
            self._change({name: getattr(told, name) for name in REMOTE})

    def _change(self, remote: dict[str, Any]) -> None:
        assert self._settings is not None, "it follows what it goes by"
        changed = replace(self._settings, **remote)
        if changed != self._settings:
            _log.info("sync: the remote or its token was set anew")
            self._go_by(changed)
            self._end.set()
            self._resumed.set()

    async def command(self, name: str) -> dict[str, Any]:
        """Carry out one of ``COMMANDS``; how it is then. A store with a remote that is being opened is waited for.

        Raises StoreUnavailable where the mark of a pause cannot be made or removed.
        """
        if not self._known.is_set() and not (await self._names_remote()):
            return _off(self._config.parent)
        with anyio.move_on_after(LOOK_ANSWER_SECONDS):
            await self._known.wait()
        if self._settings is None or not self._settings.turso_url:
            return self.state
        paused = self._settings.home / PAUSED
        if name == "sync-pause":
            with translated(paused):
                paused.touch(mode=0o600)
            self._end.set()
            return _HELD  # it is soon
        if name == "sync-resume":
            held = paused.exists()
            with translated(paused):
                paused.unlink(missing_ok=True)
            self._resumed.set()
            return _BEGINS if held else self.state
        if paused.exists():
            return _HELD
        return await self._look()

    async def _names_remote(self) -> bool:
        return not _is_off(await anyio.to_thread.run_sync(_at_first, self._config.parent))

    async def _look(self) -> dict[str, Any]:
        """How it is after one more look; where that takes long, what is known by then."""
        with anyio.move_on_after(LOOK_ANSWER_SECONDS) as bound:
            while self._process is None and self.state is _BEGINS:
                await self._news.wait()
            if (process := self._process) is None:
                return self.state
            await self._wake(process, ASKED)
            wanted = self._woken
            while self._process is process and self._looked < wanted:
                await self._news.wait()
        if not bound.cancelled_caught:
            return self.state
        hint = f"the look takes longer than {LOOK_ANSWER_SECONDS:g} seconds; `prowess sync status` tells how it ended"
        return {**self.state, "hint": hint}

    async def _wake(self, process: Process, why: bytes = b"") -> None:
        self._woken += 1
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(why + b"\n")

    def _tell(self, state: dict[str, Any]) -> None:
        self.state = state
        self._news.set()
        self._news = anyio.Event()

    async def _serve(self, runtime: Runtime) -> None:
        """One process from its start to its end."""
        self._tell(_BEGINS)
        try:
            process = await _started(runtime.settings.home)
        except OSError as error:
            self._tell(_stopped(f"the sync process does not start: {error.strerror}"))
            return
        self._woken = self._looked = 0
        self._process = process
        try:
            assert process.stdin is not None
            await process.stdin.send(_task(self._settings or runtime.settings, runtime.machine))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, runtime, process)
                tasks.start_soon(self._end_when_asked, tasks.cancel_scope)
                await self._listen(process)
                tasks.cancel_scope.cancel()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._process = None
            with anyio.CancelScope(shield=True):
                code = await _ended(process)
        self._tell(_stopped(f"the sync process ended with code {code}"))
        _log.info("the sync process ended with code %s", code)

    async def _end_when_asked(self, scope: anyio.CancelScope) -> None:
        await self._end.wait()
        scope.cancel()

    async def _watch(self, runtime: Runtime, process: Process) -> None:
        """Tell it when something was written here."""
        seen = runtime.store.head
        while True:
            await anyio.sleep(LOOK_SECONDS)
            if runtime.store.head != seen:
                seen = runtime.store.head
                await self._wake(process)

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound):
            while True:
                line = await lines.receive_until(b"\n", MAX_LINE)
                with suppress(ValueError):
                    told = json.loads(line)
                    self._note(told if isinstance(told, dict) else {})

    def _note(self, told: dict[str, Any]) -> None:
        state = told.get("state")
        if state not in PASSING and state != self._logged:
            _log.info("sync: %s", state)
            self._logged = state
        self._looked = max(self._looked, told.pop("looked", 0))
        self._tell(told)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What differs once the file was written anew, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _stopped(reason: str) -> dict[str, Any]:
    return {"state": "stopped", "reason": reason, "hint": "`prowess hub logs` may tell more"}


async def _started(home: Path) -> Process:
    return await anyio.open_process(
        [sys.executable, "-I", "-m", "prowess.server.sync"],
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name not in places.SETTING_NAMES},
        cwd=str(home),
        start_new_session=True,
    )


def _task(settings: Settings, machine: str) -> bytes:
    told = {
        "home": str(settings.home),
        "url": settings.turso_url,
        "token": settings.turso_token,
        "seconds": settings.sync_seconds,
        "plain_http": settings.sync_plain_http,
        "sharing": {
            "machine": machine,
            "person": settings.sync_person,
            "trust": settings.sync_trust,
            "private": settings.sync_private,
            "raw": settings.sync_raw,
        },
    }
    return msgspec.json.encode(told) + b"\n"


async def _ended(process: Process) -> int | None:
    """Close its input, on which it leaves; end it where it does not."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, OSError):
            await process.stdin.aclose()
    with anyio.move_on_after(GRACE_SECONDS):
        return await process.wait()
    with suppress(ProcessLookupError):
        process.kill()
    with anyio.move_on_after(GRACE_SECONDS):
        return await process.wait()
    return None
