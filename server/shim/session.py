"""One client's session: what it asked, what is still unanswered, and what a new hub has to be told. No I/O."""

from __future__ import annotations

from .lean import deque
from .stream import MAX_LINE
from .wire import INVALID_REQUEST, PARSE_ERROR, Message, dump, error_line, guessed_id, parse, with_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque as Deque  # noqa: N812

    from .wire import Failure, Id

__all__ = ["BrokenHub", "Session"]

MOST_DEATHS = 2  # what two hubs died of may be what killed them
REMEMBERED = 1024  # answered ids, to know a second answer by
OVERHEAD = 500  # bytes that an entry takes beside its line
UNREADABLE = "an unreadable line"  # instead of a method

_LOST = "the hub ended twice while it worked on this request"
_LOST_HINT = "It may or may not have been carried out; logs/hub.log in the store's folder says more. Try again."


class BrokenHub(Exception):
    """The hub answered in a way that no session can go on with."""


class Entry:
    """A line from the client: kept until it is answered when it is a request, else until it is handed to a hub."""

    __slots__ = ("at", "deaths", "id", "line", "method")

    def __init__(self, line: bytes, method: str = "", request_id: Id | None = None) -> None:
        self.line = line + b"\n"
        self.method = method
        self.id = request_id
        self.deaths = 0
        self.at = -1  # where it began in what was written to the present hub; -1: not handed over


class Handshake:
    """The client's ``initialize``, as it is told to each further hub."""

    __slots__ = ("answered", "fields", "id", "initialized")

    def __init__(self, message: Message) -> None:
        self.id = message.id
        self.fields = message.fields
        self.answered = False
        self.initialized = b""


class Session:
    """Lines go in from both sides; what is due to each comes out."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls = 0
        self._replays = 0
        self._entries: dict[int, Entry] = {}  # in the order they came, by identity
        self._open: dict[Id, Entry] = {}
        self._queue: Deque[Entry] = deque()
        self._answered: dict[Id, None] = {}
        self._asked: set[Id] = set()
        self._handshake: Handshake | None = None
        self._replaying = ""
        self._first: list[bytes] = []
        self._unreadable = 0  # lines that no hub has got yet
        self.size = 0
        self.unsure = False  # a line went to this hub whose answer cannot be known by its id

    @property
    def waiting(self) -> bool:
        """Whether the client waits for an answer that a hub has to give."""
        return bool(self._open or self._unreadable)

    @property
    def pending(self) -> bool:
        """Whether anything is left to tell a hub, or to hear from one."""
        return bool(self._entries)

    @property
    def unsent(self) -> bool:
        """Whether something could be handed over now."""
        return bool(self._first or (self._queue and not self._replaying))

    # From the client.

    def take(self, line: bytes | None) -> list[bytes]:
        """Take one line of the client's. Returns what the client is told at once."""
        if line is None:
            reason = f"the message is longer than {MAX_LINE} bytes"
            return [error_line(None, reason, "Send less at a time.", INVALID_REQUEST)]
        message = parse(line)
        if message is None:
            self._keep(Entry(line, UNREADABLE))
        elif not message.method:
            self._take_answer(message, line)
        elif "id" in message.fields:
            self._take_request(message, line)
        elif message.method == "notifications/cancelled":
            self._take_cancelled(message, line)
        else:
            self._keep(Entry(line, message.method))
        return []

    def _take_request(self, message: Message, line: bytes) -> None:
        known = message.id
        if known is None or known in self._open:  # the hub refuses it
            self._keep(Entry(line, UNREADABLE))
            return
        if message.method == "tools/call":
            self._calls += 1
            line = with_key(message, f"{self._name}:{self._calls}")
        elif message.method == "initialize":
            self._handshake = Handshake(message)
        entry = Entry(line, message.method, known)
        self._answered.pop(known, None)
        self._open[known] = entry
        self._keep(entry)

    def _take_cancelled(self, message: Message, line: bytes) -> None:
        target = message.params.get("requestId")
        entry = self._open.get(target) if isinstance(target, str | int) else None
        if entry is not None:
            self._settle(entry)
            if entry.at < 0:  # no hub has seen it
                return
        self._keep(Entry(line, message.method))

    def _take_answer(self, message: Message, line: bytes) -> None:
        # An answer to what an earlier hub asked would be taken for one to this hub's question of the same number.
        if message.id is not None and message.id in self._asked:
            self._asked.discard(message.id)
            self._keep(Entry(line))
        elif "id" not in message.fields or not {"result", "error"}.intersection(message.fields):
            self._keep(Entry(line, UNREADABLE))

    def _keep(self, entry: Entry) -> None:
        self._entries[id(entry)] = entry
        self._queue.append(entry)
        self.size += len(entry.line) + OVERHEAD
        self._unreadable += entry.method == UNREADABLE

    def _drop(self, entry: Entry) -> None:
        if self._entries.pop(id(entry), None) is not None:
            self.size -= len(entry.line) + OVERHEAD
            self._unreadable -= entry.method == UNREADABLE

    def _settle(self, entry: Entry) -> None:
        self._drop(entry)
        if entry.id is not None and self._open.get(entry.id) is entry:
            del self._open[entry.id]
            self._answered[entry.id] = None
            if len(self._answered) > REMEMBERED:
                del self._answered[next(iter(self._answered))]

    # To the hub.

    def connected(self) -> None:
        """A hub is there that knows nothing yet: all that is unanswered is due again, after the handshake."""
        self._queue = deque(self._entries.values())
        self._first = []
        self._replaying = ""
        if self._handshake is not None and self._handshake.answered:
            self._replays += 1
            self._replaying = f"{self._name}:initialize:{self._replays}"
            self._first = [dump({**self._handshake.fields, "id": self._replaying}).encode() + b"\n"]

    def next_line(self, at: int) -> bytes:
        """The next line that is due to the hub, which will begin at position ``at`` of its stream; empty if none is."""
        if self._first:
            return self._first.pop(0)
        while self._queue and not self._replaying:
            entry = self._queue.popleft()
            if id(entry) in self._entries:
                self._hand_over(entry, at)
                return entry.line
        return b""

    def _hand_over(self, entry: Entry, at: int) -> None:
        entry.at = at
        self.unsure = self.unsure or entry.method == UNREADABLE
        if entry.id is None:
            self._drop(entry)
        if entry.method == "notifications/initialized" and self._handshake is not None:
            self._handshake.initialized = entry.line

    # From the hub.

    def hear(self, line: bytes | None) -> bytes:
        """What the client is told of one line from the hub; empty for nothing. Raises ``BrokenHub``."""
        if line is None:
            raise BrokenHub(f"the hub sent a line longer than {MAX_LINE} bytes")
        message = parse(line)
        if message is None:
            raise BrokenHub("the hub sent a line that is no message")
        if message.method:
            if message.id is not None:
                self._asked.add(message.id)
            return line + b"\n"
        if self._replaying and message.id == self._replaying:
            self._end_replay(message)
            return b""
        return line + b"\n" if self._is_news(message) else b""

    def _end_replay(self, message: Message) -> None:
        self._replaying = ""
        if "error" in message.fields:
            raise BrokenHub("the new hub refused the handshake that the old one had taken")
        if self._handshake is not None and self._handshake.initialized:
            self._first.append(self._handshake.initialized)

    def _is_news(self, message: Message) -> bool:
        known = message.id
        entry = self._open.get(known) if known is not None else None
        if entry is None:
            return known not in self._answered
        self._settle(entry)
        if self._handshake is not None and entry.method == "initialize" and known == self._handshake.id:
            self._handshake.answered = "error" not in message.fields
        return True

    # When there is no hub.

    def lost(self, written: int) -> list[bytes]:
        """The hub is gone after it got ``written`` bytes. Returns errors for the requests that are given up."""
        self._asked.clear()
        self._first = []
        self._replaying = ""
        self.unsure = False
        given_up = []
        for entry in list(self._open.values()):
            entry.deaths += 0 <= entry.at < written
            entry.at = -1
            if entry.deaths >= MOST_DEATHS:
                given_up.append(entry)
        return [self._give_up(entry, _LOST, _LOST_HINT) for entry in given_up]

    def fail(self, failure: Failure) -> list[bytes]:
        """No hub can be had: errors for all that waits for an answer; the rest is dropped."""
        errors = [self._give_up(entry, failure.reason, failure.hint) for entry in list(self._open.values())]
        for entry in list(self._entries.values()):
            if entry.method == UNREADABLE:
                errors.append(_refusal(entry.line))
            self._drop(entry)
        self._queue.clear()
        return errors

    def _give_up(self, entry: Entry, reason: str, hint: str) -> bytes:
        self._settle(entry)
        assert entry.id is not None
        return error_line(entry.id, reason, hint)


def _refusal(line: bytes) -> bytes:
    return error_line(guessed_id(line), "this line is no JSON-RPC message", "Send JSON.", PARSE_ERROR)
