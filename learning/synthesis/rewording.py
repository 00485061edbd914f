"""Descriptions of skills whose steps change: they say what the steps do now, where they were worded from them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prowess.learning.synthesis.calls import is_lookup, key_of
from prowess.learning.synthesis.clients import is_change
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.synthesis.naming import description_of, moves_in_words
from prowess.learning.synthesis.usage import Usage
from prowess.storage.models import SkillStep

__all__ = ["moves_told", "reworded"]

_FILES = re.compile(r"\bedit ((?:\S+ files|\w+files))\b", re.IGNORECASE)
_OCCASIONS = re.compile(r"\. (?=Use |Repeat )")


def moves_told(description: str) -> str:
    """What a description that was worded by rules says of the moves: its first sentence."""
    return _OCCASIONS.split(description)[0].removesuffix(".")


def reworded(description: str, before: Sequence[SkillStep], after: Sequence[SkillStep]) -> str:
    """``description`` of the steps ``before`` with the moves of those ``after``; as it is where it does not tell just
    those moves, since a person, an agent or a model worded it then."""
    told, rest = moves_told(description), _OCCASIONS.split(description)[1:]
    for acting in (True, False):
        if told == _moves(before, told, acting=acting):
            return ". ".join([_moves(after, told, acting=acting), *rest]) + ("" if rest else ".")
    return description


def _moves(steps: Sequence[SkillStep], told: str, *, acting: bool) -> str:
    """The sentence of all moves, or of those that do more than to look. Names are spelled as ``told`` has them."""
    keyed = [(key_of(step.tool, step.args_template or {}), step) for step in steps if step.tool]
    chosen = [(key, step) for key, step in keyed if not (acting and is_lookup(key))] or keyed
    files = found[1] if (found := _FILES.search(told)) else ""
    objects = {key: files for key, step in chosen if is_change(step.tool or "", step.args_template or {})}
    lines = {key: _line(step) for key, step in chosen}
    keys = list(dict.fromkeys(key for key, _ in chosen))
    usage = Usage([told] * 2)  # a spelling counts that two texts have
    acts = moves_in_words(keys, [step for _, step in chosen], usage, objects, lines)
    commands = [key for key in keys if key not in {step.tool for step in steps}]
    return description_of(acts, commands, (), usage).removesuffix(".")


def _line(step: SkillStep) -> str:
    args = step.args_template or {}
    return next((str(args[name]) for name in COMMAND_ARGUMENTS if name in args), "")
