"""One memory for what says the same, and the newer for what says otherwise.

The earlier joins before the later, so that the same episodes leave the same memories. An episode counts once for each
memory: its mark, a hash, stands in the memory's evidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from prowess.learning.counting import SEEN_IN
from prowess.learning.memories.interchangeable import given_up_by
from prowess.learning.memories.lessons import LONGEST_ERROR, RULE, SAID, TASK, WARNING_ID, stable_id, utility
from prowess.learning.memories.quotations import error_in, example_in, with_error, with_example, without_example
from prowess.learning.memories.standing_rules import only_lifts
from prowess.learning.memories.withdrawals import names, takes_back
from prowess.learning.remembered import remembered
from prowess.learning.synthesis.commands import programs_in
from prowess.learning.text import cut_at_word, stems, stems_of, terms, words
from prowess.storage.models import Memory

__all__ = ["MARKS", "merged", "reworded"]

ALIKE = 0.8  # share of common words from which two memories of one kind say the same
MARKS = 50  # of episodes that a memory's evidence holds, the newest

_NEGATIONS = frozenset(("no", "not", "never", "nor", "without", "don", "doesn", "didn", "isn", "won", "cannot", "t"))
_OFTEN = frozenset(stems_of(("always", "ever")))  # which "never" stands in the place of
_CONDITION = re.compile(
    r"after|at|before|during|except|for|from|if|in(?:side)?|on|outside|under|unless|until|when(?:ever)?|where|while|within"
)
_QUOTED = re.compile(r"`([^`]{1,200})`")
_SEEN = re.compile(rf"(?<!\s)\s*{SEEN_IN}")


def merged(held: Iterable[Memory], fresh: Iterable[Memory]) -> dict[str, Memory]:
    """All memories by id after ``fresh``, told in the order in which it happened, joined ``held``.

    What says the same adds its evidence to the memory that is there. A lesson that failed twice in a row, or more
    often than it worked, gives way to the newest other lesson about its error, else to a warning that it does not hold;
    where it holds again, that warning gives way to it. Of two that say of one task that it worked and that it failed,
    the older gives way to the newer. A lesson whose way out calls a tool that a rule of the person forbids gives way to
    that rule, for as long as it holds.
    """
    known = {memory.id: memory for memory in held}
    by_words = _ByWords(known.values())
    touched: dict[str, list[str]] = {}
    for memory in fresh:
        target = known.get(memory.id) or _twin(memory, [known[key] for key in by_words.near(memory)])
        if target is None and not memory.support:
            continue  # what never worked is no lesson
        whole = memory if target is None else _joined(target, memory)
        told_anew = memory.subject.startswith(RULE) and whole is not target
        taken_back = _taken_back(memory, known.values()) if told_anew else []
        if told_anew and not taken_back and only_lifts(_own_words(memory)):
            continue  # what nobody had forbidden or asked for
        if told_anew and (later := _taken_back_by(whole, known.values())):
            whole = replace(whole, superseded_by=later)
        known[whole.id] = whole
        by_words.add(whole)
        known |= {other.id: replace(other, superseded_by=whole.id) for other in taken_back if other.id != whole.id}
        touched[memory.subject] = []
    for memory in known.values():
        if memory.subject in touched:
            touched[memory.subject].append(memory.id)
    for subject, keys in touched.items():
        _settle(known, subject, [known[key] for key in keys])
    _heed_rules(known)
    return known


class _ByWords:
    """Memories in a user's or an agent's words, looked up by these: each beside every other would take too long."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._having: dict[str, set[str]] = defaultdict(set)
        self._places: dict[str, int] = {}
        for memory in memories:
            self.add(memory)

    def add(self, memory: Memory) -> None:
        """Know ``memory``, or its new words."""
        self._places.setdefault(memory.id, len(self._places))
        for word in _looked_up(memory):
            self._having[word].add(memory.id)

    def near(self, memory: Memory) -> list[str]:
        """The ids of those that have ``ALIKE`` of the words of both, and of some others, in the order they came in."""
        mine = sorted(_looked_up(memory), key=lambda word: (len(self._having.get(word, ())), word))
        # So many lack at most one word less, so that whoever is alike has one of these, the rarest.
        some = mine[: len(mine) - int(ALIKE * len(mine)) + 1]
        found = set[str]().union(*(self._having.get(word, ()) for word in some))
        return sorted(found, key=self._places.__getitem__)


def _looked_up(memory: Memory) -> Collection[str]:
    """The words that carry meaning, of what a user or an agent said; of what was worded here none."""
    if not memory.subject.startswith((TASK, RULE)):
        return ()
    return _said(_own_words(memory))[0] or ("",)


def _twin(memory: Memory, known: Iterable[Memory]) -> Memory | None:
    """The live memory in a user's or agent's words that says the same in nearly the same ones.

    What is worded here has the same id where it says the same.
    """
    about = next((kind for kind in (TASK, RULE) if memory.subject.startswith(kind)), None)
    if about is None:
        return None
    mine = _said(_own_words(memory))
    for other in known:
        same_kind = other.kind == memory.kind and other.project == memory.project and other.subject.startswith(about)
        can_be = not other.superseded_by or set(memory.evidence) <= set(other.evidence)  # the same episode once more
        alike = same_kind and can_be and _alike(mine, _said(_own_words(other)))
        if alike and (about == TASK or _is_the_same_rule(memory, other)):
            return other
    return None


def _is_the_same_rule(memory: Memory, other: Memory) -> bool:
    """Whether a rule in nearly the words of ``other`` says no more and no other thing, and these in the same order.

    One without a condition that ``other`` has is another thing: it holds always.
    """
    mine, theirs = _own_words(memory), _own_words(other)
    more = _said(mine)[0] - _said(theirs)[0]
    return not more and _in_one_order(mine, theirs) and not _drops_condition(mine, theirs)


def _drops_condition(mine: str, theirs: str) -> bool:
    """Whether ``theirs`` says when or where it holds (*on Fridays*), and ``mine`` leaves that out."""
    known = terms(mine)
    conditional = False
    for word in words(theirs):
        if _CONDITION.fullmatch(word):
            conditional = True
        elif told := terms(word):
            if conditional and not told.keys() & known.keys():
                return True
            conditional = False
    return False


def _in_one_order(mine: str, theirs: str) -> bool:
    """Whether the words that both have follow each other alike: *npm instead of pnpm* is not *pnpm instead of npm*."""
    both = set(stems(mine)) & set(stems(theirs))
    return [word for word in stems(mine) if word in both] == [word for word in stems(theirs) if word in both]


def _own_words(memory: Memory) -> str:
    return memory.text.removeprefix(SAID)


def _taken_back(memory: Memory, known: Iterable[Memory]) -> list[Memory]:
    """The older rules of a person that a newer one takes back.

    Those with nearly its words, in another order or denied, and those that it says do not hold, be it that it wants
    another tool for the same thing. Of rules about something only the one that there is.
    """
    rules = (other for other in known if other.subject.startswith(RULE) and other.project == memory.project)
    older = [other for other in rules if not other.superseded_by and other.id != memory.id and other.at <= memory.at]
    said = _own_words(memory)
    meant = [
        other
        for other in older
        if (_are_near(memory, other) and not only_lifts(said))
        or (other.at < memory.at and takes_back(said, _own_words(other)))  # else it was said after that
        or (only_lifts(_own_words(other)) and _is_lifted(said, _own_words(other)))
    ]
    about = [other for other in older if other.at < memory.at and names(said, _own_words(other))]
    return meant or (about if len(about) == 1 else [])


def _taken_back_by(memory: Memory, known: Iterable[Memory]) -> str | None:
    """The newest rule that takes back ``memory``, which was told later though it was said before: by an import."""
    later = [other for other in known if other.at > memory.at and not other.superseded_by]
    meant = [other for other in later if other.subject.startswith(RULE) and _taken_back(other, [memory])]
    return max(meant, key=_age).id if meant else None


def _is_lifted(rule: str, by: str) -> bool:
    return takes_back(by, rule) or names(by, rule)


def _are_near(memory: Memory, other: Memory) -> bool:
    """Whether two rules are about the same: what holds for the *backend* says nothing of the *frontend*."""
    mine, theirs = (_said(_own_words(one))[0] for one in (memory, other))
    plain = _NEGATIONS | _OFTEN
    is_other = bool(mine - theirs - plain) and bool(theirs - mine - plain)
    return len(mine & theirs) >= ALIKE * len(mine | theirs) and not is_other


def _alike(mine: tuple[frozenset[str], frozenset[str]], theirs: tuple[frozenset[str], frozenset[str]]) -> bool:
    return mine[1] == theirs[1] and len(mine[0] & theirs[0]) >= ALIKE * len(mine[0] | theirs[0])


@remembered(4_096)
def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that carry meaning; and the numbers and negations, of which one more changes it."""
    return frozenset(terms(text)), frozenset(word for word in words(text) if word.isdigit() or word in _NEGATIONS)


def _joined(target: Memory, memory: Memory) -> Memory:
    """``target`` with the evidence of another that says the same; an episode counts once."""
    marks = {mark[1:] for mark in target.evidence}
    new = [mark for mark in memory.evidence if mark[1:] not in marks]
    if memory.evidence and not new:
        return target
    again = memory.support > 0 and target.superseded_by is not None
    text = reworded(target, memory) if memory.support or not target.evidence else target.text
    whole = replace(
        target,
        text=text,
        episode_id=memory.episode_id if _has_words_of(memory, text, target) else target.episode_id,
        support=target.support + memory.support if new else max(target.support, memory.support),
        against=target.against + memory.against,
        evidence=(*target.evidence, *new)[-MARKS:],
        at=max(target.at, memory.at) if memory.support else target.at,
        superseded_by=None if again else target.superseded_by,
    )
    return replace(whole, importance=max(utility(whole), target.importance if whole.support > whole.against else 0.0))


def _has_words_of(memory: Memory, text: str, target: Memory) -> bool:
    """Whether ``target`` in its new words tells what ``memory``'s episode did, so that it goes with that one."""
    return text != target.text and bool(example_in(memory.text) or not target.evidence)


def reworded(target: Memory, memory: Memory) -> str:
    """``target``'s words with how it worked in ``memory``, which is newer or of one episode: what is told still holds.

    An error of which episodes tell different things is quoted by what they have in common.
    """
    if not (said := error_in(memory.text)) or target.subject != memory.subject:
        return target.text
    known, common = error_in(target.text), cut_at_word(target.subject.partition(" | ")[2], LONGEST_ERROR)
    text = with_error(target.text, said if not target.evidence or said == known else common)
    return with_example(text, example_in(memory.text))


def _settle(known: dict[str, Memory], subject: str, memories: Iterable[Memory]) -> None:
    """Let what is contradicted give way, among all ``memories`` of one subject."""
    every = sorted(memories, key=_age)
    for memory in every:
        if memory.superseded_by == _warning_id(memory) in known:
            _warning_of(memory, known)  # which failed once more
    about = [memory for memory in every if not memory.superseded_by]
    for memory in about:
        if memory.kind == "lesson" and _refuted(memory):
            successor = _other_lesson(memory, about) or _warning_of(memory, known)
            known[memory.id] = replace(memory, superseded_by=successor)
        elif (said := known.get(_warning_id(memory))) and not said.superseded_by:
            known[said.id] = replace(said, superseded_by=memory.id)
    live = [memory for memory in about if not known[memory.id].superseded_by]
    for memory in live[:-1]:
        if subject.startswith(TASK) and memory.kind != live[-1].kind:
            known[memory.id] = replace(memory, superseded_by=live[-1].id)


def _heed_rules(known: dict[str, Memory]) -> None:
    """Let lessons give way to the rules that forbid what they call, and come back where a rule holds no more."""
    rules = {key: memory for key, memory in known.items() if memory.subject.startswith(RULE)}
    live = sorted((rule for rule in rules.values() if not rule.superseded_by), key=_age)
    against = [(rule, tools) for rule in live if (tools := given_up_by(_own_words(rule)))]
    for key, memory in known.items():
        if memory.kind != "lesson" or memory.subject.startswith((TASK, RULE)):
            continue
        heeded = not memory.superseded_by or memory.superseded_by in rules
        called = _called(memory) if heeded and (against or memory.superseded_by) else frozenset()
        over = next((rule.id for rule, tools in against if called & tools and _is_older(memory, rule)), None)
        if heeded and over != memory.superseded_by:
            known[key] = replace(memory, superseded_by=over)


def _is_older(memory: Memory, rule: Memory) -> bool:
    """Whether it is of the rule's project, and was not borne out since: then the rule may hold no more."""
    return memory.project == rule.project and memory.at <= rule.at


def _called(memory: Memory) -> frozenset[str]:
    """The programs of the calls by which an error was got over."""
    told = example_in(memory.text).partition(" instead of ")[0]
    return frozenset(name.split(" ")[0] for line in _QUOTED.findall(told) for name in programs_in(line))


def _age(memory: Memory) -> tuple[str, str]:
    return (memory.at, memory.id)


def _refuted(memory: Memory) -> bool:
    in_a_row = [mark[0] for mark in memory.evidence[-2:]] == ["-", "-"]
    return in_a_row or memory.against > memory.support


def _other_lesson(memory: Memory, about: Sequence[Memory]) -> str | None:
    others = [m.id for m in about if m.kind == "lesson" and m.id != memory.id and not _refuted(m)]
    return others[-1] if others else None


def _warning_id(lesson: Memory) -> str:
    return stable_id(WARNING_ID, lesson.project, lesson.id)


def _warning_of(memory: Memory, known: dict[str, Memory]) -> str:
    """What is left to say of a lesson that does not hold."""
    key = _warning_id(memory)
    told = without_example(_SEEN.sub("", memory.text))
    text = told.replace("”, it worked", "”, it failed again")
    said = replace(memory, id=key, kind="warning", text=text, support=memory.against, against=0, evidence=())
    known[key] = replace(said, importance=utility(said), superseded_by=None)
    return key
