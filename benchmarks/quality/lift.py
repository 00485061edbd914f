"""How many matches the lift needs to promote and to retire, how often it errs, what withholding costs, and how often
its intervals hold the truth.

Skills of known effect are matched again and again; their fate is decided by the product's own functions. Success of an
episode is drawn with the base rate, plus the skill's effect where it was shown. Every skill is made a draft, promoted,
retired by ``learning.lift``, which sees the same as in a store: who was shown what, and how it ended.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from prowess.learning.lift import ACTIVE_SHARE, canary, lifts, shows_old, verdict, withheld
from prowess.storage.models import Skill, SkillStatus, SkillStep, Trial

__all__ = ["run"]

HORIZON = 800  # matches of each skill
LOOK = 10  # matches between two decisions, as `learn_after` has it
RUNS = 10
EFFECTS = (0.1, 0.2, 0.3)
BASES = (0.3, 0.5, 0.8)
POOLS = {"even": (8, 8, 8), "mostly useless": (3, 18, 3), "active": (8, 8, 8)}
"""Good, useless and harmful skills. Those of "active" are active from the start, as if promoted without a look."""
KINDS = ("good", "useless", "harmful")

# Of the intervals. Stores are as many that some thousand skills come together.
SKILLS = {1: 1_200, 5: 300, 20: 90, 60: 30}
SIDES = ((5, 5), (20, 20), (100, 100), (95, 5))
WORLDS = (("normal", 0.0), ("normal", 0.1), ("normal", 0.2), ("normal", 0.3), ("mostly useless", 0.2))
HALF = 0.00625  # of a cell of the grid that the ends stand on


@dataclass
class Fate:
    """What became of one skill; matches are counted from its first."""

    kind: str
    base: float
    effect: float
    skill: Skill
    trials: list[Trial] = field(default_factory=list)
    promoted: int | None = None
    retired: int | None = None
    lost: float = 0.0  # successes that withholding cost; negative where it spared harm
    lost_by_active: float = 0.0

    def match(self, number: int, run: int, chance: float) -> None:
        """One match, decided by lot, and how the episode ended."""
        away = withheld(f"{run}/{number}", self.skill, ACTIVE_SHARE)
        success = chance < (self.base if away else self.base + self.effect)
        trial = Trial(
            skill_id=self.skill.id,
            version=1,
            shown=not away,
            episode_id=f"{number}",
            at=_at(len(self.trials)),
            success=success,
            reward=8.0 if success else -8.0,
        )
        self.trials.append(trial)
        if away:
            self.lost += self.effect
            self.lost_by_active += self.effect * (self.skill.status == "active")

    def decide(self, action: str) -> None:
        """Carry out a verdict."""
        if action == "promote":
            self.promoted = len(self.trials)
        else:
            self.retired = len(self.trials)
        status = "active" if action == "promote" else "retired"
        self.skill = msgspec.structs.replace(self.skill, status=status, updated_at=_at(len(self.trials)))


def simulate(run: int, base: float, effect: float, pool: str) -> list[Fate]:
    """One store's skills over ``HORIZON`` matches each."""
    rng = np.random.default_rng([run, round(base * 100), round(effect * 100), *POOLS[pool]])
    status: SkillStatus = "active" if pool == "active" else "draft"
    fates = [
        Fate(kind, _bounded(base, sign * effect, rng), sign * effect, _skill(f"{kind}-{number}", status))
        for kind, sign, count in zip(KINDS, (1, 0, -1), POOLS[pool], strict=True)
        for number in range(count)
    ]
    for number in range(1, HORIZON + 1):
        live = [fate for fate in fates if fate.retired is None]
        for fate, chance in zip(live, rng.random(len(live)), strict=True):
            fate.match(number, run, chance)
        if number % LOOK == 0:
            _look(fates, live)
    return fates


def _look(fates: Sequence[Fate], live: Sequence[Fate]) -> None:
    found = lifts((trial for fate in fates for trial in fate.trials), {fate.skill.id: fate.skill for fate in fates})
    for fate in live:
        told = verdict(fate.skill, found[fate.skill.id])
        if told is not None:
            fate.decide(told.action)


def _at(matches: int) -> str:
    """A time that sorts as the matches do."""
    return f"{matches:06}"


def _bounded(base: float, effect: float, rng: np.random.Generator) -> float:
    """The skill's own base rate: tasks differ, and rates stay rates."""
    own = base + rng.uniform(-0.1, 0.1)
    return float(np.clip(own, max(0.02, 0.02 - effect), min(0.98, 0.98 - effect)))


def _skill(name: str, status: SkillStatus = "draft") -> Skill:
    return Skill(id=name, name=name, description=name, steps=(SkillStep(tool="x"),), status=status)


def _row(base: float, effect: float, pool: str) -> dict[str, Any]:
    fates = [fate for run in range(RUNS) for fate in simulate(run, base, effect, pool)]
    kinds = {kind: [fate for fate in fates if fate.kind == kind] for kind in KINDS}
    matches = sum(len(fate.trials) for fate in kinds["good"])
    return {
        "pool": pool,
        "base": base,
        "effect": effect,
        "promote_median": _quantile([f.promoted for f in kinds["good"]], 0.5),
        "promote_90": _quantile([f.promoted for f in kinds["good"]], 0.9),
        "retire_median": _quantile([f.retired for f in kinds["harmful"]], 0.5),
        "retire_90": _quantile([f.retired for f in kinds["harmful"]], 0.9),
        "good_promoted": _rate(f.promoted for f in kinds["good"]),
        "good_retired": _rate(f.retired for f in kinds["good"]),
        "useless_promoted": _rate(f.promoted for f in kinds["useless"]),
        "useless_retired": _rate(f.retired for f in kinds["useless"]),
        "harmful_promoted": _rate(f.promoted for f in kinds["harmful"]),
        "harmful_active": _rate(f.promoted if f.retired is None else None for f in kinds["harmful"]),
        "harmful_retired": _rate(f.retired for f in kinds["harmful"]),
        "cost_per_100": round(100 * sum(f.lost for f in kinds["good"]) / matches, 2),
        "cost_active_per_100": round(100 * sum(f.lost_by_active for f in kinds["good"]) / matches, 2),
    }


def _quantile(matches: Sequence[int | None], q: float) -> int | None:
    """None where fewer than that share got there at all."""
    reached = sorted(HORIZON + 1 if number is None else number for number in matches)
    found = reached[min(int(q * len(reached)), len(reached) - 1)]
    return None if found > HORIZON else found


def _rate(reached: Iterator[int | None]) -> float:
    values = [number is not None for number in reached]
    return round(sum(values) / len(values), 3)


def _canaries() -> Iterator[dict[str, Any]]:
    for base in BASES:
        for effect in (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2):
            if not 0 < base + effect < 1:
                continue
            fates = [_canary(run, base, effect) for run in range(200)]
            yield {
                "base": base,
                "effect": effect,
                "kept": round(sum(action == "keep" for action, _ in fates) / len(fates), 3),
                "median": _quantile([number for _, number in fates], 0.5),
                "90": _quantile([number for _, number in fates], 0.9),
            }


def _canary(run: int, base: float, effect: float) -> tuple[str, int]:
    """A changed skill beside the version before: what is decided, after how many matches."""
    rng = np.random.default_rng([run, round(base * 100), round((effect + 1) * 100)])
    skill = msgspec.structs.replace(_skill("changed", "active"), version=2, trial_of=1)
    trials: list[Trial] = []
    while True:
        version = 1 if shows_old(f"{run}/{len(trials)}", skill) else 2
        success = bool(rng.random() < base + effect * (version == 2))
        trials.append(
            Trial(skill_id="changed", version=version, shown=True, episode_id="", at="", success=success, reward=1.0)
        )
        told = canary(trials, 2, 1) if len(trials) % LOOK == 0 else None
        if told is not None:
            return told.action, len(trials)


def _coverage() -> Iterator[dict[str, Any]]:
    """How many of the 95 % intervals hold the uplift that was drawn, and how wide they are."""
    for number, worlds in SKILLS.items():
        for sides in SIDES:
            for world, spread in WORLDS:
                found = [
                    each
                    for seed in range(worlds)
                    for each in _intervals(number, sides, world, spread, BASES[seed % len(BASES)], seed)
                ]
                yield {
                    "skills": number,
                    "shown": sides[0],
                    "withheld": sides[1],
                    "uplifts": world,
                    "spread": spread,
                    "held": round(sum(low <= truth <= high for low, truth, high in found) / len(found), 3),
                    "width": round(sum(high - low for low, _, high in found) / len(found), 2),
                }


def _intervals(
    number: int, sides: tuple[int, int], world: str, spread: float, base: float, seed: int
) -> Iterator[tuple[float, float, float]]:
    """The lower end, the truth and the upper end of each skill of one store."""
    rng = np.random.default_rng([number, *sides, round(spread * 100), len(world), seed])
    without = np.clip(base + rng.uniform(-0.1, 0.1, number), 0.02, 0.98)
    if world == "normal":
        uplifts = rng.normal(rng.normal(0, 0.05), spread, number)
    else:
        uplifts = spread * rng.choice([-1, 0, 1], number, p=[0.125, 0.75, 0.125])
    with_it = np.clip(without + uplifts, 0.01, 0.99)
    trials = [
        Trial(
            skill_id=f"{skill:03}",
            version=1,
            shown=shown,
            episode_id="",
            at="",
            success=bool(success),
            reward=0.0,
        )
        for skill in range(number)
        for shown, rate, count in ((True, with_it[skill], sides[0]), (False, without[skill], sides[1]))
        for success in rng.random(count) < rate
    ]
    for skill, lift in enumerate(lifts(trials).values()):
        yield lift.low - HALF, float(with_it[skill] - without[skill]), lift.high + HALF


def run(data: Path | None = None) -> dict[str, Any]:
    """All tables. ``data`` is not used: everything is made from fixed seeds."""
    rows = [_row(base, effect, pool) for pool in POOLS for base in BASES for effect in EFFECTS]
    coverage, canaries = list(_coverage()), list(_canaries())
    tables = {"rows": rows, "canary": canaries, "coverage": coverage}
    return {"benchmark": "quality_lift", "runs": RUNS, "horizon": HORIZON, **tables}


def _table(rows: Sequence[dict[str, Any]]) -> str:
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Tables and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="not used here")
    found = run(parser.parse_args().data)
    print(_table(found["rows"]))
    print(_table(found["canary"]))
    print(_table(found["coverage"]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
