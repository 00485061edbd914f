"""What a skill is called and described as: the words of the tasks it comes from, against those of the others.

Retrieval matches this text, so it carries the words that tell these tasks from the rest, and no one's own data.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from prowess.learning.synthesis_calls import is_lookup, words_of
from prowess.storage.models import Trajectory

__all__ = ["Vocabulary", "task_words", "title_of"]

MAX_KEYWORDS = 16
_STOPWORDS = """
a about after again all also am an and any are as ask at be because been before being both but by can could did do does
doing don down each few for from further get give go had has have having he her here hers him his how i if in into is it
its itself just know let like ll make may me might more most must my need no nor not now of off on once one only or
other our ours out over own please re same say she should so some such tell than that the their theirs them then there
these they thing this those through to too two under until up us use ve very via want was we were what when where which
while who whom why will with would yes you your yours yourself
"""
STOPWORDS = frozenset(_STOPWORDS.split())

_WORD = re.compile("[a-z][a-z'\u2019-]*[a-z]|[a-z]")
_QUOTES = str.maketrans("", "", "'\u2019")


def task_words(text: str) -> list[str]:
    """Lower-case words that say what a text is about; no stop words, numbers or single letters."""
    words = (word.translate(_QUOTES) for word in _WORD.findall(text[:20_000].lower()))
    return [word for word in words if len(word) > 2 and word not in STOPWORDS]


class Vocabulary:
    """The words of all tasks, to tell what is salient of some of them."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        self._tasks: dict[str, set[str]] = defaultdict(set)
        for trajectory in trajectories:
            self._tasks[trajectory.episode.task_id].update(_proper(trajectory.episode.task))
        self._spread = Counter(word for words in self._tasks.values() for word in words)

    def salient(self, task_ids: Iterable[str]) -> list[str]:
        """The words that set these tasks apart, the most telling first."""
        inside = sorted(set(task_ids) & self._tasks.keys())
        counts = Counter(word for task in inside for word in self._tasks[task])
        least = 2 if len(inside) > 2 else 1
        scored = {word: self._tell(word, count, len(inside)) for word, count in counts.items() if count >= least}
        telling = [word for word in scored if scored[word] > 0]
        return sorted(telling, key=lambda word: (-scored[word], word))[:MAX_KEYWORDS]

    def _tell(self, word: str, count: int, inside: int) -> float:
        outside = len(self._tasks) - inside
        here = count / inside
        there = (self._spread[word] - count + 0.5) / (outside + 1)
        return here * math.log(here / there)


def _proper(text: str) -> set[str]:
    """The words of a task without names: what is capitalised in mid-sentence is someone's or something's own."""
    names = {name.lower() for name in re.findall(r"(?<=[a-z,;:] )[A-Z][a-z]+", text)}
    return {word for word in task_words(text) if word not in names}


def title_of(keys: Sequence[str]) -> list[str]:
    """The words of the moves that matter, without repeats: core moves, or all where none is one."""
    core = [key for key in keys if not is_lookup(key)] or list(keys)
    return list(dict.fromkeys(word for key in core for word in words_of(_short(key))))


def _short(key: str) -> str:
    tool, _, command = key.partition(":")
    return command or tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
