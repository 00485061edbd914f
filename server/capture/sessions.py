"""What is known of each client's session while it goes on, kept in small files so that it survives the hub."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec

from prowess.learning.counting import counted
from prowess.server.capture.recorded import Recorded
from prowess.server.hooks import spool
from prowess.server.hooks.events import DOCTOR
from prowess.server.transcripts.evidence import delivers
from prowess.server.transcripts.model import Call, Event, Prompt, Said
from prowess.server.whole_file import write_whole
from prowess.storage.models import Where
from prowess.storage.ordinary import read_ordinary

__all__ = ["ClientSession", "Happening", "Quiet", "Sessions", "forget_words"]

KEPT_SECONDS = 24 * 3600.0  # after which a client's session is over, whether it said so or not
HANDLED = 300  # names of events that are recognised when they come again
MAX_TOLD = 1_000  # of what a session was told, the newest
MAX_HAPPENINGS = 60
MOST_RECORDED = 20  # sessions at work of whose steps something is in memory, about a kilobyte for each
MAX_FOLDERS = 8
MAX_WORDS = 4_000  # characters of one text
QUIET_SESSIONS = 5  # in a row that worked and left no step
QUIET_DAYS = 7.0
_IN_THE_WAY = (IsADirectoryError, NotADirectoryError)

_log = logging.getLogger(__name__)


class Happening(msgspec.Struct, omit_defaults=True):
    """What the rules of tasks need of a prompt, a call or something that the agent said.

    ``id`` is the client's of a prompt, which several may have, and else the event's name.
    """

    kind: str
    text: str = ""
    id: str = ""
    at: str = ""
    failed: bool = False
    command: bool = False

    def event(self) -> Event:
        """As a transcript has it."""
        if self.kind == "prompt":
            return Prompt(self.id, self.text, self.at or None, command=self.command)
        if self.kind == "said":
            return Said(self.text, self.at or None)
        return Call("", "", {"command": self.text}, self.at or None, is_error=self.failed, ended=self.at or None)


def _decides(happening: Happening) -> bool:
    call = happening.event()
    return isinstance(call, Call) and delivers(call)


class ClientSession(msgspec.Struct):
    """One session: the task at work (``task_id`` "" before the first event) and what happened in it.

    ``folders`` are others than ``cwd`` that calls of the task were made in, as in a worktree that the agent entered.
    ``unbriefed`` since it began without being told what its project taught: no hub ran yet, or it took too long;
    ``told`` is what its context holds since then: ids of memories, each version of a skill (``id:version``), episodes
    shown as examples, and memories that a subagent alone was told (``agent/id``).
    """

    client: str
    id: str
    project: str = ""
    cwd: str = ""
    version: str = ""
    task_id: str = ""
    since: str = ""
    task: str = ""
    reactions: list[str] = []
    happenings: list[Happening] = []
    folders: list[str] = []
    bound: list[str] = []
    handled: list[str] = []
    prompt: str = ""
    fresh: bool = False
    unbriefed: bool = False
    stepped: bool = False
    told: list[str] = []
    touched: float = 0.0

    @property
    def alias(self) -> str:
        """By what the agent may call the task at work, whichever that is."""
        return f"{self.client}:{self.id}"

    @property
    def made_up(self) -> bool:
        return self.id.startswith(DOCTOR)

    def where(self) -> Where:
        """The episode of the task at work."""
        agent = f"{self.client} {self.version}".strip()
        return Where(task_id=self.task_id, project=self.project, session=self.id, task=self.task, agent=agent)

    def tell(self, keys: Iterable[str]) -> None:
        """Its context holds these from now on."""
        self.told = list(dict.fromkeys([*self.told, *keys]))[-MAX_TOLD:]

    def has_taken(self, happening: Happening) -> bool:
        """Whether that call or word was taken before, and what was to follow from it was refused."""
        return happening.kind != "prompt" and any(item.id == happening.id for item in self.happenings)

    def worked_in(self, folder: str) -> None:
        """A call of the task was made there."""
        if folder and folder != self.cwd:
            self.folders = [*[known for known in self.folders if known != folder], folder][-MAX_FOLDERS:]

    def happened(self, happening: Happening) -> None:
        """Keep it, and forget what decides nothing any more: all calls between the first and the last ones.

        The first says of all words behind it that work had begun.
        """
        happening.text = happening.text[:MAX_WORDS]
        self.happenings.append(happening)
        if len(self.happenings) > MAX_HAPPENINGS:
            begun = next((item for item in self.happenings if item.kind == "call"), None)
            old = [item for item in self.happenings[1:-1] if item is not begun]
            calls = (item for item in old if item.kind == "call" and not _decides(item))
            self.happenings.remove(next(calls, old[0]))

    def has_handled(self, name: str) -> bool:
        """Whether the event was taken before; it is from now on."""
        if name in self.handled:
            return True
        self.handled = [*self.handled[1 - HANDLED :], name]
        return False


class Quiet(msgspec.Struct):
    """Whether steps still arrive: ``silent`` sessions worked since the last one and left none."""

    last_step: float = 0.0
    silent: list[str] = []

    def warning(self, now: float) -> str:
        """A word to the person; "" while all is well."""
        days = (now - self.last_step) / 86400 if self.last_step else 0.0
        if len(self.silent) < QUIET_SESSIONS and not (len(self.silent) >= 2 and days >= QUIET_DAYS):
            return ""
        since = f", the last one {counted(round(days), 'day')} ago" if days >= 1 else ""
        return (
            f"Prowess: no tool call of the last {counted(len(self.silent), 'session')} was recorded{since}. "
            "`prowess doctor` finds out why."
        )


class Sessions:
    """The sessions of one store by client and id. Files are read once and written by ``save``; all of it blocks."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "sessions"
        self._known: dict[tuple[str, str], ClientSession] = {}
        self._dirty: set[tuple[str, str]] = set()
        self._turns: dict[tuple[str, str], anyio.Lock] = {}
        self._agent_told: set[tuple[str, str]] = set()
        self._recorded: dict[tuple[str, str], Recorded] = {}
        self.quiet: dict[str, Quiet] = {}
        self._quiet_changed = False

    def load(self) -> None:
        """Read what an earlier hub left, the newest last. What it had begun to write when it was killed goes."""
        for begun in self._files(".*"):
            with suppress(OSError):  # what cannot be removed, such as a folder, is nothing of ours
                begun.unlink()
        found = [value for path in self._files("*.json") if (value := _read(path, ClientSession)) is not None]
        for session in sorted(found, key=lambda session: session.touched):
            self._known[session.client, session.id] = session
        self._agent_told = set(self._known)  # for all that is known of them
        self.quiet = _read(self._folder / "quiet", dict[str, Quiet]) or {}

    def _files(self, pattern: str) -> list[Path]:
        return sorted(self._folder.glob(pattern)) if self._folder.is_dir() else []

    def get(self, client: str, session: str) -> ClientSession:
        """The session, a new one where none is known. It is written by the next ``save``."""
        key = (client, session)
        if key not in self._known:
            self._known[key] = ClientSession(client, session)
        found = self._known[key] = self._known.pop(key)  # the newest last
        found.touched = time.time()
        self._dirty.add(key)
        return found

    def turn(self, session: ClientSession) -> anyio.Lock:
        """For whoever looks at the session's steps and then stores one: its hooks and its agent tell at once."""
        return self._turns.setdefault((session.client, session.id), anyio.Lock())

    def recorded(self, session: ClientSession) -> Recorded:
        """What the steps of its task tell; read again from the log where it was let go of."""
        key = (session.client, session.id)
        found = self._recorded.pop(key) if key in self._recorded else Recorded()
        self._recorded[key] = found  # the newest last
        if len(self._recorded) > MOST_RECORDED:
            del self._recorded[next(iter(self._recorded))]
        return found

    def let_go(self, session: ClientSession) -> None:
        """Keep nothing in memory of its steps: it does not go on, or only after a while."""
        self._recorded.pop((session.client, session.id), None)

    def agent_told(self, session: ClientSession, *, told: bool = True) -> None:
        """Whether its agent may have told a step that no hook told yet."""
        (self._agent_told.add if told else self._agent_told.discard)((session.client, session.id))

    def may_be_known(self, session: ClientSession) -> bool:
        """Whether its agent may have told what a hook tells now."""
        return (session.client, session.id) in self._agent_told

    def find(self, client: str, session: str) -> ClientSession | None:
        """The session if it is known."""
        return self._known.get((client, session))

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[ClientSession]:
        """The newest first."""
        return iter(list(reversed(self._known.values())))

    def drop(self, session: ClientSession) -> None:
        """Nothing more is to be expected of it."""
        key = (session.client, session.id)
        self._known.pop(key, None)
        self._turns.pop(key, None)
        self._recorded.pop(key, None)
        for kept in (self._dirty, self._agent_told):
            kept.discard(key)
        with suppress(*_IN_THE_WAY):
            self._path(session).unlink(missing_ok=True)

    def briefed(self, session: ClientSession) -> None:
        """It was told what its project taught."""
        session.unbriefed = False
        self.changed(session)

    def changed(self, session: ClientSession) -> None:
        """It is written by the next ``save``."""
        self._dirty.add((session.client, session.id))

    def settled(self, now: float) -> list[ClientSession]:
        """Sessions of which nothing was heard for a day."""
        return [session for session in self._known.values() if now - session.touched > KEPT_SECONDS]

    def forget(self) -> None:
        """Drop all words that were said; which task is at work stays known."""
        self._recorded.clear()
        for key, session in self._known.items():
            session.task = session.prompt = ""
            session.reactions = []
            for happening in session.happenings:
                happening.text = ""
            self._dirty.add(key)
        self.save()

    def stepped(self, session: ClientSession) -> None:
        """A step arrived."""
        if not session.made_up:
            self.quiet[session.client] = Quiet(last_step=time.time())
            self._quiet_changed = True

    def worked(self, session: ClientSession) -> None:
        """A turn of the session ended."""
        quiet = self.quiet.setdefault(session.client, Quiet())
        if session.stepped or session.made_up or session.id in quiet.silent:
            return
        quiet.silent = [*quiet.silent[-20:], session.id]
        self._quiet_changed = True

    def save(self) -> None:
        """Write what changed. Raises OSError."""
        with suppress(FileExistsError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key in tuple(self._dirty):
            session = self._known.get(key)
            if session is not None:
                _write(self._path(session), session)
            self._dirty.discard(key)
        if self._quiet_changed:
            _write(self._folder / "quiet", self.quiet)
            self._quiet_changed = False

    def _path(self, session: ClientSession) -> Path:
        digest = hashlib.blake2b(session.alias.encode("utf-8", "replace"), digest_size=12).hexdigest()
        return self._folder / f"{digest}.json"


def forget_words(home: Path) -> int:
    """Where no hub runs: drop all words of sessions and what was set aside; how many events wait. Raises OSError."""
    sessions = Sessions(home)
    sessions.load()
    if len(sessions):
        sessions.forget()
    spool.remove_aside(str(home))
    return len(spool.names(str(home)))


def _write(path: Path, value: Any) -> None:
    """Raises OSError, but for what has the name and is no file: only the next hub misses what is known of a session."""
    try:
        write_whole(path, msgspec.json.encode(value))
    except _IN_THE_WAY as error:
        _log.warning("sessions/%s cannot be kept: %s; move it away", path.name, error.strerror)


def _read(path: Path, kind: Any) -> Any:
    """None for what is not there or was cut off: then the session begins anew."""
    with suppress(OSError, msgspec.MsgspecError, RecursionError):
        return msgspec.json.decode(read_ordinary(path), type=kind)
    return None
