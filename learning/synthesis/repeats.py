"""For what a step is made several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from prowess.learning.synthesis.calls import Run
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.synthesis.templates import canonical, match

__all__ = ["repeated"]


def repeated(runs: Sequence[Run], template: Mapping[str, Any]) -> str:
    """The argument, or of a command line the placeholder of ``template``, for whose values at least half of the
    episodes, each with its run of calls, make a step several times; "" for none."""
    name = _varying(runs)
    return _varying_piece(runs, template) if name in COMMAND_ARGUMENTS else name


def _varying_piece(runs: Sequence[Run], template: Mapping[str, Any]) -> str:
    """The placeholder of a command line that varies within at least half of the runs; "" where other lines are among
    them, which the template does not tell."""
    values: Counter[str] = Counter()
    for run in runs:
        bound = [match(dict(template), call.args, {}) for call in run.calls]
        if len(run.calls) > 1 and all(each is not None for each in bound):
            each = [one for one in bound if one is not None]
            values.update(name for name in each[0] if len({canonical(one.get(name)) for one in each}) > 1)
    name, count = values.most_common(1)[0] if values else ("", 0)
    return name if count * 2 >= len(runs) else ""


def _varying(runs: Sequence[Run]) -> str:
    several = [run for run in runs if len({canonical(call.args) for call in run.calls}) > 1]
    if len(several) * 2 < len(runs):
        return ""
    values: Counter[str] = Counter()
    plain = set[str]()  # one at a time, and no lists
    for call in (call for run in several for call in run.calls):
        plain |= {name for name, value in call.args.items() if not isinstance(value, list | tuple | dict)}
    for run in several:
        for name in dict.fromkeys(name for call in run.calls for name in call.args):
            values[name] += len({canonical(call.args.get(name)) for call in run.calls}) - 1
    return max(values, key=lambda name: (values[name] > 0 and name in plain, values[name]))
