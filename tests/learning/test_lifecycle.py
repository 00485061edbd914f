from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from made_episodes import call, episode, failing, skill

from prowess.learning.lifecycle import adjust, expand, prune, validate
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Parameter, Skill, SkillStep, SkillUse, Trajectory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = [(date(2026, 1, 1) + timedelta(days=n)).isoformat() for n in range(60)]


def known(*skills: Skill) -> dict[str, Skill]:
    return {s.id: s for s in skills}


def parameters(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name) for name in names)


LOGIN = skill("login", call("open", user="{user}"), call("enter", user="{user}"), parameters=parameters("user"))


def test_a_sound_skill_passes() -> None:
    validate(LOGIN, {})  # which raises where it is not
    outer = skill("outer", SkillStep(skill="login"), call("pay", sum="{sum}"), parameters=parameters("user", "sum"))
    validate(outer, known(LOGIN))
    renamed = SkillStep(skill="login", args_template={"user": "{customer}"})
    validate(skill("other", renamed, parameters=parameters("customer")), known(LOGIN))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (skill("s"), "no steps"),
        (skill("s", call("a"), name=""), "not a name"),
        (skill("s", call("a"), name="x" * 101), "not a name"),
        (skill("s", call("a"), name="two\nlines"), "not a name"),
        (skill("s", call("a"), name="../etc"), "not a name"),
        (skill("s", SkillStep()), "either a tool or a skill"),
        (skill("s", SkillStep(tool="a", skill="login")), "either a tool or a skill"),
        (skill("s", SkillStep(skill="gone")), "unknown skill 'gone'"),
        (skill("s", SkillStep(skill="s")), "includes itself"),
        (skill("s", SkillStep(skill="loop")), "includes itself through other skills"),
        (skill("s", call("a", x="{x}")), "uses {x} without such a parameter"),
        (skill("s", call("a"), parameters=parameters("x")), "parameter 'x' but no step uses it"),
        (skill("s", call("a", x="{x}"), parameters=parameters("x", "x")), "'x' twice"),
        (skill("s", call("a"), parameters=parameters("not a name")), "no identifier"),
        (skill("s", SkillStep(skill="login")), "uses {user} without such a parameter"),
        (skill("s", SkillStep(skill="login", args_template={"usr": 1})), "step 1 of skill 's' gives 'usr'"),
    ],
)
def test_an_unsound_skill_is_refused_with_a_hint(broken: Skill, said: str) -> None:
    loop = skill("loop", SkillStep(skill="s"))
    with pytest.raises(InvalidInput) as refused:
        validate(broken, known(LOGIN, loop, broken))
    assert said in str(refused.value)
    assert refused.value.hint


def chain(length: int, *, branching: bool = False) -> dict[str, Skill]:
    width = 5 if branching else 1
    links = [skill(f"s{n}", *[SkillStep(skill=f"s{n - 1}")] * width) for n in range(1, length)]
    return known(skill("s0", call("a")), *links)


def test_references_may_not_go_too_deep_nor_grow_without_bound() -> None:
    validate(chain(8)["s7"], chain(8))
    with pytest.raises(InvalidInput, match="8 references deep"):
        validate(chain(9)["s8"], chain(9))
    with pytest.raises(InvalidInput, match="more than 500 steps"):
        validate(chain(7, branching=True)["s6"], chain(7, branching=True))


def test_expanding_renames_placeholders_as_the_references_say() -> None:
    middle = skill("middle", SkillStep(skill="login", args_template={"user": "{who}"}), call("go", to="{{user}}"))
    outer = skill("outer", SkillStep(skill="middle", args_template={"who": "x{id}"}), call("pay", user="{user}"))
    assert expand(outer, known(LOGIN, middle)) == (
        call("open", user="x{id}"),
        call("enter", user="x{id}"),
        call("go", to="{{user}}"),
        call("pay", user="{user}"),
    )


def old(**fields: Any) -> Skill:
    return msgspec.structs.replace(skill("s", call("a")), created_at="2026-01-01T10:00:00.000Z", **fields)


@pytest.mark.parametrize(
    ("uses", "rate", "pruned"),
    [(5, 0.49, True), (5, 0.5, False), (4, 0.0, False), (50, 0.4, True), (1, 1.0, False)],
)
def test_what_fails_half_the_time_is_pruned_after_five_uses(uses: int, rate: float, pruned: bool) -> None:
    assert bool(prune([old(use_count=uses, success_rate=rate)], NOW, [])) is pruned


def test_what_was_never_used_in_thirty_active_days_is_pruned() -> None:
    assert prune([old()], NOW, DAYS[:31]) == {"s": "never used in 30 days with activity"}
    assert prune([old()], NOW, DAYS[:30]) == {}  # the day it was made does not count
    assert prune([old()], NOW, DAYS[1:10] * 10) == {}
    assert prune([old(use_count=1)], NOW, DAYS) == {}


def test_a_day_without_use_is_a_whole_day() -> None:
    morning = datetime(2026, 1, 2, 9, tzinfo=UTC)  # 23 hours after it was made
    assert prune([old()], morning, DAYS[:2], unused_days=1) == {}
    assert prune([old()], morning + timedelta(hours=1), DAYS[:2], unused_days=1) == {
        "s": "never used in 1 day with activity"
    }
    assert prune([old()], NOW, DAYS, unused_days=0) == {}  # never for that


def test_a_clock_that_jumps_prunes_nothing() -> None:
    assert prune([old()], datetime(2036, 1, 1, tzinfo=UTC), [*DAYS[:10], "2036-01-01"]) == {}
    assert prune([old()], datetime(2020, 1, 1, tzinfo=UTC), DAYS) == {}


@pytest.mark.parametrize("fields", [{"pinned": True}, {"author": "person"}, {"status": "archived"}])
def test_what_a_person_wrote_or_pinned_is_never_pruned(fields: dict[str, Any]) -> None:
    assert prune([old(use_count=9, success_rate=0.0, **fields)], NOW, DAYS) == {}
    assert prune([old(**fields)], NOW, DAYS) == {}


SHIP = skill(
    "ship",
    call("check", mode="full"),
    call("pack", order="{order}"),
    call("send", order="{order}", by="road"),
    parameters=(Parameter(name="order", examples=("#1",)),),
    use_count=3,
)


def uses(*keys: str, success: bool = True, version: int = 1) -> list[SkillUse]:
    return [
        SkillUse(id=f"u{key}", skill_id="ship", version=version, episode_id=key, success=success, at="") for key in keys
    ]


def shipped(key: str, *, checked: bool = True, by: str = "road", order: str = "#1") -> Trajectory:
    first = [("check", {"mode": "full"})] if checked else []
    return episode(key, [*first, ("pack", {"order": order}), ("send", {"order": order, "by": by})])


def test_a_step_that_successful_uses_skip_is_dropped() -> None:
    made = [shipped(key, checked=False) for key in "abc"]
    changed = adjust(SHIP, uses("a", "b", "c"), made)
    assert changed is not None
    assert [step.tool for step in changed.steps] == ["pack", "send"]
    assert (changed.id, changed.version) == ("ship", 2)
    assert adjust(SHIP, uses("a", "b"), made[:2]) is None
    assert adjust(SHIP, uses("a", "b", "c"), [*made[:2], shipped("c")]) is None


def test_a_step_goes_when_four_uses_in_five_skip_it_and_stays_at_three_in_four() -> None:
    four_of_five = [shipped(key, checked=key == "e") for key in "abcde"]
    changed = adjust(SHIP, uses(*"abcde"), four_of_five)
    assert changed is not None
    assert [step.tool for step in changed.steps] == ["pack", "send"]
    assert adjust(SHIP, uses(*"bcde"), four_of_five[1:]) is None


def test_a_call_stands_for_one_step_alone() -> None:
    twice = msgspec.structs.replace(SHIP, steps=(SHIP.steps[0], *SHIP.steps))
    changed = adjust(twice, uses(*"abc"), [shipped(key) for key in "abc"])
    assert changed is not None
    assert changed.steps == SHIP.steps


def test_what_only_a_dropped_step_needed_goes_with_it() -> None:
    named = msgspec.structs.replace(
        SHIP, steps=(call("check", mode="{mode}"), *SHIP.steps[1:]), parameters=parameters("mode", "order")
    )
    changed = adjust(named, uses(*"abcde"), [shipped(key, checked=key == "e") for key in "abcde"])
    assert changed is not None
    assert [parameter.name for parameter in changed.parameters] == ["order"]
    validate(changed, {})


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (
            "Check a mode, get the pack for the order and send an order. Use when the task mentions parcels.",
            "Get the pack for the order and send an order. Use when the task mentions parcels.",
        ),
        (
            "Check a mode, get the pack for the order and send an order.",
            "Get the pack for the order and send an order.",
        ),
        ("Gets a parcel out of the door.", "Gets a parcel out of the door."),  # somebody's own words
    ],
)
def test_a_description_of_the_steps_tells_those_that_are_left(told: str, left: str) -> None:
    worded = msgspec.structs.replace(SHIP, description=told)
    changed = adjust(worded, uses("a", "b", "c"), [shipped(key, checked=False) for key in "abc"])
    assert changed is not None
    assert changed.description == left


def test_a_constant_that_varies_in_successes_becomes_a_placeholder() -> None:
    made = [shipped("a"), shipped("b", by="air"), shipped("c", by="sea")]
    changed = adjust(SHIP, uses("a", "b", "c"), made)
    assert changed is not None
    assert changed.steps[2] == call("send", order="{order}", by="{by}")
    assert changed.parameters[1] == Parameter(name="by", examples=("road", "air", "sea"))
    assert adjust(SHIP, uses("a", "b"), made[:2]) is None


def test_what_a_step_does_not_say_and_a_use_leaves_out_changes_nothing() -> None:
    bare = skill("ship", SkillStep(tool="check"), call("send", by="road", note="fragile"))
    made = [episode(key, [("check", {"mode": key}), ("send", {"by": "road"})]) for key in "abc"]
    assert adjust(bare, uses(*"abc"), made) is None


def test_examples_are_added_while_there_is_room() -> None:
    changed = adjust(SHIP, uses("a", "b", "c"), [shipped(key, order=f"#{key}") for key in "abc"])
    assert changed is not None
    assert changed.parameters[0].examples == ("#1", "#a", "#b")
    again = adjust(changed, uses("d", version=2), [shipped("d", order="#d")])
    assert again is None


def test_failures_other_skills_and_other_versions_teach_nothing() -> None:
    made = [shipped(key, checked=False) for key in "abc"]
    assert adjust(SHIP, uses("a", "b", "c", success=False), made) is None
    assert adjust(SHIP, uses("a", "b", "c", version=7), made) is None
    assert adjust(msgspec.structs.replace(SHIP, id="other"), uses("a", "b", "c"), made) is None
    assert adjust(SHIP, uses("a", "b", "c"), []) is None


def test_episodes_that_did_something_else_teach_nothing() -> None:
    made = [episode(key, ["dance", failing("pack", "torn"), ("send", {"order": "x", "by": "sea"})]) for key in "abc"]
    assert adjust(SHIP, uses("a", "b", "c"), made) is None


@pytest.mark.parametrize("fields", [{"pinned": True}, {"author": "person"}])
def test_what_a_person_wrote_or_pinned_is_not_adjusted(fields: dict[str, Any]) -> None:
    made = [shipped(key, checked=False) for key in "abc"]
    assert adjust(msgspec.structs.replace(SHIP, **fields), uses("a", "b", "c"), made) is None


def test_a_command_that_is_told_in_full_stays_as_it_is_used() -> None:
    line = "cd /srv/app && pytest -q 2>&1 | tail -5"
    worded = skill("ship", call("Bash", command=line, description="Run the tests"), call("send", order="#1"))
    asked = {"command": line, "description": "Tests"}
    made = [episode(key, [("Bash", asked), ("send", {"order": "#1"})]) for key in "abc"]
    assert adjust(worded, uses("a", "b", "c"), made) is None


def test_an_adjusted_skill_is_sound() -> None:
    made = [shipped("a", checked=False), shipped("b", by="air", checked=False), shipped("c", by="sea", checked=False)]
    changed = adjust(SHIP, uses("a", "b", "c"), made)
    assert changed is not None
    validate(changed, {})
