"""Counted episodes that the worker keeps from one question to the next, so that only new ones are read and counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from prowess.learning.mining.corpus import Corpus
from prowess.learning.mining.patterns import find
from prowess.storage.catalog import Position, read_changes
from prowess.storage.errors import StoreDefect
from prowess.storage.models import Pattern

__all__ = ["Corpora"]

MOST = 8  # catalogs and projects kept at once
MOST_STEPS = 500_000  # kept in all: about 280 MB

MOST_ANSWERS = 4  # kept of each; the same is asked again and again, and each is some 100 kB

_Key = tuple[Path, str | None]


class _Held(msgspec.Struct):
    """A corpus, the episodes that it leaves out, up to where it has read, and what was found in it since it changed
    last, by the options."""

    corpus: Corpus
    strange: frozenset[str]
    position: Position
    answers: dict[bytes, list[Pattern]]


class Corpora:
    """A corpus for each catalog file and project (None: all), brought up to date whenever it is asked for.

    Those asked for longest ago are dropped where there are too many or too large ones. What is kept may be lost at any
    time: it is counted again from the catalog.
    """

    def __init__(self, *, most: int = MOST, most_steps: int = MOST_STEPS) -> None:
        self._most, self._most_steps = most, most_steps
        self._held: dict[_Key, _Held] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._held)

    def find(self, catalog: Path, project: str | None, options: Mapping[str, Any]) -> list[Pattern]:
        """The patterns in all episodes of the catalog file, or of one of its projects. Raises StoreError.

        ``options`` are those of ``mining.find``. Where nothing changed, it is what was found before.
        """
        held, key = self._current(catalog, project), msgspec.msgpack.encode(options)
        if key not in held.answers:
            found = find(held.corpus, **options)
            held.answers = dict([*held.answers.items(), (key, found)][-MOST_ANSWERS:])
        return held.answers[key]

    def of(self, catalog: Path, project: str | None) -> Corpus:
        """All episodes of the catalog file, or of one of its projects. Raises StoreError."""
        return self._current(catalog, project).corpus

    def _current(self, catalog: Path, project: str | None) -> _Held:
        key = (catalog, project)
        held = self._held.pop(key, None)  # what fails half-way is not kept
        found = _counted(catalog, project, held) if held is not None and not held.corpus.worn else None
        found = found or _counted(catalog, project, None)
        if found is None:
            raise StoreDefect("the catalog's episodes are not as many as it says", hint="prowess rebuild")
        self._held[key] = found
        self._shrink()
        return found

    def _shrink(self) -> None:
        while self._held and (len(self._held) > self._most or self._steps > self._most_steps):
            del self._held[next(iter(self._held))]

    @property
    def _steps(self) -> int:
        return sum(held.corpus.steps for held in self._held.values())


def _counted(catalog: Path, project: str | None, held: _Held | None) -> _Held | None:
    """What is ``held`` with what changed since; None where that does not add up to what the catalog holds."""
    with read_changes(catalog, project=project, since=held.position if held else None) as changes:
        if held is not None and changes.episodes is None:
            return _Held(held.corpus, held.strange, changes.position, held.answers)
        kept = None if changes.whole else held
        corpus, strange = (Corpus(), set[str]()) if kept is None else (kept.corpus, {*kept.strange})
        before = corpus.changes
        corpus.update([], (*changes.gone, *changes.strange))
        strange.difference_update(changes.gone)
        for batch in changes.batches:
            corpus.update(batch)
            strange.difference_update(one.episode.id for one in batch)
        strange.update(changes.strange)
        answers = kept.answers if kept is not None and corpus.changes == before else {}
        found = _Held(corpus, frozenset(strange), changes.position, answers)
        return found if len(corpus) + len(strange) == changes.episodes else None
