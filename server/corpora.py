"""Counted episodes that the worker keeps from one question to the next, so that only new ones are read and counted."""

from __future__ import annotations

from pathlib import Path

from prowess.learning.mining_corpus import Corpus
from prowess.storage.catalog import Position, read_changes
from prowess.storage.errors import StoreDefect

__all__ = ["Corpora"]

MOST = 8  # catalogs and projects kept at once
MOST_STEPS = 500_000  # kept in all: about 280 MB

_Key = tuple[Path, str | None]


class Corpora:
    """A corpus for each catalog file and project (None: all), brought up to date whenever it is asked for.

    Those asked for longest ago are dropped where there are too many or too large ones. What is kept may be lost at any
    time: it is counted again from the catalog.
    """

    def __init__(self, *, most: int = MOST, most_steps: int = MOST_STEPS) -> None:
        self._most, self._most_steps = most, most_steps
        self._held: dict[_Key, tuple[Corpus, Position]] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._held)

    def of(self, catalog: Path, project: str | None) -> Corpus:
        """All episodes of the catalog file, or of one of its projects. Raises StoreError."""
        key = (catalog, project)
        held = self._held.pop(key, None)  # what fails half-way is not kept
        found = _counted(catalog, project, *held) if held is not None and not held[0].worn else None
        found = found or _counted(catalog, project, Corpus(), None)
        if found is None:
            raise StoreDefect("the catalog's episodes are not as many as it says", hint="prowess rebuild")
        self._held[key] = found
        self._shrink()
        return found[0]

    def _shrink(self) -> None:
        while self._held and (len(self._held) > self._most or self._steps > self._most_steps):
            del self._held[next(iter(self._held))]

    @property
    def _steps(self) -> int:
        return sum(corpus.steps for corpus, _ in self._held.values())


def _counted(
    catalog: Path, project: str | None, corpus: Corpus, since: Position | None
) -> tuple[Corpus, Position] | None:
    """``corpus`` with what changed after ``since``; None where that does not add up to what the catalog holds."""
    with read_changes(catalog, project=project, since=since) as changes:
        corpus = Corpus() if changes.whole else corpus
        corpus.update([], changes.gone)
        for batch in changes.batches:
            corpus.update(batch)
        return (corpus, changes.position) if len(corpus) == changes.episodes else None
