"""What a client's configuration file shall hold of ours, whatever the file's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Block", "Default", "Document", "Entry", "Handler", "State", "Want", "prefixes"]

# ``foreign``: the place is taken by something that is not ours.
State = Literal["ok", "outdated", "missing", "foreign"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of ours at a fixed place. Keys beyond those of ``value`` are the person's and stay."""

    path: tuple[str, ...]
    value: dict[str, Any]
    ours: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Handler:
    """One hook of ours in the list at ``path``, where others may have theirs.

    ``item`` is what is added when there is none. With ``inner`` the hooks stand in groups, each under that key. Of a
    hook that is there only the command is kept current: a person may have set the rest.
    """

    path: tuple[str, ...]
    item: dict[str, Any]
    ours: Callable[[Any], bool]
    inner: str = ""

    @property
    def command(self) -> str:
        handler = self.item[self.inner][0] if self.inner else self.item
        return str(handler["command"])


@dataclass(frozen=True, slots=True)
class Default:
    """A value that the format asks for: set where it is missing, never changed."""

    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between marks. With ``head`` the whole file is ours and begins with it."""

    text: str
    head: str = ""


Want = Entry | Handler | Default | Block


@dataclass(slots=True)
class Document:
    """A text without its byte order mark. ``made`` has the paths of the containers that exist only for our entries."""

    text: str
    made: set[tuple[str, ...]] = field(default_factory=set)


def prefixes(path: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The containers of ``path``, outermost first."""
    return (tuple(path[:i]) for i in range(1, len(path)))
