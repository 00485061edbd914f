"""The words of the tasks that a skill comes from which tell these from the rest, and are no one's own data."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from prowess.learning.remembered import remembered
from prowess.learning.synthesis.usage import MASK, Usage
from prowess.learning.text import STOP_WORDS, terms, words

__all__ = ["EMPTY_OF_CODING", "EMPTY_WORDS", "Vocabulary", "task_words"]

MAX_KEYWORDS = 8
COMMON = 4  # words where none is clearly telling: such as several of the tasks share
TELLING = 2.0  # z above which a word goes with a group by more than chance; weaker ones mostly mislead retrieval
PRIOR = 4.0  # tasks' worth of belief that a word is as frequent in a group as anywhere
LONGEST_TASK = 20_000
LONGEST_WORD = 40  # longer is an identifier, or a whole clause in a script without spaces

# What any task may say, whatever it is about: where no word tells a group of tasks from others, these do least of all.
EMPTY_WORDS = frozenset(
    """
    able actually add added adding also another anything apply available back bit change changed changes create
    created current different done either else even every existing few file files first following further go going
    good got help here issue kind last left less little look looks lot made main make makes making many master more
    much name names new newest next number numbers old only part place please properly put quick quickly really right
    run running same see set should simple since something still sure thanks thing things think time today try two
    type update updated upon use used user uses using value values via want way whole within without work working
    works
    """.split()  # noqa: SIM905 - a hundred quoted words would be no easier to read
)

EMPTY_OF_CODING = frozenset("app application codebase project repo repository".split())  # noqa: SIM905

_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")


def task_words(text: str) -> list[str]:
    """Lower-case words that say what a text is about; no stop words, numbers, very short or very long ones."""
    found = [word for word in words(text[:LONGEST_TASK]) if 2 < len(word) <= LONGEST_WORD]
    return [word for word in found if word not in STOP_WORDS and not any(map(str.isdigit, word))]


class Vocabulary:
    """The words of all tasks and what was done for each task, to tell which words go with which moves.

    ``tasks`` are pairs of a task's text and the moves (keys) that mattered in it, by task id.
    """

    def __init__(self, tasks: Mapping[str, tuple[str, Collection[str]]]) -> None:
        self._stems: dict[str, set[str]] = {}
        self._done: dict[str, set[str]] = defaultdict(set)
        self._spelled: dict[str, Counter[str]] = defaultdict(Counter)
        for task_id, (text, keys) in tasks.items():
            text = MASK.sub(" ", text)
            named = {name.lower() for name in _NAME.findall(text)}  # capitalised in mid-sentence: someone's own
            spelled = [word for word in task_words(text) if word not in named]
            self._stems[task_id] = {_stem(word) for word in spelled}
            for word in spelled:
                self._spelled[_stem(word)][word] += 1
            for key in keys:
                self._done[key].add(task_id)
        self.usage = Usage(text for text, _ in tasks.values())
        self._spread = Counter(stem for stems in self._stems.values() for stem in stems)

    def salient(self, task_ids: Iterable[str], keys: Collection[str]) -> list[str]:
        """The words that go with these tasks and with these moves anywhere, the most telling first.

        What one task alone says is mostly its own particulars, so single tasks only count where there is nothing else.
        Where no word is telling there are few or none: what a handful of stories happens to say misleads retrieval.
        """
        own = set(task_ids) & self._stems.keys()
        groups = [group for group in (own, *(self._done[key] for key in keys)) if len(group) > 1] or [own]
        total: dict[str, float] = defaultdict(float)
        for group in groups:
            for stem, z in self._scores(group).items():
                if z >= TELLING:
                    total[stem] += z
        chosen = _best(total) or _best(self._shared(own))[:COMMON] or self._everywhere()[:COMMON]
        return [self._spelling(stem) for stem in chosen]

    def share(self, word: str, task_ids: Iterable[str]) -> float:
        """How many of these tasks say the word."""
        own = set(task_ids) & self._stems.keys()
        return sum(_stem(word) in self._stems[task] for task in own) / max(len(own), 1)

    def _shared(self, tasks: set[str]) -> dict[str, float]:
        """The words that at least two of the tasks have, with their z."""
        counts = Counter(stem for task in tasks for stem in self._stems[task])
        return {stem: z for stem, z in self._scores(tasks).items() if counts[stem] > 1 and stem not in _EMPTY_STEMS}

    def _everywhere(self) -> list[str]:
        """The words that every task has. Where all are alike no word tells them apart, and yet each must be found."""
        told = sorted(stem for stem, count in self._spread.items() if count == len(self._stems) > 1)
        return [stem for stem in told if stem not in _EMPTY_STEMS] or told

    def _spelling(self, stem: str) -> str:
        spelled = self._spelled[stem]
        return min(spelled, key=lambda word: (-spelled[word], word))

    def _scores(self, group: set[str]) -> dict[str, float]:
        """The z of each word of the group (Monroe et al. 2008: log-odds against the other tasks)."""
        counts = Counter(stem for task in group for stem in self._stems[task])
        return {stem: self._z(stem, count, len(group)) for stem, count in counts.items()}

    def _z(self, stem: str, count: int, inside: int) -> float:
        everywhere = len(self._stems)
        prior = PRIOR * self._spread[stem] / everywhere
        here, there = count + prior, self._spread[stem] - count + prior
        gone_here = inside + PRIOR - here + 0.5
        gone_there = everywhere - inside + PRIOR - there + 0.5
        return (math.log(here / gone_here) - math.log(there / gone_there)) / math.sqrt(1 / here + 1 / there)


def _best(scores: Mapping[str, float]) -> list[str]:
    positive = [stem for stem in scores if scores[stem] > 0]
    return sorted(positive, key=lambda stem: (-scores[stem], stem))[:MAX_KEYWORDS]


@remembered(50_000)
def _stem(word: str) -> str:
    return next(iter(terms(word)), word)


_EMPTY_STEMS = frozenset(map(_stem, EMPTY_WORDS))
