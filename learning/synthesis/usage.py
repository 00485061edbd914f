"""How the tasks use a word: as a thing or a doing, with which article, before which other word.

The texts tell it: *to book* is a doing, *a flight* a thing, and *brake* mostly stands before *pedal*. So no dictionary
is needed, and a word of a trade is taken as those who know it use it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from prowess.learning.synthesis.grammar import VERBS
from prowess.learning.text import STOP_WORDS

__all__ = ["MASK", "SAID_BY_THE_WAY", "Usage"]

Kind = Literal["thing", "doing", "quality", "other", ""]

LONGEST_TEXT = 20_000
LEAST_SEEN = 2  # texts in which a pair of words or a spelling is told of
OFTEN = 0.5  # of a word's uses: then it belongs to the word behind it
SPELLED = 0.8  # of a word's uses in mid-sentence that are written with capitals: then it is a name

# Nouns of figures of speech (*on second thought*, *take a peek*, *at the moment*) and verbs that go with any object:
# they tell how somebody talks.
SAID_BY_THE_WAY = frozenset(
    """
    attention bit chance clarity consideration favor favour feel glance glimpse hit idea kind lot luck matter mind
    minute moment peek requisite second sense sort spontaneity spot stuff thank thanks thing things thought thoughts
    today tomorrow tonight touch way while add keep make put take try work
    """.split()  # noqa: SIM905 - a list of quoted words would be no easier to read
)

MASK = re.compile(r"\[masked:[^][]*\]")  # what stands for a secret is no word of the task
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019][a-z]+)?|\d[\w.,]*|[^\w\s]|\n")
_LISTS = {
    "the": "the my your our their his her its this that these those",
    "a": "a an some any all each every no another",
    "before doing": "to please kindly can could should shall will would must may might",
    "before thing": "about by for from in into of on regarding under with without",
    "stops": """
        and or if then using under within without between during before upon via per only along soon above below across
        around
    """,
}
_WORDS = {kind: frozenset(words.split()) for kind, words in _LISTS.items()}
_DETERMINERS = _WORDS["the"] | _WORDS["a"]
_STOPS = STOP_WORDS | _DETERMINERS | _WORDS["stops"]
_PRONOUNS = frozenset({"i", "we", "you", "they", "it", "he", "she"})


class Usage:
    """The uses of the words in ``texts``, each of another task."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._kinds: dict[str, Counter[Kind]] = defaultdict(Counter)
        self._articles: dict[str, Counter[str]] = defaultdict(Counter)
        self._pairs: dict[str, Counter[str]] = defaultdict(Counter)
        self._forms: dict[str, Counter[str]] = defaultdict(Counter)
        self._plain: Counter[str] = Counter()
        for text in texts:
            self._read(_TOKEN.findall(MASK.sub(".", text[:LONGEST_TEXT])))

    def kind(self, word: str) -> Kind:
        """What the word mostly is; "" where the texts do not tell."""
        counts = self._kinds.get(word)
        if not counts:
            return ""
        return max(counts, key=lambda kind: (counts[kind], kind)) or "other"

    @property
    def knows(self) -> bool:
        """Whether the texts tell anything: they do not where they are in a language that it does not read."""
        return bool(self._articles)

    def is_name(self, word: str) -> bool:
        """Whether any text writes the word with a capital in mid-sentence."""
        return word in self._forms

    def article(self, word: str) -> str:
        """``a``, ``the`` or "": what mostly stands before the word where it is a thing."""
        counts = self._articles.get(word)
        return max(counts, key=lambda told: (counts[told], told)) if counts else ""

    def following(self, word: str) -> str:
        """The word behind, where it mostly is the same in several texts; "" where it is not."""
        pairs = self._pairs.get(word)
        if not pairs:
            return ""
        other = min(pairs, key=lambda after: (-pairs[after], after))
        uses = sum(self._kinds[word].values())
        return other if pairs[other] >= max(LEAST_SEEN, OFTEN * uses) else ""

    @cached_property
    def spelled(self) -> dict[str, str]:
        """Names and acronyms, in small letters, as the texts write them."""
        found = {}
        for word, forms in self._forms.items():
            form = min(forms, key=lambda form: (-forms[form], form))
            if sum(forms.values()) >= max(LEAST_SEEN, SPELLED * (sum(forms.values()) + self._plain[word])):
                found[word] = form
        return found

    def _read(self, tokens: list[str]) -> None:
        low = [token.lower() for token in tokens]
        pairs: set[tuple[str, str]] = set()
        forms: set[str] = set()
        plain: set[str] = set()
        for at, word in enumerate(low):
            if not word[0].isalpha():
                continue
            before, after = low[at - 1] if at else ".", low[at + 1] if at + 1 < len(low) else "."
            opens = not before[0].isalnum() and before not in ",;("
            if tokens[at] == word:
                plain.add(word)
            elif not opens:
                forms.add(tokens[at])
            if word in _STOPS:
                continue
            earlier = low[at - 2] if at > 1 else "."
            kind = _kind(word, before, earlier, after, opens=opens)
            self._kinds[word][kind] += 1
            if kind == "quality" and tokens[at + 1] == after:
                pairs.add((word, after))
            if kind == "thing":
                self._articles[word][_article(before, earlier)] += 1
        for word, after in pairs:
            self._pairs[word][after] += 1
        for form in forms:
            self._forms[form.lower()][form] += 1
        self._plain.update(plain)


def _kind(word: str, before: str, earlier: str, after: str, *, opens: bool) -> Kind:
    ends = (not after[0].isalpha() and after != "-") or after in _STOPS
    if word.endswith("ly") or (word.endswith("ed") and not word.endswith("eed")) or before in _PRONOUNS:
        return "other"
    if before in _WORDS["before doing"] or (opens and after in _DETERMINERS):
        return "doing"
    if not ends:
        return "quality" if before in _STOPS or not before[0].isalpha() else ""
    second = before[0].isalpha() and before not in _STOPS
    if second and (
        word.endswith("ing") or (word.endswith("s") and word[:-1] in VERBS)
    ):  # a customer asks, a message saying
        return "other"
    opening = earlier if second else before
    if before[0].isdigit() or opening in _DETERMINERS or opening in _WORDS["before thing"]:
        return "thing"
    return "other" if before in _STOPS else ""


def _article(before: str, earlier: str) -> str:
    near = before if before in _DETERMINERS else earlier
    return "a" if near in ("a", "an", "another") else "the" if near in _WORDS["the"] else ""
