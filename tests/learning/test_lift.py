"""Lift: who is withheld, what the difference is, and what follows; expectations are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from made_episodes import call, skill
from msgspec.structs import replace

from prowess.learning.lift import Lift, Replay, Tally, canary, lifts, shows_old, tally, verdict, withheld
from prowess.storage.models import Skill, Trial

DRAFT = skill("helper", call("x"))
ACTIVE = replace(DRAFT, status="active")
NUMBERS = [str(number) for number in range(2_000)]


def trials(skill_id: str = "helper", *, shown: tuple[int, int], away: tuple[int, int], version: int = 1) -> list[Trial]:
    """(good, bad) matches that were shown and withheld."""
    return [
        Trial(
            skill_id=skill_id,
            version=version,
            shown=side,
            episode_id="",
            at="",
            success=good,
            reward=6.0 if good else -2.0,
        )
        for side, counts in ((True, shown), (False, away))
        for good, count in zip((True, False), counts, strict=True)
        for _ in range(count)
    ]


def decided(known: Skill, shown: tuple[int, int], away: tuple[int, int], replay: Replay | None = None) -> str | None:
    told = verdict(known, lifts(trials(shown=shown, away=away))["helper"], replay)
    return told.action if told else None


def test_one_match_in_twenty_of_an_active_skill_is_withheld_and_every_other_of_a_draft() -> None:
    assert 70 <= sum(withheld(number, ACTIVE) for number in NUMBERS) <= 130  # 100 expected, 3 standard deviations
    assert 930 <= sum(withheld(number, DRAFT) for number in NUMBERS) <= 1_070
    assert sum(withheld(number, ACTIVE, 0.2) for number in NUMBERS) > 300


def test_the_lot_is_the_same_each_time_and_differs_between_skills() -> None:
    other = replace(DRAFT, id="other")
    assert [withheld(number, DRAFT) for number in NUMBERS] == [withheld(number, DRAFT) for number in NUMBERS]
    assert [withheld(number, DRAFT) for number in NUMBERS] != [withheld(number, other) for number in NUMBERS]


@pytest.mark.parametrize(
    "kept", [replace(DRAFT, pinned=True), replace(ACTIVE, pinned=True), replace(DRAFT, author="person")]
)
def test_what_a_person_pinned_or_wrote_is_never_withheld_or_decided_about(kept: Skill) -> None:
    assert not any(withheld(number, kept, 0.5) for number in NUMBERS)
    assert decided(kept, (40, 0), (0, 40)) is None
    assert decided(kept, (0, 40), (40, 0)) is None


def test_a_share_of_nothing_withholds_drafts_neither() -> None:
    assert not any(withheld(number, DRAFT, 0.0) for number in NUMBERS)


def test_counts_and_plain_reward_difference_are_those_of_both_sides() -> None:
    found = trials(shown=(3, 1), away=(1, 3))
    assert tally(found) == (4, 3, 4, 1)
    lift = lifts(found)["helper"]
    assert lift.reward == pytest.approx((3 * 6 - 2) / 4 - (6 - 3 * 2) / 4)  # 4 - 0
    assert lift.low < 0 < lift.uplift < 0.5  # the plain difference, shrunk
    assert lift.words().endswith("(3 of 4 ended well shown, 1 of 4 ended well withheld)")
    assert lifts(trials(shown=(3, 1), away=(1, 1)))["helper"].reward == pytest.approx(4 - 2)
    assert lifts(trials(shown=(3, 1), away=(0, 0)))["helper"].reward is None


def test_without_matches_on_one_side_nothing_is_known_of_the_difference() -> None:
    lift = lifts(trials(shown=(15, 15), away=(0, 0)))["helper"]
    assert lift.low < -0.25
    assert lift.high > 0.25
    assert lift.better == pytest.approx(0.5, abs=0.02)
    assert decided(DRAFT, (30, 0), (0, 0)) is None


def test_equal_sides_leave_the_chances_even() -> None:
    lift = lifts(trials(shown=(10, 10), away=(10, 10)))["helper"]
    assert lift.uplift == pytest.approx(0, abs=0.01)
    assert lift.better == pytest.approx(0.5, abs=0.02)
    assert -lift.low == pytest.approx(lift.high, abs=0.02)


def test_many_matches_leave_little_of_the_prior() -> None:
    """350 of 500 against 250 of 500: 0.2, standard error sqrt((0.7*0.3 + 0.5*0.5)/500) = 0.03."""
    lift = lifts(trials(shown=(350, 150), away=(250, 250)))["helper"]
    assert lift.uplift == pytest.approx(0.2, abs=0.015)
    assert lift.high - lift.low == pytest.approx(2 * 1.96 * 0.03, abs=0.03)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """In 400 skills whose uplifts come from the prior's own kind of distribution, 95 % within 3 standard errors."""
    rng = np.random.default_rng(7)
    truths = np.clip(rng.normal(0, 0.15, 400), -0.45, 0.45)
    found: list[Trial] = []
    for number, truth in enumerate(truths):
        good, base = int(rng.binomial(40, 0.5 + truth)), int(rng.binomial(40, 0.5))
        found += trials(f"s{number:03}", shown=(good, 40 - good), away=(base, 40 - base))
    told = lifts(found)
    held = [told[f"s{number:03}"].low <= truth <= told[f"s{number:03}"].high for number, truth in enumerate(truths)]
    assert 0.917 <= sum(held) / len(held) <= 0.99


def test_the_interval_holds_the_truth_also_where_skills_tell_little_of_what_is_usual() -> None:
    """30 stores of 60 skills with 5 matches a side: a spread that is estimated and taken for known held 75 %."""
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truths = np.clip(rng.normal(0, 0.1, 60), -0.45, 0.45)
        good, base = rng.binomial(5, 0.5 + truths).tolist(), rng.binomial(5, 0.5, 60).tolist()
        both = enumerate(zip(good, base, strict=True))
        told = lifts(
            [one for n, (g, b) in both for one in trials(f"s{n:02}", shown=(g, 5 - g), away=(b, 5 - b))]
        ).values()
        held += [one.low <= truth <= one.high for one, truth in zip(told, truths, strict=True)]
    assert 0.94 <= np.mean(held) <= 0.99


def test_what_is_usual_is_learned_from_the_others() -> None:
    """A skill of which nothing is known beside 40 that all help by 0.3, or all by nothing."""
    for usual in (0.3, 0.0):
        good = round(100 * (0.5 + usual))
        known = [one for n in range(40) for one in trials(f"s{n}", shown=(good, 100 - good), away=(50, 50))]
        lift = lifts([*known, *trials(shown=(1, 1), away=(1, 1))])["helper"]
        assert lift.uplift == pytest.approx(usual, abs=0.03)
        assert lift.high - lift.low < 0.25


def test_matches_before_the_last_change_count_for_the_pool_alone() -> None:
    old = [replace(trial, at="2026-01-01") for trial in trials(shown=(0, 20), away=(20, 0))]
    new = [replace(trial, at="2026-01-03") for trial in trials(shown=(3, 1), away=(1, 1))]
    changed = replace(ACTIVE, updated_at="2026-01-02")
    lift = lifts(old + new, {"helper": changed})["helper"]
    assert lift.tally == tally(new)
    assert lifts(old + new)["helper"].tally == tally(old + new)
    assert lifts(old + new, {"helper": replace(changed, status="retired")})["helper"].tally == tally(old + new)
    assert verdict(changed, lift) is None


def test_a_skill_without_matches_of_its_own_is_taken_for_one_of_the_pool() -> None:
    """Uplifts that are drawn from a mean of 0.1 and a deviation of 0.1 are expected of another skill as well."""
    rng = np.random.default_rng(3)
    found = [replace(trial, at="2026-01-01") for trial in trials(shown=(5, 5), away=(5, 5))]
    for number, uplift in enumerate(rng.normal(0.1, 0.1, 400)):
        good, base = int(rng.binomial(60, 0.5 + uplift)), int(rng.binomial(60, 0.5))
        found += trials(f"s{number:03}", shown=(good, 60 - good), away=(base, 60 - base))
    lift = lifts(found, {"helper": replace(ACTIVE, updated_at="2026-01-02")})["helper"]
    assert lift.tally == (0, 0, 0, 0)
    assert lift.uplift == pytest.approx(0.1, abs=0.02)
    assert lift.high - lift.low == pytest.approx(2 * 1.96 * 0.1, abs=0.08)


def test_one_lucky_skill_among_many_useless_ones_is_believed_less() -> None:
    lucky = trials(shown=(9, 3), away=(4, 8))
    alone = lifts(lucky)["helper"]
    dull = [trial for number in range(30) for trial in trials(f"dull-{number}", shown=(30, 30), away=(30, 30))]
    among = lifts(lucky + dull)["helper"]
    assert among.uplift < alone.uplift / 2


def test_a_draft_that_helps_becomes_active_and_one_that_harms_is_retired() -> None:
    assert decided(DRAFT, (18, 2), (4, 16)) == "promote"
    assert decided(DRAFT, (4, 16), (18, 2)) == "retire"
    assert decided(ACTIVE, (40, 160), (9, 1)) == "retire"
    assert decided(ACTIVE, (18, 2), (4, 16)) is None
    assert decided(DRAFT, (11, 9), (9, 11)) is None
    assert decided(replace(DRAFT, status="archived"), (4, 16), (18, 2)) is None


def test_a_skill_that_surely_makes_no_difference_is_retired() -> None:
    assert decided(DRAFT, (600, 600), (600, 600)) == "retire"
    assert decided(DRAFT, (60, 60), (60, 60)) is None


@pytest.mark.parametrize(
    ("better", "worth", "why"),
    [
        (0.05, 0.02, "does harm"),
        (0.051, 0.02, None),
        (0.3, 0.01, "makes no difference worth its place"),
        (0.3, 0.011, None),
        (0.975, 0.9, "uplift"),
        (0.974, 0.9, None),
    ],
)
def test_a_skill_is_decided_about_from_the_chance_that_the_docs_name(
    better: float, worth: float, why: str | None
) -> None:
    lift = Lift(tally=Tally(9, 5, 9, 5), uplift=0.0, low=-0.1, high=0.1, better=better, worth=worth)
    told = verdict(DRAFT, lift)
    assert (told and told.reason.startswith(why)) if why else told is None


def test_a_skill_that_nothing_is_known_of_is_taken_for_a_usual_one() -> None:
    """Normal around a mean of 0 with a deviation of 0.05, with a spread that is half-normal with a scale of 0.2."""
    rng = np.random.default_rng(11)
    usual = rng.normal(rng.normal(0, 0.05, 400_000), np.abs(rng.normal(0, 0.2, 400_000)))
    usual = usual[np.abs(usual) < rng.random(400_000)]  # both rates have to be possible
    lift = lifts(trials(shown=(1, 1), away=(0, 0)))["helper"]
    assert (lift.low, lift.high) == pytest.approx(tuple(np.quantile(usual, (0.025, 0.975))), abs=0.03)
    assert lift.worth == pytest.approx((usual > 0.05).mean(), abs=0.03)


def test_an_uplift_of_just_what_is_worth_its_place_is_as_likely_worth_it_as_not() -> None:
    assert lifts(trials(shown=(2_200, 1_800), away=(2_000, 2_000)))["helper"].worth == pytest.approx(0.5, abs=0.1)


def test_four_matches_of_one_side_decide_nothing() -> None:
    assert decided(DRAFT, (40, 0), (0, 4)) is None
    assert decided(DRAFT, (40, 0), (0, 5)) == "promote"


def test_text_from_a_stranger_is_never_promoted_yet_retired() -> None:
    strange = replace(DRAFT, trust="untrusted")
    assert decided(strange, (18, 2), (4, 16)) is None
    assert decided(strange, (4, 16), (18, 2)) == "retire"


def test_steps_that_go_with_failure_keep_a_draft_from_promotion() -> None:
    """2 of 7 that happened were successes, of 10 and 10: P(at most 2) = (C(10,1)C(10,6) + C(10,2)C(10,5) +
    C(10,0)C(10,7)) / C(20,7) = (2100 + 11340 + 120) / 77520 = 0.175; 0 of 5: 252 / 15504 = 0.016."""
    assert not Replay(2, 10, 5, 10).speaks_against
    assert Replay(0, 10, 5, 10).speaks_against
    assert not Replay(5, 10, 0, 10).speaks_against
    assert not Replay(0, 0, 0, 0).speaks_against
    assert decided(DRAFT, (18, 2), (4, 16), Replay(0, 10, 5, 10)) is None
    assert decided(DRAFT, (18, 2), (4, 16), Replay(5, 10, 0, 10)) == "promote"


def test_the_reason_has_the_estimate_and_the_replays() -> None:
    told = verdict(DRAFT, lifts(trials(shown=(18, 2), away=(4, 16)))["helper"], Replay(3, 8, 0, 2))
    assert told is not None
    assert told.reason.startswith("uplift +0.")
    assert told.reason.endswith("; happened in 3 of 8 successes and 0 of 2 failures")


def versions(new: tuple[int, int], old: tuple[int, int]) -> list[Trial]:
    return trials(shown=new, away=(0, 0), version=2) + trials(shown=old, away=(3, 3), version=1)


def test_a_changed_skill_is_shown_in_half_of_its_matches() -> None:
    changed = replace(ACTIVE, version=2, trial_of=1)
    assert 930 <= sum(shows_old(number, changed) for number in NUMBERS) <= 1_070
    assert not any(shows_old(number, ACTIVE) for number in NUMBERS)


@pytest.mark.parametrize(
    ("new", "old", "action"),
    [
        ((12, 3), (5, 10), "keep"),
        ((5, 10), (12, 3), "back"),
        ((5, 5), (5, 5), None),
        ((4, 0), (0, 9), None),  # too few
        ((5, 0), (0, 5), "keep"),
        ((21, 19), (20, 20), "keep"),  # long enough: the likelier one
        ((20, 20), (21, 19), "back"),
    ],
)
def test_a_changed_skill_stays_or_goes_back(new: tuple[int, int], old: tuple[int, int], action: str | None) -> None:
    told = canary(versions(new, old), 2, 1)
    assert (told.action if told else None) == action


def test_only_matches_that_were_shown_one_of_both_versions_decide_between_them() -> None:
    """Else 20 bad ones that were withheld, or were shown a version long gone, would count for the old one."""
    known = versions((9, 6), (5, 10))
    withheld_ones = trials(shown=(0, 0), away=(0, 20), version=2)
    long_gone = trials(shown=(0, 20), away=(0, 0), version=7)
    assert canary(known + withheld_ones + long_gone, 2, 1) == canary(known, 2, 1)


def test_a_match_of_the_moment_of_the_change_counts() -> None:
    found = [replace(trial, at="2026-01-02") for trial in trials(shown=(3, 1), away=(1, 1))]
    assert lifts(found, {"helper": replace(ACTIVE, updated_at="2026-01-02")})["helper"].tally == tally(found)
