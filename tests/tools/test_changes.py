"""How a change to a skill is told."""

from __future__ import annotations

from msgspec.structs import replace

from prowess.storage.models import Skill, SkillStep
from prowess.tools.changes import Change, ChangeReport
from prowess.tools.skills import steps_in_words

AT = "2026-01-01T00:00:00.000Z"
SHORT = Skill(
    id="s", name="refund", description="d", steps=(SkillStep(tool="look"), SkillStep(tool="pay")), created_at=AT
)
LONG = replace(SHORT, steps=(SkillStep(tool="x" * 90), SkillStep(tool="- y" + "y" * 90)))


def lines(before: Skill | None, after: Skill) -> list[str]:
    action = "adjust" if before else "create"
    return ChangeReport.of(Change(action=action, before=before, after=after, reason="why"), {"0f0f": "log-in"}).lines()


def test_a_short_change_is_one_line() -> None:
    assert lines(None, SHORT) == ["create refund: look | pay (why)"]
    assert lines(SHORT, replace(SHORT, steps=SHORT.steps[:1])) == ["adjust refund: steps: look | pay → look (why)"]


def test_the_steps_of_a_long_one_stand_below_each_other_and_begin_no_line_themselves() -> None:
    assert lines(None, LONG) == ["create refund (why)", f"  1. {'x' * 90}", f"  2. - y{'y' * 90}"]


def test_what_differs_stands_on_a_line_for_each_field() -> None:
    assert lines(SHORT, replace(LONG, status="active")) == [
        "adjust refund (why)",
        f"  steps: look | pay → {'x' * 90} | - y{'y' * 90}",
        "  status: draft → active",
    ]


def test_that_there_are_more_steps_than_those_told_is_told() -> None:
    def told(count: int) -> list[str]:
        steps = tuple(SkillStep(tool=f"t{number}") for number in range(count))
        return steps_in_words(Skill(id="s", name="s", description="", steps=steps))

    assert told(40) == [f"t{number}" for number in range(40)]
    assert told(41)[39:] == ["t39", "… and 1 more step"]


def test_a_skill_that_is_referred_to_is_told_by_its_name() -> None:
    composed = replace(SHORT, steps=(SkillStep(skill="0f0f"), SkillStep(tool="pay")))
    assert lines(SHORT, composed) == ["adjust refund: steps: look | pay → log-in | pay (why)"]
