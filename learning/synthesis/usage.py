"""How the tasks use a word: as a thing or a doing, with which article, before which other word.

The texts tell it: *to book* is a doing, *a flight* a thing, and *brake* mostly stands before *pedal*. So no dictionary
is needed, and a word of a trade is taken as those who know it use it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Literal

from prowess.learning.synthesis.grammar import VERBS
from prowess.learning.text import STOP_WORDS

__all__ = ["MASK", "SAID_BY_THE_WAY", "Usage"]

Kind = Literal["thing", "doing", "quality", "other", ""]

LONGEST_TEXT = 20_000
LEAST_SEEN = 2  # texts in which a pair of words or a spelling is told of
OFTEN = 0.5  # of a word's uses: then it belongs to the word behind it
MOSTLY = 0.75  # of a thing's uses: then the word before it belongs to it
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
# Paths, addresses and names of code: one token that is no word, and ends the phrase before it.
# Longer ones are cut, so that a text of one long word takes no longer than any other.
_CODE = re.compile(
    r"[@#~]?[\w-]{0,80}\w(?:[_/\\:@=]+[\w.-]{0,80}\w)+|[\w-]{0,80}\w(?:\.[a-z]\w{1,80}+){1,20}+(?![\w.])"
    r"|(?<!\S)--?\w[\w-]*"
)
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
_NOT = frozenset({"cannot", "neither", "never", "nor", "not", "unwilling", "without"})
_REFUSED = 4  # words before a verb among which one says that it is not wanted
_ANY = frozenset({"it", "them", "this", "that", "these", "those"})
_PARTICLES = frozenset({"back", "down", "off", "out", "up"})
_LONGEST_OBJECT = 3  # words of what is done something to, behind its article


class Usage:
    """The uses of the words in ``texts``, each of another task."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._kinds: dict[str, Counter[Kind]] = defaultdict(Counter)
        self._articles: dict[str, Counter[str]] = defaultdict(Counter)
        self._pairs: dict[str, Counter[str]] = defaultdict(Counter)
        self._before: dict[str, Counter[str]] = defaultdict(Counter)
        self._objects: dict[str, Counter[str]] = defaultdict(Counter)
        self._refused: Counter[str] = Counter()
        self._forms: dict[str, Counter[str]] = defaultdict(Counter)
        self._plain: Counter[str] = Counter()
        for text in texts:
            self._read(_TOKEN.findall(_CODE.sub(" 0 ", MASK.sub(".", text[:LONGEST_TEXT]))))

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

    def is_bare(self, word: str) -> bool:
        """Whether several texts have the word without an article where it is a thing, as *gasoline* and *files* are."""
        return self._articles.get(word, Counter())[""] >= LEAST_SEEN

    def following(self, word: str) -> str:
        """The word behind, where it mostly is the same in several texts; "" where it is not."""
        return self._often(self._pairs.get(word), sum(self._kinds.get(word, Counter()).values()))

    def preceding(self, word: str) -> str:
        """The same of the word before it where it is a thing: *business* of *class*."""
        return self._often(self._before.get(word), self._kinds.get(word, Counter())["thing"], MOSTLY)

    def is_wanted(self, word: str) -> bool:
        """Whether a doing is asked for, and of something: not what most refuse, nor ``fix`` where *it* is all that is
        mended."""
        return self._refused[word] <= self._kinds.get(word, Counter())["doing"] and self.object_of(word) not in _ANY

    def object_of(self, word: str) -> str:
        """What is mostly done so: ``files`` of *remove*, or ``out`` of *roll*; "" where that differs."""
        return self._often(self._objects.get(word), self._kinds.get(word, Counter())["doing"])

    @staticmethod
    def is_particle(word: str) -> bool:
        """Whether it belongs to the verb before it."""
        return word in _PARTICLES

    def _often(self, others: Counter[str] | None, uses: int, share: float = OFTEN) -> str:
        if not others:
            return ""
        other = min(others, key=lambda one: (-others[one], one))
        return other if others[other] >= max(LEAST_SEEN, share * uses) else ""

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
        beside: dict[str, set[tuple[str, str]]] = {"pairs": set(), "compounds": set(), "objects": set()}
        forms: set[str] = set()
        plain: set[str] = set()
        for at, word in enumerate(low):
            if not word[0].isalpha():
                continue
            before = low[at - 1] if at else "."
            opens = not before[0].isalnum() and before not in ",;("
            if tokens[at] == word:
                plain.add(word)
            elif not opens:
                forms.add(tokens[at])
            if word not in _STOPS:
                self._use(tokens, low, at, beside, opens=opens)
        for word, after in beside["pairs"]:
            self._pairs[word][after] += 1
        for word, before in beside["compounds"]:
            self._before[word][before] += 1
        for word, done in beside["objects"]:
            self._objects[word][done] += 1
        for form in forms:
            self._forms[form.lower()][form] += 1
        self._plain.update(plain)

    def _use(
        self,
        tokens: Sequence[str],
        low: Sequence[str],
        at: int,
        beside: dict[str, set[tuple[str, str]]],
        *,
        opens: bool,
    ) -> None:
        """Count the use of the word at ``at``; what stands ``beside`` it counts once in a text."""
        word, before, after = low[at], low[at - 1] if at else ".", low[at + 1] if at + 1 < len(low) else "."
        earlier = low[at - 2] if at > 1 else "."
        kind = _kind(word, before, earlier, after, opens=opens)
        if kind == "doing" and any(map(_denies, low[max(at - _REFUSED, 0) : at])):
            self._refused[word] += 1
            return
        self._kinds[word][kind] += 1
        if kind == "quality" and tokens[at + 1] == after:
            beside["pairs"].add((word, after))
        if kind == "doing" and (done := _object(low, at + 1)):
            beside["objects"].add((word, done))
        if kind == "thing":
            self._articles[word][_article(before, earlier)] += 1
            if before[0].isalpha() and before not in _STOPS:
                beside["compounds"].add((word, before))


def _kind(word: str, before: str, earlier: str, after: str, *, opens: bool) -> Kind:
    ends = (not after[0].isalpha() and after != "-") or after in _STOPS
    if word.endswith("ly") or (word.endswith("ed") and not word.endswith("eed")) or before in _PRONOUNS:
        return "other"
    if before in _WORDS["before doing"] or (opens and after in _DETERMINERS):
        return "doing"
    if opens and word in VERBS and after[0].isalnum() and after not in _STOPS:
        return "doing"  # "Upgrade zod to 4"
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


def _denies(word: str) -> bool:
    return word in _NOT or word.endswith(("n't", "n\u2019t"))


def _ends(low: Sequence[str], at: int) -> bool:
    """Whether a word's phrase ends with it."""
    after = low[at + 1] if at + 1 < len(low) else "."
    return not after[0].isalpha() or after in _STOPS


def _object(low: Sequence[str], at: int) -> str:
    """The last word of the noun phrase that begins at ``at``, or the verb's particle; "" where there is none."""
    if at < len(low) and (low[at] in _PARTICLES or (low[at] in _ANY and _ends(low, at))):
        return low[at]
    phrase = list(takewhile(lambda word: word[0].isalpha(), low[at : at + 1 + _LONGEST_OBJECT]))
    rest = phrase[1:] if phrase and phrase[0] in _DETERMINERS else phrase[:_LONGEST_OBJECT]
    named = list(takewhile(lambda word: word not in _STOPS and not word.endswith(("ed", "ly")), rest))
    return named[-1] if named and len(named[-1]) > 2 else ""
