"""Traces to learn from: conversations with questions, and stretches of a project's episodes asked by later ones.

Nobody labels agents' episodes, so later ones ask about earlier ones: what a later success did is what it would have
liked to remember. Its task (and the first error it ran into) is the query; for each of its steps that worked, the steps
of earlier episodes that did nearly the same are evidence, any of them as good as another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import msgspec

from prowess.learning.memskill.units import Query, Span, Trace, Unit, Vectors, make_query, make_span, make_units
from prowess.learning.outcomes import ran
from prowess.learning.text import plain, terms
from prowess.storage.models import Step, Trajectory

__all__ = ["Question", "Shape", "Turn", "conversation", "episode_spans", "histories", "split_by_time"]

MAX_PART = 160  # characters of a step's arguments, observation or error
MAX_TASK = 300
SAME_STEP = 0.6  # share of words in common (Jaccard) from which two calls do the same
LEAST_WORDS = 2  # a call with fewer says nothing that one could recognise
MOST_EVIDENCE = 8  # of one query, the last ones of the episode: where it came to its end


class Turn(NamedTuple):
    """One turn of a conversation."""

    source: str
    text: str


class Question(NamedTuple):
    """What a conversation is asked: the sources of the turns that answer it, and the answer."""

    text: str
    evidence: tuple[str, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How traces are cut: units of a span, steps of an episode that are looked at (its last), episodes of a trace, and
    those before a query's episode that may hold its evidence.
    """

    span: int = 4
    steps: int = 40
    episodes: int = 25
    queries: int = 60


_USUAL = Shape()


def conversation(
    name: str,
    sessions: Sequence[Sequence[Turn]],
    questions: Sequence[Question],
    vectors: Vectors,
    shape: Shape = _USUAL,
) -> Trace:
    """A trace of a conversation's sessions; questions without evidence among its turns are left out."""
    turns = [turn for session in sessions for turn in session]
    units = deque(make_units([turn.text for turn in turns], [turn.source for turn in turns], vectors))
    spans: list[Span] = []
    for session in sessions:
        own = [units.popleft() for _ in session]
        for part in _parts(own, shape.span):
            spans.append(make_span(part, first=not spans))
    known = {turn.source for turn in turns}
    asked = [(q, [frozenset((source,)) for source in q.evidence if source in known]) for q in questions]
    asked = [(question, evidence) for question, evidence in asked if evidence]
    rows = vectors([question.text for question, _ in asked])
    queries = [make_query(q.text, e, row, q.answer) for (q, e), row in zip(asked, rows, strict=True)]
    return Trace(name, tuple(spans), tuple(queries))


def episode_spans(trajectory: Trajectory, vectors: Vectors, shape: Shape = _USUAL) -> list[Span]:
    """An episode's spans: its task, then its steps but those that the person stopped.

    Sources are ``EPISODE#STEP``, the task's step is 0.
    """
    episode, steps = trajectory.episode, ran(trajectory.steps)[-shape.steps :]
    texts, sources = [_step_text(step) for step in steps], [f"{episode.id}#{step.number}" for step in steps]
    if episode.task:
        texts, sources = [f"task: {_cut(episode.task, MAX_TASK)}", *texts], [f"{episode.id}#0", *sources]
    if not texts:
        return []
    units = make_units(texts, sources, vectors)
    return [make_span(part, first=index == 0) for index, part in enumerate(_parts(units, shape.span))]


def _step_text(step: Step) -> str:
    """A step in one line: what was called with what, and what came back."""
    called = f"{step.verb} {_cut(_arguments(step), MAX_PART)}".strip()
    if step.error:
        return f"{called} error: {_cut(step.error, MAX_PART)}"
    return f"{called} -> {_cut(step.observation, MAX_PART)}" if step.observation else called


def histories(trajectories: Sequence[Trajectory], vectors: Vectors, shape: Shape = _USUAL) -> list[Trace]:
    """Traces of each project's episodes in the order given (that of time), without those that nothing asks about.

    A trace holds ``shape.episodes`` episodes; the episodes after it, up to as many again, ask about it, and so do its
    own about those before them. Memory is asked at the end of the trace.
    """
    found: list[Trace] = []
    ordered = sorted(trajectories, key=lambda each: each.episode.project)
    for project, group in groupby(ordered, key=lambda each: each.episode.project):
        found += _project(project, list(group), vectors, shape)
    return found


def split_by_time(traces: Sequence[Trace], share: float) -> tuple[list[Trace], list[Trace]]:
    """The earlier ones to train on, and the last ``share`` to validate with, at least one of each where there are two.

    A single trace is both: there is no telling then how well what is learned carries over.
    """
    if len(traces) < 2:
        return list(traces), list(traces)
    count = min(max(round(share * len(traces)), 1), len(traces) - 1)
    return list(traces[:-count]), list(traces[-count:])


def _project(project: str, episodes: Sequence[Trajectory], vectors: Vectors, shape: Shape) -> Iterator[Trace]:
    for start in range(0, len(episodes), shape.episodes):
        told = episodes[start : start + shape.episodes]
        asking = episodes[start + 1 : start + 2 * shape.episodes]
        queries = list(_queries(told, asking, vectors, shape))
        spans = [span for trajectory in told for span in episode_spans(trajectory, vectors, shape)]
        if queries and spans:
            yield Trace(f"{project or 'all'}:{told[0].episode.id}", tuple(spans), tuple(queries[-shape.queries :]))


def _queries(
    told: Sequence[Trajectory], asking: Sequence[Trajectory], vectors: Vectors, shape: Shape
) -> Iterator[Query]:
    earlier = {each.episode.id: _calls(each, shape) for each in told}
    order = [each.episode.id for each in told]
    for later in asking:
        if later.episode.outcome != "success" or not later.episode.task:
            continue
        end = order.index(later.episode.id) if later.episode.id in earlier else len(order)
        known = [call for key in order[:end] for call in earlier[key]]
        evidence = _evidence(_calls(later, shape), known)
        if evidence:
            text = _asked(later)
            yield make_query(text, evidence, vectors([text])[0], _answer(later, shape))


class _Call(NamedTuple):
    source: str
    words: frozenset[str]
    text: str


def _calls(trajectory: Trajectory, shape: Shape) -> list[_Call]:
    """The steps of an episode that worked, as what was called with what."""
    return [
        _Call(f"{step.episode_id}#{step.number}", frozenset(terms(called)), called)
        for step in ran(trajectory.steps)[-shape.steps :]
        if step.outcome != "failure" and not step.error
        for called in [f"{step.verb} {_arguments(step)[:MAX_TASK]}"]
    ]


def _evidence(calls: Sequence[_Call], known: Sequence[_Call]) -> list[frozenset[str]]:
    groups = [
        frozenset(old.source for old in known if _alike(call.words, old.words))
        for call in calls
        if len(call.words) >= LEAST_WORDS
    ]
    return list(dict.fromkeys(group for group in groups if group))[-MOST_EVIDENCE:]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= LEAST_WORDS and shared >= SAME_STEP * len(one | other)


def _asked(trajectory: Trajectory) -> str:
    error = next((step.error for step in ran(trajectory.steps) if step.error), None)
    task = _cut(trajectory.episode.task, MAX_TASK)
    return f"{task} error: {_cut(error, MAX_PART)}" if error else task


def _answer(trajectory: Trajectory, shape: Shape) -> str:
    return " ".join(call.text for call in _calls(trajectory, shape)[-3:])


def _arguments(step: Step) -> str:
    if not step.args:
        return "" if step.tool is None else step.action
    values = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in step.args.values()]
    return " ".join(values)


def _cut(text: str, limit: int) -> str:
    return " ".join(plain(text[: 4 * limit]).split())[:limit]


def _parts(units: Sequence[Unit], size: int) -> Iterator[Sequence[Unit]]:
    for start in range(0, len(units), size):
        yield units[start : start + size]
