"""What a single episode shows: its moves, decisions, contexts, failures and recoveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from prowess.learning.counting import tally
from prowess.learning.memories.client_errors import is_of_client, misses_a_file
from prowess.learning.memories.instead import changes_files, done_within, is_again, looks
from prowess.learning.mining.incidence import Tally
from prowess.learning.outcomes import failed, ran
from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.synthesis.words import task_words
from prowess.learning.templates import NO_MESSAGE, template
from prowess.storage.models import Episode, Step, Trajectory

__all__ = ["Facts", "Reader", "verb_of"]

START, STOP = "(start)", "(stop)"
WINDOW = 20  # how many steps after an error may still be its recovery
MAX_FIX = 3
REMEMBERED = 50_000  # texts whose template or words are kept


def verb_of(step: Step) -> str:
    """What a step does, to be counted: its tool, with the program where it runs a command line; else its action.

    A summary has no arguments' values; there the action tells the command line after the tool's name.
    """
    if step.tool is None:
        return step.action
    for name in COMMAND_ARGUMENTS if step.args else ():
        if step.args and name in step.args:
            line = step.args[name] or step.action.removeprefix(step.tool).removeprefix(": ")
            return key_of(step.tool, {name: line}).partition("|")[0]
    return step.tool


class Facts(msgspec.Struct, frozen=True):
    """``moves`` are the verbs without immediate repeats; the rest says what is shown and how often.

    ``verbs`` counts steps, ``runs`` moves and ``long`` moves of more than one step, by verb; ``decisions`` has (one or
    two moves, what came next) of the first such moment; ``failing`` (verb, error template), without what a client says
    of its own tools; ``fixes`` (verb, error, what was done before the verb worked again); ``changed`` the same with the
    name of an argument that was another.
    """

    moves: list[str]
    verbs: Tally
    runs: Tally
    long: Tally
    decisions: Tally
    contexts: Tally
    failing: Tally
    fixes: Tally
    changed: Tally


class Reader:
    """Reads facts; each error and task text is worked on once."""

    def __init__(self) -> None:
        self._templates: dict[str, str] = {}
        self._words: dict[str, list[str]] = {}

    def read(self, trajectory: Trajectory) -> Facts:
        """The facts of one episode."""
        steps = ran(trajectory.steps)
        verbs = [verb_of(step) for step in steps]
        before: list[str | None] = [None, *verbs]
        moves = [verb for verb, last in zip(verbs, before, strict=False) if verb != last]
        again = [
            verb for verb, last, other in zip(verbs, before, [None, *before], strict=False) if verb == last != other
        ]
        fixes, changed = Counter[Any](), Counter[Any]()
        failing = [
            (at, error)
            for at, step in enumerate(steps)
            if failed(step) and not (is_of_client(error := self._template(step)) or misses_a_file(verbs[at], error))
        ]
        for at, error in failing:
            _note_fix(steps, verbs, at, error, fixes, changed)
        return Facts(
            moves=moves,
            verbs=tally(verbs),
            runs=tally(moves),
            long=tally(again),
            decisions=_decisions(moves),
            contexts=dict.fromkeys(self._contexts(trajectory.episode), 1),
            failing=tally([(verbs[at], error) for at, error in failing]),
            fixes=fixes,
            changed=changed,
        )

    def _template(self, step: Step) -> str:
        text = step.error or step.observation or ""  # some tools tell what went wrong as any other result
        if (known := self._templates.get(text)) is None:
            known = _kept(self._templates, text, template(text) or NO_MESSAGE)
        return known

    def _contexts(self, episode: Episode) -> Iterator[tuple[str, str]]:
        if episode.project:
            yield "project", episode.project
        if episode.agent:
            yield "agent", episode.agent
        if (known := self._words.get(episode.task)) is None:
            known = _kept(self._words, episode.task, sorted({*task_words(episode.task)}))
        for word in known:
            yield "word", word


def _kept(memory: dict[str, Any], text: str, result: Any) -> Any:
    if len(memory) >= REMEMBERED:
        memory.clear()
    memory[text] = result
    return result


def _decisions(moves: Sequence[str]) -> Tally:
    framed = [START, *moves, STOP]
    first: dict[tuple[str, ...], str] = {}
    for one, other in pairwise(framed):
        first.setdefault((one,), other)
    for before, one, other in zip(framed[:-2], moves, framed[2:], strict=True):
        first.setdefault((before, one), other)
    return dict.fromkeys(first.items(), 1)


def _note_fix(
    steps: Sequence[Step], verbs: Sequence[str], at: int, error: str, fixes: Counter[Any], changed: Counter[Any]
) -> None:
    """Adds how the failing step at ``at`` was got over, if it was before it failed again."""
    between, edited = list[str](), False
    for later in range(at + 1, min(at + 1 + WINDOW, len(steps))):
        verb, works = verbs[later], not failed(steps[later])
        if is_again(steps[at], steps[later], same=verb == verbs[at]):
            if works:
                led = None if edited else done_within(steps[at], steps[later])
                if led:
                    between.append(verb_of(led))
                fix = (verbs[at], error, tuple(between[-MAX_FIX:]))
                fixes[fix] += 1
                changed.update((*fix, name) for name in _changed(steps[at].args, steps[later].args))
            return
        edited = edited or (works and changes_files(verb) and not looks(steps[later]))
        if works and (not between or between[-1] != verb):
            between.append(verb)


def _changed(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[str]:
    if before is None or after is None:
        return []
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
