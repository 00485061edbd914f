"""How good the best of those answers is that fit into so many tokens, whichever method gives them.

Three whole episodes take more room than three skills. So beside the best of three, each method gets the same room:
``BUDGETS``, and for each question the tokens of what ``find_skill`` answered to it. Of episodes, in the order of their
method, each is taken that still fits; a long one in between is passed over. ``find_skill`` is asked for as many answers
as fit, and all its text counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from _measures import Scored, difference, overlap, summary
from _shared import Tools

__all__ = ["BUDGETS", "CAPS", "MOST_TRIES", "Fitting", "asked", "fitted", "greedy", "table"]

BUDGETS = (100, 150, 200, 300, 450, 600)
OWN = "own"  # the budget of a question: what find_skill's answer to it takes
CAPS = {"three": 3, "any number": None}  # of tries
MOST_TRIES = 12  # that find_skill is asked for; more do not fit into the largest budget
KINDS = ("Jaccard", "hit")
ROOMS = (*map(str, BUDGETS), OWN)

Fitting = Callable[[int, int | None], Sequence[Tools]]  # (tokens, most tries) -> what fits


def greedy(priced: Sequence[tuple[Tools, int]]) -> Fitting:
    """Each in its order that still has room; ``priced`` are tools and tokens."""

    def fit(budget: int, most: int | None) -> list[Tools]:
        taken: list[Tools] = []
        for tools, tokens in priced:
            if tokens <= budget and (most is None or len(taken) < most):
                taken.append(tools)
                budget -= tokens
        return taken

    return fit


def asked(by_limit: Sequence[tuple[Sequence[Tools], int]]) -> Fitting:
    """The largest whole answer that fits; ``by_limit`` are the answers to 1, 2, ... tries, each with its tokens."""

    def fit(budget: int, most: int | None) -> Sequence[Tools]:
        fits = [found for found, tokens in by_limit[:most] if tokens <= budget]
        return fits[-1] if fits else []

    return fit


def fitted(fit: Fitting, *, own: int, golds: Sequence[Tools], task: str) -> Scored:
    """Hit and Jaccard within each budget and cap, and with how many tries; ``own`` is that of the question."""
    values: dict[str, float | None] = {}
    for name, most in CAPS.items():
        for room, budget in zip(ROOMS, (*BUDGETS, own), strict=True):
            found = fit(budget, most)
            values[_key("hit", room, name)] = float(any(tools in golds for tools in found))
            best = max((overlap(tools, gold) for tools in found for gold in golds), default=0.0)
            values[_key("Jaccard", room, name)] = best
            values[_key("tries", room, name)] = float(len(found))
    return Scored(task, values)


def _key(kind: str, room: str, cap: str) -> str:
    return f"{kind}, {room}, {cap}"


def table(held: Mapping[str, Sequence[Scored]], forms: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each kind, cap and budget: ``find_skill`` beside the best other method of each form; printed as well.

    ``held`` has the methods' figures by name; those of a form end with its name.
    """
    measures = [_key(kind, room, cap) for kind in ("tries", *KINDS) for room in ROOMS for cap in CAPS]
    means = {method: summary(scores, measures) for method, scores in held.items()}
    rows = [_row(kind, room, cap, held, means, forms) for kind in KINDS for cap in CAPS for room in ROOMS]
    for row in rows:
        print(_line(row))
    return rows


def _row(
    kind: str, room: str, cap: str, held: Mapping[str, Sequence[Scored]], means: Mapping[str, Any], forms: Sequence[str]
) -> dict[str, Any]:
    measure, tries = _key(kind, room, cap), _key("tries", room, cap)
    mine = means["find_skill"]
    row: dict[str, Any] = {"kind": kind, "tokens": room, "tries": cap, "find_skill": [mine[measure], mine[tries]]}
    for form in forms:
        others = [name for name in held if name.endswith(form)]
        best = max(others, key=lambda name: means[name][measure])
        against = difference(held["find_skill"], held[best], measure)
        row[form] = {"best": best, "mean": means[best][measure], "tries": means[best][tries], "difference": against}
    return row


def _line(row: dict[str, Any]) -> str:
    mean, tries = row["find_skill"]
    parts = [f"{row['kind']} in {row['tokens']} tokens, {row['tries']}: find_skill {mean:.3f} ({tries:.1f})"]
    for name, form in row.items():
        if isinstance(form, dict):
            about, (middle, low, high) = form["best"].removesuffix(f", {name}"), form["difference"]
            told = f"{form['mean']:.3f} ({form['tries']:.1f}) {middle:+.3f} [{low:+.3f}, {high:+.3f}]"
            parts.append(f"{name} {about} {told}")
    return " | ".join(parts)
