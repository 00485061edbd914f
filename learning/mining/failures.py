"""What keeps failing, and what was done when it worked again."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from prowess.learning.arrays import Ints
from prowess.learning.mining.candidates import Candidates, Told
from prowess.learning.mining.incidence import Incidence

__all__ = ["failures", "recoveries"]

MAX_CHANGED = 4


def failures(failing: Incidence, verbs: Incidence, least: int) -> Candidates:
    """Errors, by verb and template, that at least ``least`` episodes ran into."""
    numbers, groups = failing.table()
    times = failing.times().tolist()
    chosen = _supported(failing, numbers, groups.sizes, least)
    calls = dict(zip((verbs.keys[number] for number in verbs.table()[0].tolist()), verbs.times().tolist(), strict=True))

    def told(index: int) -> Told:
        place = chosen[index]
        verb, error = failing.keys[numbers[place]]
        share = times[place] / calls[verb]
        detail = {"verb": verb, "error": error, "times": times[place], "share_of_calls": round(share, 4)}
        return Told((verb, error), f"{verb} fails with “{error}” ({share:.0%} of its calls)", detail)

    return Candidates("failure", groups.at(np.array(chosen, np.int64)), told)


def recoveries(fixes: Incidence, changed: Incidence, failing: Incidence, least: int) -> Candidates:
    """For each error, what was done before the same verb worked, against the other episodes with that error."""
    numbers, groups = fixes.table()
    chosen = _supported(fixes, numbers, groups.sizes, least)
    hit, wholes = failing.table()
    place_of = {failing.keys[number]: place for place, number in enumerate(hit.tolist())}
    names = _names_by_fix(changed)

    def told(index: int) -> Told:
        verb, error, fix = key = fixes.keys[numbers[chosen[index]]]
        other = names.get(key, [])[:MAX_CHANGED]
        how = " → ".join(fix) if fix else "calling it again"
        subject = f"{verb} failed with “{error}” and worked after {how}"
        detail = {"verb": verb, "error": error, "fix": [*fix], "changed": other}
        return Told((verb, error, *fix), subject + (f" with another {', '.join(other)}" if other else ""), detail)

    return Candidates(
        "recovery",
        groups.at(np.array(chosen, np.int64)),
        told,
        wholes,
        np.array([place_of[fixes.keys[numbers[place]][:2]] for place in chosen], np.int64),
    )


def _supported(shown: Incidence, numbers: Ints, sizes: Ints, least: int) -> list[int]:
    """Places in the table of what enough episodes show, by content."""
    return sorted(np.flatnonzero(sizes >= least).tolist(), key=lambda place: shown.keys[numbers[place]])


def _names_by_fix(changed: Incidence) -> dict[tuple[str, str, tuple[str, ...]], list[str]]:
    """The arguments that were another after each fix, the most often changed first."""
    found = defaultdict(list)
    for number, times in zip(changed.table()[0].tolist(), changed.times().tolist(), strict=True):
        *fix, name = changed.keys[number]
        found[tuple(fix)].append((-times, name))
    return {fix: [name for _, name in sorted(names)] for fix, names in found.items()}
