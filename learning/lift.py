"""Whether a skill helps: who is withheld, by lot, what difference showing it makes, and what follows from that.

The lot is a hash, so that a call that is sent again meets the same fate, and a rebuilt store decides as it did. A match
counts by the side that it was on when its episode first met the skill, whatever the agent then did with it; so the
difference between both sides is caused by showing.

A skill's uplift is the difference of two success rates p1 - p0. It is judged by its exact binomial likelihood over a
grid, p0 uniform, in a hierarchical model: uplifts are normal around a mean and with a spread that all other skills tell
of, summed out over a grid of both (Gelman et al., Bayesian Data Analysis, 3rd ed., 5.4). So a skill of which little is
known is taken for a usual one, a lucky streak of one among many is not believed at once, and how little a few skills
tell of what is usual makes the intervals wider.
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

_USUAL_MEAN = 0.05  # how far from 0 the mean uplift of all skills is expected
_USUAL_SPREAD = 0.2  # scale of the half-normal prior of their spread
_VERSION_SPREAD = 0.15  # of the difference that a change of a skill makes
_TINY = 1e-9  # rounding of the grid
_CHANCE = 0.05  # below which a skill's replays are no accident

_RATES = np.linspace(0.005, 0.995, 100)
_UPLIFTS = np.linspace(-0.95, 0.95, 153)
_MEANS = np.linspace(-0.3, 0.3, 25)
_SPREADS = np.array([0.03, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5])


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
    priors = _priors({key: tally(found) for key, found in sorted(by_skill.items())})
    own = {key: [trial for trial in found if _counts(trial, skills.get(key))] for key, found in by_skill.items()}
    return {key: _lift(tally(found), priors[key], _reward_difference(found)) for key, found in sorted(own.items())}


def _counts(trial: Trial, skill: Skill | None) -> bool:
    return skill is None or skill.status not in ("draft", "active") or trial.at >= skill.updated_at


def _priors(tallies: Mapping[str, Tally]) -> dict[str, Floats]:
    """Chances of ``_UPLIFTS`` for each skill, as all the others have it."""
    usual, chances = _usual()
    evidence = {key: np.log(_likelihood(t) @ usual / _possible(usual) + _TINY**20) for key, t in tallies.items()}
    together = np.log(chances) + sum(evidence.values(), np.zeros(len(chances)))
    return {key: usual @ _normalised(together - own) for key, own in evidence.items()}


@lru_cache(maxsize=1)
def _usual() -> tuple[Floats, Floats]:
    """What uplifts are usual, (uplifts, cases): for each mean and spread of them; and the chance of each case."""
    mean, spread = (grid.ravel() for grid in np.meshgrid(_MEANS, _SPREADS, indexing="ij"))
    width = np.tile(np.gradient(_SPREADS), len(_MEANS))
    chances = width * np.exp(-((mean / _USUAL_MEAN) ** 2 + (spread / _USUAL_SPREAD) ** 2) / 2)
    return _normal(mean, spread), chances / chances.sum()


def _normal(mean: Floats, spread: Floats) -> Floats:
    """Chances of ``_UPLIFTS``, (uplifts, cases), each normal."""
    chances: Floats = np.exp(-((_UPLIFTS[:, None] - mean) ** 2) / (2 * spread**2))
    chances /= chances.sum(axis=0)
    return chances


def _possible(usual: Floats) -> Floats:
    """How much of each case is left where both rates are rates: uncounted, wide spreads would seem less likely."""
    left: Floats = _grid()[4].mean(axis=0) @ usual
    return left


def _normalised(logs: Floats) -> Floats:
    chances: Floats = np.exp(logs - logs.max())
    chances /= chances.sum()
    return chances


def _lift(t: Tally, prior: Floats, reward: float | None) -> Lift:
    chances = _likelihood(t) * prior
    chances /= chances.sum()
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


@lru_cache(maxsize=512)
def _likelihood(t: Tally) -> Floats:
    """Of ``_UPLIFTS``, up to a factor; the rate without the skill is summed out."""
    log_p0, log_q0, log_p1, log_q1, possible = _grid()
    logs = np.where(possible, t.shown_good * log_p1 + (t.shown - t.shown_good) * log_q1, -np.inf)
    logs += (t.withheld_good * log_p0 + (t.withheld - t.withheld_good) * log_q0)[:, None]
    likelihood: Floats = np.exp(logs - logs.max()).sum(axis=0)
    return likelihood


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
    found = _lift(t, _normal(np.zeros(1), np.array([_VERSION_SPREAD]))[:, 0], None)
    with_new, with_old = _share(t.shown_good, t.shown), _share(t.withheld_good, t.withheld)
    told = f"{with_new} with version {new}, {with_old} with version {old}, {found.better:.0%} sure that {new} is better"
    if found.better >= CANARY_SURE or (least >= CANARY_ENOUGH and found.better >= 0.5):
        return Verdict("keep", told)
    if 1 - found.better >= CANARY_SURE or least >= CANARY_ENOUGH:
        return Verdict("back", told)
    return None


def _share(good: int, of: int) -> str:
    return f"{good} of {of} ended well" if of else "none"
