"""Whether a skill helps: who is withheld, by lot, what difference showing it makes, and what follows from that.

The lot is a hash, so that a call that is sent again meets the same fate, and a rebuilt store decides as it did. A match
counts by the side that it was on when its episode first met the skill, whatever the agent then did with it; so the
difference between both sides is caused by showing.

A skill's uplift is the difference of two success rates p1 - p0. It is judged by its exact binomial likelihood over a
grid, p0 uniform, with a normal prior for the difference whose mean and spread come from all skills together (the method
of moments of DerSimonian and Laird 1986, held to a weak guess while skills are few). So a skill of which little is
known is taken for a usual one, and a lucky streak of one among many is not believed at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from prowess.learning.arrays import Flags, Floats
from prowess.learning.counting import counted
from prowess.storage.models import Skill, Trial

__all__ = [
    "ACTIVE_SHARE",
    "Lift",
    "Replay",
    "Tally",
    "Verdict",
    "canary",
    "changeable",
    "lifts",
    "shows_old",
    "tally",
    "verdict",
    "withheld",
]

ACTIVE_SHARE = 0.05  # of the matches of an active skill that are withheld, unless the settings say otherwise
DRAFT_SHARE = 0.5  # of a draft's: it costs most while nothing is known, and tells most
CANARY_SHARE = 0.5  # of a changed skill's matches that are shown the version before

# Posterior chances from which something is decided. A decision is taken again and again, so they are higher than a
# single look would need; docs/quality-lift.md has what they lead to.
HELPS_SURE = 0.975
HARMS_SURE = 0.95
USELESS_SURE = 0.99
WORTH = 0.05  # an uplift below this is not worth the tokens that a skill takes
SIDE_LEAST = 5  # matches on each side before anything is decided
CANARY_SURE = 0.9
CANARY_ENOUGH = 40  # matches of each version, after which the better one is taken without being sure

NONE_KNOWN: Mapping[str, Skill] = {}

_USUAL_SPREAD = 0.15  # of uplifts, as long as skills tell nothing else
_SPREAD_SKILLS = 5.0  # how many skills that guess counts for
_LEAST_SPREAD = 0.03
_USUAL_MEAN = 0.05  # how far from 0 the mean uplift of all skills is expected
_POOLED_LEAST = 2  # matches on each side before a skill takes part in the pool
_TINY = 1e-9  # rounding of the grid
_CHANCE = 0.05  # below which a skill's replays are no accident

_RATES = np.linspace(0.005, 0.995, 100)
_UPLIFTS = np.linspace(-0.95, 0.95, 153)


class Tally(NamedTuple):
    """Matches with a known outcome: how many were shown and withheld, and how many of each ended well."""

    shown: int
    shown_good: int
    withheld: int
    withheld_good: int


class Lift(msgspec.Struct, frozen=True, kw_only=True):
    """A skill's uplift in success rate with its 95 % credible interval.

    ``better`` is the chance that it is above 0, ``worth`` that it is above ``WORTH``; ``reward`` is the plain
    difference in mean reward (None without both sides).
    """

    tally: Tally
    uplift: float
    low: float
    high: float
    better: float
    worth: float
    reward: float | None = None

    def words(self) -> str:
        """The estimate on one line."""
        t = self.tally
        return (
            f"uplift {self.uplift:+.2f} [{self.low:+.2f}, {self.high:+.2f}] "
            f"({_share(t.shown_good, t.shown)} shown, {_share(t.withheld_good, t.withheld)} withheld)"
        )


class Replay(NamedTuple):
    """In how many of the successes, and of the failures, that were looked at a skill's steps happened."""

    in_successes: int
    successes: int
    in_failures: int
    failures: int

    @property
    def speaks_against(self) -> bool:
        """Whether its steps go with failure more than chance explains."""
        happened = self.in_successes + self.in_failures
        least = max(0, happened - self.failures)
        ways = [
            math.comb(self.successes, count) * math.comb(self.failures, happened - count)
            for count in range(least, self.in_successes + 1)
        ]
        return sum(ways) < _CHANCE * math.comb(self.successes + self.failures, happened)


class Verdict(NamedTuple):
    """What to do with a skill, or with its version on trial (``keep`` or ``back``), and why."""

    action: Literal["promote", "retire", "keep", "back"]
    reason: str


def changeable(skill: Skill) -> bool:
    """Whether the machine may decide about it: what a person wrote or pinned is left alone, so nothing is withheld."""
    return not skill.pinned and skill.author != "person"


def withheld(exposure_id: str, skill: Skill, share: float = ACTIVE_SHARE) -> bool:
    """Whether this match is withheld. ``share`` in [0, 1] is that of active skills; 0 withholds nothing at all."""
    if share <= 0 or not changeable(skill):
        return False
    return _lot("withhold", exposure_id, skill.id) < (DRAFT_SHARE if skill.status == "draft" else share)


def shows_old(exposure_id: str, skill: Skill) -> bool:
    """Whether this match is shown the version before, where a changed skill is on trial."""
    return skill.trial_of is not None and _lot("canary", exposure_id, skill.id) < CANARY_SHARE


def _lot(what: str, exposure_id: str, skill_id: str) -> float:
    """A number in [0, 1) that looks drawn at random and is always the same."""
    digest = blake2b(f"{what}\x1f{exposure_id}\x1f{skill_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def tally(trials: Iterable[Trial]) -> Tally:
    """The counts of one skill's matches."""
    shown = shown_good = away = away_good = 0
    for trial in trials:
        if trial.shown:
            shown, shown_good = shown + 1, shown_good + trial.success
        else:
            away, away_good = away + 1, away_good + trial.success
    return Tally(shown, shown_good, away, away_good)


def lifts(trials: Iterable[Trial], skills: Mapping[str, Skill] = NONE_KNOWN) -> dict[str, Lift]:
    """The uplift of every skill among ``trials``, by id, each judged in the light of all.

    Of a live one among ``skills`` (by id) only the matches since it was last changed count for itself: before, other
    content was shown, or another share of it, or a person has taken back what those matches led to.
    """
    by_skill: dict[str, list[Trial]] = {}
    for trial in trials:
        by_skill.setdefault(trial.skill_id, []).append(trial)
    prior = _prior(tally(found) for _, found in sorted(by_skill.items()))
    own = {key: [trial for trial in found if _counts(trial, skills.get(key))] for key, found in by_skill.items()}
    return {key: _lift(tally(found), prior, _reward_difference(found)) for key, found in sorted(own.items())}


def _counts(trial: Trial, skill: Skill | None) -> bool:
    return skill is None or skill.status not in ("draft", "active") or trial.at >= skill.updated_at


def _prior(counts: Iterable[Tally]) -> tuple[float, float]:
    """Mean and standard deviation of the skills' uplifts."""
    enough = [t for t in counts if min(t.shown, t.withheld) >= _POOLED_LEAST]
    d = np.array([t.shown_good / t.shown - t.withheld_good / t.withheld for t in enough])
    v = np.array([_noise(t) for t in enough])
    spread = _spread(d, v)
    weights = 1 / (v + spread**2)
    mean = float((weights * d).sum() / (weights.sum() + _USUAL_MEAN**-2))
    return mean, spread


def _noise(t: Tally) -> float:
    """Variance of the plain difference where both sides are alike."""
    rate = (t.shown_good + t.withheld_good + 1) / (t.shown + t.withheld + 2)
    return rate * (1 - rate) * (1 / t.shown + 1 / t.withheld)


def _spread(d: Floats, v: Floats) -> float:
    found = 0.0
    if len(d) > 1:
        w = 1 / v
        centre = (w * d).sum() / w.sum()
        excess = (w * (d - centre) ** 2).sum() - (len(d) - 1)
        found = max(0.0, float(excess / (w.sum() - (w**2).sum() / w.sum())))
    variance = (len(d) * found + _SPREAD_SKILLS * _USUAL_SPREAD**2) / (len(d) + _SPREAD_SKILLS)
    return max(_LEAST_SPREAD, math.sqrt(variance))


def _lift(t: Tally, prior: tuple[float, float], reward: float | None) -> Lift:
    chances = _posterior(t, *prior)
    below = np.cumsum(chances)
    return Lift(
        tally=t,
        uplift=float((chances * _UPLIFTS).sum()),
        low=float(_UPLIFTS[np.searchsorted(below, 0.025)]),
        high=float(_UPLIFTS[np.searchsorted(below, 0.975)]),
        better=_chance_above(chances, 0.0),
        worth=_chance_above(chances, WORTH),
        reward=reward,
    )


def _chance_above(chances: Floats, bound: float) -> float:
    """The chance of more than ``bound``, a point of the grid, whose own cell lies half above."""
    return float(chances[bound + _TINY < _UPLIFTS].sum() + chances[abs(_UPLIFTS - bound) <= _TINY].sum() / 2)


def _posterior(t: Tally, mean: float, spread: float) -> Floats:
    """Chances of ``_UPLIFTS``; the rate without the skill is summed out."""
    log_p0, log_q0, log_p1, log_q1, possible = _grid()
    logs = np.where(possible, t.shown_good * log_p1 + (t.shown - t.shown_good) * log_q1, -np.inf)
    logs += (t.withheld_good * log_p0 + (t.withheld - t.withheld_good) * log_q0)[:, None]
    logs -= (_UPLIFTS - mean) ** 2 / (2 * spread**2)
    weights = np.exp(logs - logs.max()).sum(axis=0)
    chances: Floats = weights / weights.sum()
    return chances


@lru_cache(maxsize=1)
def _grid() -> tuple[Floats, Floats, Floats, Floats, Flags]:
    """Logarithms of p0, 1 - p0, p1 and 1 - p1, the last two (rates, uplifts), and where p1 is a rate at all."""
    p1 = _RATES[:, None] + _UPLIFTS
    possible = (p1 > 0) & (p1 < 1)
    p1 = np.where(possible, p1, 0.5)
    return np.log(_RATES), np.log1p(-_RATES), np.log(p1), np.log1p(-p1), possible


def _reward_difference(trials: Sequence[Trial]) -> float | None:
    sides = [[trial.reward for trial in trials if trial.shown is shown] for shown in (True, False)]
    if not all(sides):
        return None
    shown, away = (math.fsum(side) / len(side) for side in sides)
    return shown - away


def verdict(skill: Skill, lift: Lift, replay: Replay | None = None) -> Verdict | None:
    """Promotion of a draft, retirement of any, or None: not known well enough yet.

    A draft is promoted where it surely helps and its replays do not speak against it. A skill is retired where it
    surely does harm, or surely makes no difference worth its place. What a person wrote or pinned is left alone, and
    what comes from an untrusted source is never promoted.
    """
    if not changeable(skill) or skill.status not in ("draft", "active"):
        return None
    if min(lift.tally.shown, lift.tally.withheld) < SIDE_LEAST:
        return None
    if 1 - lift.better >= HARMS_SURE:
        return Verdict("retire", f"does harm: {lift.words()}")
    if 1 - lift.worth >= USELESS_SURE:
        return Verdict("retire", f"makes no difference worth its place: {lift.words()}")
    if skill.status == "active" or skill.trust == "untrusted" or lift.better < HELPS_SURE:
        return None
    if replay is not None and replay.speaks_against:
        return None
    return Verdict("promote", lift.words() + _replayed(replay))


def _replayed(replay: Replay | None) -> str:
    if replay is None:
        return ""
    good = f"{replay.in_successes} of {counted(replay.successes, 'success', 'successes')}"
    return f"; happened in {good} and {replay.in_failures} of {counted(replay.failures, 'failure')}"


def canary(trials: Iterable[Trial], new: int, old: int) -> Verdict | None:
    """Whether a changed skill keeps its ``new`` version or goes back to the ``old`` one; None: not known yet.

    Compared are matches that were shown the one or the other. Where neither is surely better after ``CANARY_ENOUGH`` of
    each, the likelier one is taken.
    """
    versions = [trial for trial in trials if trial.shown and trial.version in (new, old)]
    t = tally(msgspec.structs.replace(trial, shown=trial.version == new) for trial in versions)
    least = min(t.shown, t.withheld)
    if least < SIDE_LEAST:
        return None
    found = _lift(t, (0.0, _USUAL_SPREAD), None)
    with_new, with_old = _share(t.shown_good, t.shown), _share(t.withheld_good, t.withheld)
    told = f"{with_new} with version {new}, {with_old} with version {old}, {found.better:.0%} sure that {new} is better"
    if found.better >= CANARY_SURE or (least >= CANARY_ENOUGH and found.better >= 0.5):
        return Verdict("keep", told)
    if 1 - found.better >= CANARY_SURE or least >= CANARY_ENOUGH:
        return Verdict("back", told)
    return None


def _share(good: int, of: int) -> str:
    return f"{good} of {of} ended well" if of else "none"
