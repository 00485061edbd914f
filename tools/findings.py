"""What a reflection found, in words: what is proven, what is known of errors, and how much may be chance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from prowess.learning.counting import counted, tally
from prowess.learning.mining.proof import fewest, proven
from prowess.storage.models import Pattern
from prowess.tools.skills import one_line

__all__ = ["LONGEST", "Said", "chosen", "doubtful", "told", "too_few", "wanting"]

LONGEST = 400  # characters of a stored text that is shown
_PRACTICAL = ("recovery", "failure")  # what they tell did happen, whatever it does to the reward
_TURNS = (*_PRACTICAL, "sequence", "decision", "context")
_SUBJECT = re.compile(r"In \d+ episodes? (.*); (?:their mean reward is|there is) .*", re.DOTALL)


class Said(NamedTuple):
    """Patterns as lines of text: what is ``told`` first, and what is ``doubtful``.

    ``repeated`` are ids of memories that the former tell already.
    """

    told: Sequence[str] = ()
    doubtful: Sequence[str] = ()
    repeated: Sequence[str] = ()


def chosen(found: Sequence[Pattern], limit: int) -> list[Pattern]:
    """Up to ``limit`` of what was mined: proven ones first, then recoveries and failures, then what may be chance.

    Proven ones stay in their order. Of the others each kind's best are taken in turn, so that many failures leave room
    for sequences to build skills on.
    """
    turns: Counter[str] = Counter()
    places: dict[str, tuple[int, int]] = {}
    for place, pattern in enumerate(found):
        if proven(pattern):
            places[pattern.id] = (-1, place)
        else:
            places[pattern.id] = (turns[pattern.kind], _TURNS.index(pattern.kind))
            turns[pattern.kind] += 1
    taken = sorted(found, key=lambda pattern: places[pattern.id])[:limit]
    return sorted(taken, key=lambda pattern: 0 if proven(pattern) else 1 if pattern.kind in _PRACTICAL else 2)


def told(patterns: Sequence[Pattern], *, elsewhere: Collection[str]) -> list[str]:
    """All counted, then those that are proven and those that did happen; memories tell those ``elsewhere`` (ids)."""
    if not patterns:
        return []
    sure = [pattern for pattern in patterns if proven(pattern)]
    seen = [pattern for pattern in patterns if not proven(pattern) and pattern.kind in _PRACTICAL]
    return [
        f"{counted(len(patterns), 'pattern')}, {len(sure) or 'none'} proven",
        *(f"- {line}" for line in _compared(sure)),
        *(f"- {_counted(pattern)}" for pattern in seen if pattern.id not in elsewhere),
    ]


def doubtful(patterns: Sequence[Pattern], *, each: bool) -> list[str]:
    """How many may be chance, by kind, and how to see them; or, where ``each`` is wanted, what they say."""
    rest = [pattern for pattern in patterns if not proven(pattern) and pattern.kind not in _PRACTICAL]
    if not rest:
        return []
    kinds = tally(pattern.kind for pattern in rest)
    said = f"{len(rest)} {_doubt(rest)} ({', '.join(counted(number, kind) for kind, number in kinds.items())})"
    if each:
        return [f"{said}:", *(f"- {line}" for line in _compared(rest))]
    return [f"{said}; to see each, name its kind in kinds (--kind)"]


def _doubt(rest: Sequence[Pattern]) -> str:
    compared = sum(pattern.effect is not None for pattern in rest)
    if compared == len(rest):
        return "may be chance"
    return "may be chance or could not be compared" if compared else "could not be compared by reward"


def _compared(patterns: Sequence[Pattern]) -> Iterator[str]:
    """A line for each; a decision also tells what is known of it where one move more stands before."""
    told_with = _refinements(patterns)
    refined = {longer.id for longers in told_with.values() for longer in longers}
    for pattern in patterns:
        if pattern.id not in refined:
            yield _line(pattern, told_with.get(pattern.id, ()))


def _refinements(patterns: Sequence[Pattern]) -> dict[str, list[Pattern]]:
    """By id of a decision: those with the same choice after one move more."""
    decisions = {_decision(pattern): pattern for pattern in patterns if pattern.kind == "decision"}
    found: dict[str, list[Pattern]] = {}
    for (after, choice), longer in decisions.items():
        if (shorter := decisions.get((after[1:], choice))) is not None:
            found.setdefault(shorter.id, []).append(longer)
    return found


def _decision(pattern: Pattern) -> tuple[tuple[str, ...], str]:
    return tuple(map(str, pattern.detail.get("after", ()))), str(pattern.detail.get("choice", ""))


def _line(pattern: Pattern, refinements: Sequence[Pattern]) -> str:
    if pattern.effect is None:
        return _counted(pattern)
    parts = [f"{pattern.kind}: {_subject(pattern)}: mean reward {_means(pattern)}"]
    for longer in refinements:
        before = one_line(" → ".join(_decision(longer)[0]), LONGEST)
        parts.append(f"after {before} {_means(longer) if longer.effect is not None else _share(longer)}")
    return "; ".join(parts)


def _means(pattern: Pattern) -> str:
    inside, outside = pattern.detail["mean_with"], pattern.detail["mean_without"]
    others = "the other" if pattern.against == 1 else f"the {pattern.against} others"
    means = f"{inside:.2f} in {counted(pattern.support, 'episode')}, {outside:.2f} in {others}"
    if pattern.effect is None or not proven(pattern):
        return means
    return f"{means}, effect {pattern.effect:+.2f} [{_bound(pattern.low)}, {_bound(pattern.high)}]"


def _bound(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def _counted(pattern: Pattern) -> str:
    """What was seen and how often, without a word about the reward."""
    return f"{pattern.kind}: {_subject(pattern)} {_share(pattern)}"


def _share(pattern: Pattern) -> str:
    among = {"recovery": " with that error", "decision": " at that point"}.get(pattern.kind, "")
    return f"in {pattern.support} of {counted(pattern.support + pattern.against, 'episode')}{among}"


def _subject(pattern: Pattern) -> str:
    found = _SUBJECT.fullmatch(pattern.statement)
    return one_line(found[1] if found else pattern.statement, LONGEST)


def wanting(found: Sequence[Pattern], rewards: Sequence[float | None]) -> str | None:
    """How many more episodes it takes before anything can be proven; None where that is not what is missing.

    Of ``found`` none is proven; ``rewards`` are those of the newest scored episodes, at least ``fewest`` if there are.
    """
    missing = fewest(len({pattern.kind for pattern in found})) - len(rewards)
    if missing > 0:
        there = counted(len(rewards), "episode is", "episodes are")
        other = ", with other rewards too," if len({*rewards}) < 2 else ""
        needed = "is" if missing == 1 else "are"
        return f"{there} scored; at least {missing} more{other} {needed} needed before anything can be proven"
    return "all episodes have the same reward, so that nothing can be proven" if _all_alike(found) else None


def _all_alike(found: Sequence[Pattern]) -> bool:
    """Whether no reward differs: then every interval is empty. Decisions and recoveries see a part of the episodes."""
    whole = [one for one in found if one.kind not in ("decision", "recovery") and one.effect is not None]
    return bool(whole) and all(one.low == one.high for one in whole)


def too_few(stored: int, needed: int, where: str = "") -> str | None:
    """How many more episodes it takes before there can be a pattern; None where there are enough.

    ``where`` says of which episodes ``stored`` is the number, with a blank in front.
    """
    if stored >= needed:
        return None
    there = counted(stored, "episode is", "episodes are")
    share = "shares" if needed - stored == 1 else "share"
    return f"{there} stored{where}; a pattern needs at least {needed - stored} more that {share} it"
