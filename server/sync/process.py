"""The sync process: what the hub starts while a remote is set.

It gets one JSON line with what it needs, token included, on stdin, and leaves when stdin ends. Each further line wakes
it: an empty one where something was written here, one with ``ASKED`` where somebody waits for the look. It says how it
is in JSON lines on stdout, and works on the store through the hub's socket like any command.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import anyio
import anyio.to_thread
import msgspec

from prowess.learning.redaction.masking import mask_fields, mask_many
from prowess.server.hub.client import HubGone, open_calls
from prowess.server.sync import ASKED
from prowess.server.sync.address import Address, BadAddress, read_address
from prowess.server.sync.cycle import LostSince, Progress, Round, Sharing
from prowess.server.sync.database import Database, open_database
from prowess.server.sync.errors import RemoteAway, RemoteError
from prowess.server.sync.files import Files
from prowess.server.sync.known import is_known, note_known
from prowess.server.sync.remote import Remote
from prowess.storage.errors import StoreClosed, StoreError
from prowess.storage.log.cleaning import Cleaner

__all__ = ["Task", "main"]

FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0  # seconds before another try
GATHER_SECONDS = 0.5  # after a wake-up: one push for what an agent writes at once
TURN_SECONDS = (0.5, 1.5)  # before asking again whether it is this machine's turn
TELL_SECONDS = 0.5  # between two reports of progress
LONGEST_LINE = 1 << 20

_log = logging.getLogger(__name__)


class Task(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the hub asks for."""

    home: str
    url: str
    token: str
    sharing: Sharing
    seconds: float = 10.0
    plain_http: bool = False


class Syncing:
    """Rounds until told to leave; ``say`` reports a state as plain fields."""

    def __init__(self, task: Task, say: Callable[[dict[str, Any]], None]) -> None:
        self._task = task
        self._say = say
        self._woken = anyio.Event()
        self._asked = anyio.Event()
        self._wakes = self._began_after = 0
        self._pause = 0.0
        self._told = 0.0
        self._lost_since: LostSince = {}

    def wake(self, said: bytes) -> None:
        """Each line is one wake. A pause after a failure is ended by those alone who ask for the look."""
        self._wakes += said.count(b"\n")
        self._woken.set()
        if ASKED in said:
            self._asked.set()

    async def run(self) -> None:
        """Work until cancelled; returns when the hub is gone."""
        try:
            address = read_address(self._task.url, plain_http=self._task.plain_http)
        except BadAddress as error:
            await self._refuse(f"turso_url: {error}")
        home = Path(self._task.home)
        while True:
            after = 0.0
            self._begin()
            try:
                made = await anyio.to_thread.run_sync(is_known, home, address)
                async with open_database(address, self._task.token, made=made) as database:
                    await self._rounds(database, address)
            except (HubGone, StoreClosed):
                return
            except RemoteError as error:
                after = error.after if isinstance(error, RemoteAway) else 0.0
                self._finish(error.state, str(error), error.hint)
            except StoreError as error:
                self._finish("failed", str(error), error.hint)
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LAST_PAUSE)
            with anyio.move_on_after(max(after, self._pause * random.uniform(0.8, 1.2))):  # noqa: S311 - not all at once
                await self._asked.wait()

    def _begin(self) -> None:
        """Begin a look: it is for all who asked until now, and so none of them ends a pause after a later one."""
        self._began_after = self._wakes
        self._asked = anyio.Event()

    async def _refuse(self, reason: str) -> NoReturn:
        """What is wrong here stays so for as long as this process lives."""
        while True:
            self._begin()
            self._finish("refused", reason, "see docs/sync.md for the forms it may have")
            await self._rest(LAST_PAUSE)

    async def _rounds(self, database: Database, address: Address) -> None:
        self._report("connecting")
        remote = await Remote.open(database)
        await self._note(address)
        async with open_calls(Path(self._task.home), "sync") as store:
            files = Files(Path(self._task.home), database)
            cleaner = Cleaner(mask_many, mask_fields)
            sharing, lost_since = self._task.sharing, self._lost_since
            work = Round(store, remote, files, sharing, cleaner, self._progress, lost_since=lost_since)
            while True:
                self._begin()
                await work.run()
                await self._note(address)  # again: `prowess sync reset` takes it away, also where the file is there
                self._pause = 0.0
                far = msgspec.structs.asdict(work.progress)
                if work.progress.waiting:
                    self._finish("working", "another machine sends just now; this one goes on in some seconds", **far)
                    await self._rest(random.uniform(*TURN_SECONDS))  # noqa: S311 - whoever comes first
                else:
                    self._finish("ok", **far)
                    await self._rest(self._task.seconds)
                    await anyio.sleep(GATHER_SECONDS)

    async def _note(self, address: Address) -> None:
        await anyio.to_thread.run_sync(note_known, Path(self._task.home), address)

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._woken.wait()
        self._woken = anyio.Event()

    async def _progress(self, progress: Progress) -> None:
        now = anyio.current_time()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            self._report("working", **msgspec.structs.asdict(progress))

    def _finish(self, state: str, reason: str = "", hint: str = "", **more: Any) -> None:
        """Report how a look ended, and how many wakes came before it began."""
        self._report(state, reason, hint, looked=self._began_after, **more)

    def _report(self, state: str, reason: str = "", hint: str = "", **more: Any) -> None:
        self._say({"state": state, "reason": reason, "hint": hint, **more})


def _say(told: dict[str, Any]) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


async def _listen(read: Callable[[], bytes], heard: Callable[[bytes], None]) -> None:
    """Call ``heard`` with each piece that comes; returns at the end of the input."""
    while piece := await anyio.to_thread.run_sync(read, abandon_on_cancel=True):
        heard(piece)


async def _work(task: Task) -> None:
    syncing = Syncing(task, _say)
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            await _listen(lambda: os.read(0, 4096), syncing.wake)
            tasks.cancel_scope.cancel()

        tasks.start_soon(listen)
        await syncing.run()
        tasks.cancel_scope.cancel()


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
        piece = os.read(0, 1)  # nothing behind it may be taken from those who come after
        if not piece:
            break
        line += piece
    return line


def main() -> int:
    """Serve one hub. Returns the exit code."""
    logging.basicConfig(level="WARNING", stream=sys.stderr)
    logging.getLogger("httpx2").setLevel("ERROR")  # it names the addresses that it asks
    task = msgspec.json.decode(_first_line(), type=Task)
    anyio.run(_work, task)
    os._exit(0)  # a thread may still wait for stdin
