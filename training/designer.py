"""The designer: invents and refines memory skills from what memory failed to hold, and remembers what did not help.

A hard case is a query whose evidence was not found. Its pool is clustered by what the missed evidence is about, and
each cluster proposes a skill whose words come from a regression of the missed units against those that nobody asks for.
No word comes from anywhere else. The trainer tries each proposal on the hard cases before it joins the bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from prowess.learning.memskill.affinity import read_limits
from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.reward import Worth
from prowess.learning.memskill.skills import MemorySkill
from prowess.learning.memskill.units import Trace, Unit, Vector
from prowess.learning.text import terms
from prowess.training.missed import Missed, missed_of
from prowess.training.words import FIRST, Telling, telling_words

__all__ = ["Case", "Designer", "EmbeddedDesigner", "Failed", "Pool", "Proposal", "clusters", "words_of"]

LEAST_CASES = 10  # missed units of a cluster; fewer have nothing in common but chance
MOST_CLUSTERS = 5
CLUSTER_SIZE = 40  # missed units that make a further cluster worth while
ALIKE = 0.5  # share of words in common from which a proposal refines a skill rather than adds one
TRIED = 0.7  # … from which it was tried before
LEAST_WORDS = 3
ANY = 3  # members noted of evidence of which any would have done: alike, so more say nothing new
BRIEF = "At most 1 sentence of each."  # where the missed evidence says that one is enough
AGAIN = "What comes again counts more."


class Case(msgspec.Struct, frozen=True):
    """A query that failed: by trace and place there, and the sources of its evidence that memory did not hold.

    No text: what the trainer writes must not quote episodes.
    """

    trace: str
    query: int
    missed: tuple[str, ...]
    held: tuple[str, ...]
    recall: float
    iteration: int


class Proposal(msgspec.Struct, frozen=True):
    """A skill to try: a new one, or with ``refines`` the next version of one in the bank. ``others`` have the same
    words with other constraints; the best of all is taken.
    """

    skill: MemorySkill
    refines: bool
    cases: int
    reason: str
    others: tuple[MemorySkill, ...] = ()


class Failed(msgspec.Struct, frozen=True):
    """An attempt that did not help, by its words."""

    words: tuple[str, ...]
    gain: float
    iteration: int


class Designer(Protocol):
    """What proposes skills."""

    def propose(
        self, cases: Sequence[Case], traces: Mapping[str, Trace], bank: Bank, failed: Sequence[Failed], most: int
    ) -> list[Proposal]:
        """At most ``most`` proposals, the most promising first."""
        ...


class Pool(msgspec.Struct):
    """The newest hard cases, one for each query. ``window`` iterations old ones leave, as do the oldest beyond
    ``size``.
    """

    cases: dict[str, Case] = {}
    size: int = 2_000
    window: int = 100

    def note(self, trace: Trace, worth: Worth, threshold: float, iteration: int) -> None:
        """Take in how a trace's queries went: those below ``threshold`` recall are hard, the others no longer."""
        for place, asked in enumerate(worth.asked):
            key = f"{trace.id}/{place}"
            self.cases.pop(key, None)
            if asked.recall < threshold and asked.missed:
                held = tuple(min(group) for group in asked.missed if group in asked.held)
                missed = tuple(
                    each for group in asked.missed if group not in asked.held for each in sorted(group)[:ANY]
                )
                self.cases[key] = Case(trace.id, place, missed, held, asked.recall, iteration)
        old = [key for key, case in self.cases.items() if case.iteration < iteration - self.window]
        for key in [*old, *list(self.cases)[: max(len(self.cases) - len(old) - self.size, 0)]]:
            self.cases.pop(key, None)

    def forget(self, traces: Mapping[str, Trace]) -> None:
        """Drop the cases of queries that ``traces`` (by id) do not have: a run may be resumed with fewer episodes."""
        for key, case in list(self.cases.items()):
            if case.trace not in traces or case.query >= len(traces[case.trace].queries):
                del self.cases[key]


class EmbeddedDesigner:
    """Proposals from what the missed evidence has in common, without a language model."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def propose(
        self, cases: Sequence[Case], traces: Mapping[str, Trace], bank: Bank, failed: Sequence[Failed], most: int
    ) -> list[Proposal]:
        """See Designer. The first proposal is drawn from all that was missed, the others from one cluster each."""
        found = _missed(cases, traces)
        made: list[Proposal] = []
        for group in [found.wanted, *clusters(found.wanted, self._seed)]:
            if len(made) == most:
                break
            telling = telling_words(group, found.idle, found.owners)
            proposal = _proposal(telling, len(group), bank)
            if proposal is not None and not _known(proposal, made, failed):
                made.append(_with_others(proposal, found.brief))
        return made


def _missed(cases: Sequence[Case], traces: Mapping[str, Trace]) -> Missed:
    missed: dict[str, dict[int, frozenset[str]]] = {}
    for case in cases:
        missed.setdefault(case.trace, {})[case.query] = frozenset(case.missed)
    return missed_of(missed, traces)


def clusters(units: Sequence[Unit], seed: int) -> list[list[Unit]]:
    """Units on the same matter together (k-means on the sphere), the largest cluster first; none for few units."""
    count = min(MOST_CLUSTERS, len(units) // CLUSTER_SIZE)
    if count < 2:
        return []
    rows = np.stack([unit.vector for unit in units])
    member = _assign(rows, count, np.random.default_rng([seed, len(units)]))
    groups = [[unit for unit, of in zip(units, member, strict=True) if of == index] for index in range(count)]
    return sorted((group for group in groups if len(group) >= LEAST_CASES), key=len, reverse=True)


def _assign(rows: Vector, count: int, random: np.random.Generator) -> np.ndarray:
    centres = rows[random.choice(len(rows), count, replace=False)]
    member = np.full(len(rows), -1)
    for _ in range(50):
        nearest = (rows @ centres.T).argmax(axis=1)
        if (nearest == member).all():
            break
        member = nearest
        sums = np.stack([rows[member == index].sum(axis=0) for index in range(count)])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return member


def _proposal(telling: Telling, count: int, bank: Bank) -> Proposal | None:
    if count < LEAST_CASES or len(telling.wanted) < LEAST_WORDS:
        return None
    like = _most_alike(telling.wanted, bank)
    if like is not None:
        skill = _refined(like, telling)
        return Proposal(skill, True, count, f"{count} pieces of evidence missed beside {like.name}")
    return Proposal(_new(telling, bank), False, count, f"{count} pieces of evidence missed")


def _with_others(proposal: Proposal, brief: bool) -> Proposal:
    """The proposal and the same with what comes again counting more; with ``brief`` both with one sentence of each
    unit, beside those that keep all of it.
    """
    made = [proposal.skill, _constrained(proposal.skill, AGAIN)]
    if brief:
        made = [*(_constrained(skill, BRIEF) for skill in made), *made]
    return msgspec.structs.replace(proposal, skill=made[0], others=tuple(made[1:]))


def _constrained(skill: MemorySkill, sentence: str) -> MemorySkill:
    return msgspec.structs.replace(skill, constraints=f"{skill.constraints} {sentence}".strip())


def _new(telling: Telling, bank: Bank) -> MemorySkill:
    name = "-".join(("keep", *telling.wanted[:3]))
    taken = {skill.name for skill in bank.skills} | bank.past.keys()
    number = next(n for n in range(1, 10_000) if (name if n == 1 else f"{name}-{n}") not in taken)
    return MemorySkill(
        name=name if number == 1 else f"{name}-{number}",
        description=f"Keep what tells of {_listed(telling.wanted[:5])}.",
        action="insert",
        instruction=_tiers("", telling.wanted),
        constraints=_tiers("leave out ", telling.unwanted),
    )


def _refined(skill: MemorySkill, telling: Telling) -> MemorySkill:
    """The skill with the new words before its own; a word that changed sides stays on the new one."""
    own, against = words_of(skill.instruction), words_of(skill.constraints)
    wanted = [*telling.wanted, *(word for word in own if word not in {*telling.wanted, *telling.unwanted})]
    unwanted = [*telling.unwanted, *(word for word in against if word not in {*telling.wanted, *telling.unwanted})]
    return msgspec.structs.replace(
        skill,
        description=f"Keep what tells of {_listed(wanted[:5])}.",
        instruction=_tiers("", wanted),
        constraints=_tiers("leave out ", unwanted),
    )


def _tiers(verb: str, words: Sequence[str]) -> str:
    first, second = words[:FIRST], words[FIRST:]
    sentences = [f"Above all {verb}{_listed(first)}."] if first else []
    sentences += [f"{verb.capitalize() or 'Also '}{_listed(second)}."] if second else []
    return " ".join(sentences)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


def words_of(text: str) -> list[str]:
    """The words of one of our instructions or constraints."""
    return [word for word in terms(read_limits(text).rest).values() if word not in ("leave", "above")]


def _most_alike(words: Sequence[str], bank: Bank) -> MemorySkill | None:
    evolved = [skill for skill in bank.skills if bank.may_change(skill.name) and skill.action == "insert"]
    found = max(evolved, key=lambda skill: _alike(words, words_of(skill.instruction)), default=None)
    return found if found is not None and _alike(words, words_of(found.instruction)) >= ALIKE else None


def _known(proposal: Proposal, made: Sequence[Proposal], failed: Sequence[Failed]) -> bool:
    words = words_of(proposal.skill.instruction)
    names = {each.skill.name for each in made}
    tried = [each.words for each in failed] + [tuple(words_of(each.skill.instruction)) for each in made]
    return proposal.skill.name in names or any(_alike(words, each) >= TRIED for each in tried)


def _alike(one: Sequence[str], other: Sequence[str]) -> float:
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first and second else 0.0
