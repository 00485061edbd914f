"""What was told twice: a tool call by its hook or transcript, and by the agent itself.

Told by the agent first, the step is given the call's identity; told by the agent later, it is a duplicate.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from prowess.server.transcripts.evidence import command_of
from prowess.server.transcripts.model import Call
from prowess.storage.models import NewStep, Origin, Step, parse_time

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["AHEAD", "Calls"]

# By how much the agent's word may come before its call: told side by side, a call waits for the user's permission.
AHEAD = timedelta(minutes=5)
LEAST_COMMAND = 4  # characters of a command that is looked for in an action's words
MOST_COMMAND = 4_000  # characters of an action


class _Shape(NamedTuple):
    """What two tellings of one call have in common: the tool in small letters, and the command or else the arguments.

    Values are known by their hash: of a long episode all shapes are in memory.
    """

    tool: str
    command: int | None
    items: frozenset[int]
    rarest: int | None
    at: datetime | None

    def is_of(self, other: _Shape) -> bool:
        """Whether the arguments that an agent told (``self``) are those of a call."""
        if self.tool and other.tool and self.tool != other.tool:
            return False
        if self.command is not None or other.command is not None:
            return self.command == other.command
        return bool(self.tool) and self.items <= other.items


def _shape(step: NewStep | Step) -> _Shape:
    args = step.args or {}
    command = _command(step)
    sizes = {} if command else {hash((name, text)): len(text) for name, text in _texts(args)}
    rarest = max(sizes, key=lambda key: sizes[key], default=None)
    at = parse_time(step.at) if step.at else None
    return _Shape((step.tool or "").lower(), hash(command) if command else None, frozenset(sizes), rarest, at)


def _texts(args: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, json.dumps(value, sort_keys=True)) for name, value in args.items())


def _command(step: NewStep | Step) -> str:
    return command_of(Call("", "", step.args or {}, None)).strip()


class _Index:
    """Steps by what two tellings have in common. Each is looked for under one key, so that few are looked at."""

    def __init__(self) -> None:
        self.shapes: dict[int, _Shape] = {}
        self._places: dict[int, dict[int, None]] = {}

    def add(self, number: int, shape: _Shape, keys: Iterable[int]) -> None:
        self.shapes[number] = shape
        for key in keys:
            self._places.setdefault(key, {})[number] = None

    def remove(self, number: int, keys: Iterable[int]) -> None:
        del self.shapes[number]
        for key in keys:
            del self._places[key][number]

    def under(self, key: int) -> dict[int, None]:
        return self._places.get(key, {})


class Calls:
    """The steps of one episode, by which calls they tell of. ``add`` each of them once."""

    def __init__(self) -> None:
        self._identities: dict[str, int] = {}
        self._claimed = _Index()
        self._unclaimed = _Index()
        self._commands: dict[str, dict[tuple[str, str], list[int]]] = {}  # by how they begin

    @property
    def unclaimed(self) -> bool:
        """Whether the agent told of calls that nobody else has told of."""
        return bool(self._unclaimed.shapes)

    def add(self, step: Step) -> None:
        """A stored step. An agent's words without arguments tell of no call: they would stand for what a hook knows."""
        if step.external_id is not None:
            self._add_claimed(step.number, _shape(step), step.external_id, _command(step))
        elif step.args:
            shape = _shape(step)
            self._unclaimed.add(step.number, shape, _one_key(shape))

    def _add_claimed(self, number: int, shape: _Shape, identity: str, command: str) -> None:
        self._identities[identity] = number
        self._claimed.add(number, shape, shape.items if shape.command is None else (shape.command,))
        if LEAST_COMMAND <= len(command) <= MOST_COMMAND:
            alike = self._commands.setdefault(command[:LEAST_COMMAND], {})
            alike.setdefault((command, shape.tool), []).append(number)

    # ---- told by a hook or a transcript

    async def recognise(
        self, episode_id: str, steps: Sequence[NewStep], store: Store, origin: Origin
    ) -> Mapping[int, bool]:
        """Give the agent's steps the identity of those of ``steps`` that they tell of, in the store as well.

        By the number of each whether it was given one now: not where somebody else told of it or of the call since it
        was added, or where it is gone. Each is one of them at most, the oldest first. Tracked after this, what was
        recognised is a duplicate.
        """
        found: dict[int, NewStep] = {}
        for step in steps:
            if (number := self._unclaimed_of(step, found)) is not None:
                found[number] = replace(step, number=number)
        if not found:
            return {}
        given = await store.identify(episode_id, list(found.values()), origin=origin)
        for number in given.numbers:
            self._claim(number, found[number])
        return {number: number in given.numbers for number in found}

    def _unclaimed_of(self, step: NewStep, taken: Collection[int]) -> int | None:
        """The number of the agent's step that tells of this call."""
        if step.external_id is None or step.external_id in self._identities:
            return None
        shape = _shape(step)
        keys = shape.items if shape.command is None else (shape.command,)
        there = (each for key in keys for each in self._unclaimed.under(key))
        return min((each for each in there if each not in taken and self._tells(each, shape)), default=None)

    def _claim(self, number: int, step: NewStep) -> None:
        assert step.external_id is not None
        mine = self._unclaimed.shapes[number]
        self._unclaimed.remove(number, _one_key(mine))
        self._add_claimed(number, mine, step.external_id, _command(step))

    def _tells(self, number: int, shape: _Shape) -> bool:
        known = self._unclaimed.shapes[number]
        early = known.at is None or shape.at is None or shape.at - known.at <= AHEAD
        return early and known.is_of(shape)

    # ---- told by the agent

    def known(self, steps: Sequence[NewStep]) -> list[int | None]:
        """For each of an agent's steps the number of the call's that it is, the newest first; each is one at most."""
        taken: set[int] = set()
        numbers: list[int | None] = []
        for step in reversed(steps):
            found = next((number for number in self._alike(step) if number not in taken), None)
            taken |= {found} if found is not None else set()
            numbers.append(found)
        return numbers[::-1]

    def _alike(self, step: NewStep) -> Iterator[int]:
        """Calls that the agent's words may tell of, the newest first."""
        if step.external_id:
            return iter([self._identities[step.external_id]] if step.external_id in self._identities else [])
        return self._by_arguments(_shape(step)) if step.args else self._by_words(step)

    def _by_arguments(self, shape: _Shape) -> Iterator[int]:
        keys = shape.items if shape.command is None else (shape.command,)
        fewest = min((self._claimed.under(key) for key in keys), key=len, default={})
        return (number for number in reversed(fewest) if shape.is_of(self._claimed.shapes[number]))

    def _by_words(self, step: NewStep) -> Iterator[int]:
        """Calls whose command stands in the action."""
        tool, action = (step.tool or "").lower(), step.action
        found = [
            reversed(numbers)
            for at in range(len(action) - LEAST_COMMAND + 1)
            for (command, theirs), numbers in self._commands.get(action[at : at + LEAST_COMMAND], {}).items()
            if action.startswith(command, at) and not (tool and theirs and tool != theirs)
        ]
        return merge(*found, reverse=True)


def _one_key(shape: _Shape) -> tuple[int, ...]:
    """All that an agent told is in the call's arguments: one is enough to find it by, and the longest is the rarest."""
    key = shape.rarest if shape.command is None else shape.command
    return () if key is None else (key,)
