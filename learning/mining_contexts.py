"""Where episodes go well or badly: decision points, projects, agents, words of the task, tools at hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from prowess.learning.mining_coding import Coded, Hypothesis, Ints, distinct_pairs
from prowess.learning.synthesis_words import task_words

__all__ = ["contexts", "decisions"]

MAX_WORDS = 400
MAX_STATES = 400  # decision points and options looked at, the most frequent first
MAX_OPTIONS = 12
LARGEST_SHARE = 0.9  # what nearly all episodes have tells none apart
START, STOP = "(start)", "(stop)"


def decisions(coded: Coded, min_support: int) -> Iterator[Hypothesis]:
    """After the same one or two moves, each next move against the others, at an episode's first such moment."""
    names = (*coded.names, START, STOP)
    start, stop = len(coded.names), len(coded.names) + 1
    moves, owner = _framed(coded, start, stop)
    for depth in (1, 2):
        at = np.arange(depth, len(moves))
        at = at[owner[at] == owner[at - depth]]
        states = [moves[at - back] for back in range(depth, 0, -1)]
        state = sum(
            (part * len(names) ** place for place, part in enumerate(reversed(states))), np.zeros(len(at), np.int64)
        )
        yield from _forks(state, moves[at], owner[at], names, depth, min_support)


def _framed(coded: Coded, start: int, stop: int) -> tuple[Ints, Ints]:
    """The moves with a start before and a stop after each episode."""
    count = len(coded.trajectories)
    owner = np.r_[np.arange(count), coded.owner, np.arange(count)]
    moves = np.r_[np.full(count, start), coded.moves, np.full(count, stop)]
    order = np.argsort(owner, kind="stable")
    return moves[order], owner[order]


def _forks(
    state: Ints, then: Ints, owner: Ints, names: tuple[str, ...], depth: int, least: int
) -> Iterator[Hypothesis]:
    width = int(owner.max()) + 1 if len(owner) else 1
    _, first = np.unique(state * width + owner, return_index=True)
    choices, episodes, begins = distinct_pairs(state[first] * len(names) + then[first], owner[first])
    options: dict[int, list[tuple[str, Ints]]] = defaultdict(list)
    for index, choice in enumerate(choices.tolist()):
        before, chosen = divmod(choice, len(names))
        options[before].append((names[chosen], episodes[begins[index] : begins[index + 1]]))
    visited = {before: sum(len(shown) for _, shown in chosen) for before, chosen in options.items()}
    for before in sorted(options, key=lambda before: (-visited[before], before))[:MAX_STATES]:
        after = [names[before // len(names) ** back % len(names)] for back in range(depth - 1, -1, -1)]
        yield from _fork(after, options[before], least)


def _fork(after: list[str], options: list[tuple[str, Ints]], least: int) -> Iterator[Hypothesis]:
    options = sorted(options, key=lambda option: (-len(option[1]), option[0]))
    frequent = [option for option in options[:MAX_OPTIONS] if len(option[1]) >= least]
    if len(options) < 2 or not frequent:
        return
    within = np.sort(np.concatenate([shown for _, shown in options]))
    mirrored = len(options) == 2 and len(frequent) == 2  # the second would say the same with the sign turned
    for chosen, members in frequent[:1] if mirrored else frequent:
        instead = [name for name, _ in options[:4] if name != chosen][:3]
        yield Hypothesis(
            kind="decision",
            content=(*after, "then", chosen),
            members=members,
            within=within,
            subject=f"after {' → '.join(after)} the next move is {chosen} (not {' or '.join(instead)})",
            detail={"after": after, "choice": chosen, "instead": instead},
        )


def contexts(coded: Coded, min_support: int) -> Iterator[Hypothesis]:
    """Properties of episodes that some have and some lack; those with the same episodes are told as one."""
    episodes = [trajectory.episode for trajectory in coded.trajectories]
    most = LARGEST_SHARE * len(episodes)
    merged: dict[bytes, tuple[str, list[str], Ints]] = {}
    features = [
        *_labels("project", [episode.project for episode in episodes]),
        *_labels("agent", [episode.agent for episode in episodes]),
        *_tools(coded),
        *_words([episode.task for episode in episodes]),
    ]
    for what, value, members in features:
        if min_support <= len(members) <= most:
            merged.setdefault(members.tobytes(), (what, [], members))[1].append(value)
    for what, values, members in merged.values():
        yield _context(what, values, members)


def _context(what: str, values: list[str], members: Ints) -> Hypothesis:
    phrase = {
        "project": "the project is",
        "agent": "the agent is",
        "tool": "the episode uses",
        "word": "the task mentions",
    }[what]
    shown = ", ".join(values[:4])
    detail = {"feature": what, "value": values[0], "also": values[1:4]}
    return Hypothesis("context", (what, values[0]), members, f"{phrase} {shown}", detail)


def _labels(what: str, values: list[str]) -> Iterator[tuple[str, str, Ints]]:
    shown: dict[str, list[int]] = defaultdict(list)
    for index, value in enumerate(values):
        if value:
            shown[value].append(index)
    for value in sorted(shown):
        yield what, value, np.array(shown[value], np.int64)


def _tools(coded: Coded) -> Iterator[tuple[str, str, Ints]]:
    verbs, episodes, begins = distinct_pairs(coded.moves, coded.owner)
    for index, verb in enumerate(verbs.tolist()):
        yield "tool", coded.names[verb], episodes[begins[index] : begins[index + 1]]


def _words(tasks: list[str]) -> Iterator[tuple[str, str, Ints]]:
    """The words that most tasks share first; each task text is read once however many attempts it had."""
    attempts: dict[str, list[int]] = defaultdict(list)
    for index, task in enumerate(tasks):
        if task:
            attempts[task].append(index)
    shown: dict[str, list[int]] = defaultdict(list)
    for task, indices in attempts.items():
        for word in set(task_words(task)):
            shown[word].extend(indices)
    for word in _frequent(shown.items()):
        yield "word", word, np.sort(np.array(shown[word], np.int64))


def _frequent(shown: Iterable[tuple[str, list[int]]]) -> list[str]:
    ranked = sorted(shown, key=lambda pair: (-len(pair[1]), pair[0]))
    return [word for word, _ in ranked[:MAX_WORDS]]
