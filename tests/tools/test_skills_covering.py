"""Whether one skill says what another one says, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.storage.models import Skill, SkillStep
from prowess.tools.skills import covers


def skill(key: str, *steps: tuple[str, dict[str, Any]]) -> Skill:
    told = tuple(SkillStep(tool=tool, args_template=args) for tool, args in steps)
    return Skill(id=key, name=key, description="d", steps=told)


ONE = skill("one", ("get", {"id": "{order}"}), ("cancel", {"id": "{order}", "by": "mail"}))


@pytest.mark.parametrize(
    ("steps", "wide", "narrow"),
    [
        ((("get", {"id": "{n}"}), ("cancel", {"id": "{n}", "by": "mail"})), True, True),  # other words for the same
        ((("get", {"id": "{n}"}), ("cancel", {"id": "{n}", "by": "{how}"})), True, False),
        ((("get", {"id": "{n}"}), ("cancel", {"id": "{m}", "by": "mail"})), True, False),  # two orders may be meant
        ((("get", {"id": "{n}"}), ("cancel", {"id": "{n}", "by": "phone"})), False, False),
        ((("get", {"id": "{n}"}), ("cancel", {"id": "{n}"})), False, False),  # another call
        ((("get", {"id": "{n}"}),), False, False),
        ((("get", {"id": "{n}"}), ("return", {"id": "{n}", "by": "mail"})), False, False),
    ],
)
def test_a_skill_covers_what_it_says_or_leaves_open(
    steps: tuple[tuple[str, dict[str, Any]], ...], wide: bool, narrow: bool
) -> None:
    other = skill("other", *steps)
    assert (covers(other, ONE, {}), covers(ONE, other, {})) == (wide, narrow)
