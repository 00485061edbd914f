"""Words from missed evidence, proposals from words, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pytest
from trainkit import CHATTER, FACTS, PLACES, settings, talk

from prowess.learning.memskill import (
    Always,
    Bank,
    Limits,
    MemorySkill,
    Play,
    Question,
    Trace,
    Turn,
    Unit,
    conversation,
    hashed,
    judge,
    play_all,
    view_skills,
)
from prowess.learning.memskill.units import make_units
from prowess.learning.text import terms
from prowess.training.designer import Case, EmbeddedDesigner, Failed, Pool, Proposal, clusters, words_of
from prowess.training.evaluation import Score, is_level
from prowess.training.outcome import outcome
from prowess.training.trainer import Trainer
from prowess.training.words import telling_words

NEW = MemorySkill(name="new", description="", action="insert", instruction="x")
TRACES = {trace.id: trace for trace in (talk(1), talk(2), talk(3))}


def cases(*names: str) -> list[Case]:
    """Every query of these traces missed all of its evidence."""
    return [
        Case(name, place, tuple(min(group) for group in query.evidence), (), 0.0, 1)
        for name in names or TRACES
        for place, query in enumerate(TRACES[name].queries)
    ]


def units(*texts: str) -> list[Unit]:
    return list(make_units(texts, [f"s{n}" for n in range(len(texts))], hashed))


def test_telling_words_are_those_of_one_side_and_common_company_is_not_mistaken_for_the_reason() -> None:
    good = units(*[f"the red boat sails {word}" for word in "abcdef"])
    bad = units(*[f"the boat rests quietly {word}" for word in "abcdef"])
    owners = {id(unit): str(place % 3) for place, unit in enumerate([*good, *bad])}
    told = telling_words(good, bad, owners)
    assert set(told.wanted) == {"red", "sails"}  # "boat" is in both
    assert set(told.unwanted) == {"rests", "quietly"}


def test_words_of_one_episode_alone_are_left_out() -> None:
    good = units(*["the red boat zanzibar"] * 6, *["the red boat"] * 6)
    bad = units(*["the boat rests"] * 12)
    owners = {id(unit): "one" if "zanzibar" in unit.text else "two" for unit in [*good, *bad]}
    assert telling_words(good, bad, owners).wanted == ("red",)
    rare = {id(unit): str(place) for place, unit in enumerate([*good, *bad])}
    assert "zanzibar" in telling_words(good, bad, rare).wanted


def test_proposals_are_made_of_the_words_of_missed_evidence_and_constraints_of_idle_ones() -> None:
    (first, *_) = EmbeddedDesigner(0).propose(cases(), TRACES, Bank.initial(), [], 3)
    wanted, unwanted = set(words_of(first.skill.instruction)), set(words_of(first.skill.constraints))
    said = terms(" ".join(unit.text for t in TRACES.values() for span in t.spans for unit in span.units[:1]))
    assert {"recently", "somebody", "near"} <= wanted
    assert wanted <= set(said.values()) | {"dates", "names", *FACTS}
    assert unwanted & set(terms(" ".join(CHATTER)).values())
    assert not first.refines
    assert first.skill.action == "insert"


def test_other_evidence_makes_other_proposals() -> None:
    """So the words come from the evidence, not from a template: the same chatter, asked for, is what is proposed."""
    chatter = [
        Case(name, 0, tuple(u.sources[0] for s in t.spans for u in s.units if "wow" in u.text), (), 0.0, 1)
        for name, t in TRACES.items()
    ]
    (first, *_) = EmbeddedDesigner(0).propose(chatter, TRACES, Bank.initial(), [], 1)
    assert "wow" in words_of(first.skill.instruction)
    assert "recently" not in words_of(first.skill.instruction)


def long_talk(number: int, answer: str) -> Trace:
    """Every session's first turn has the fact between two sentences of chatter; ``answer`` is what is asked for."""
    turns, asked = [], []
    for session, place in enumerate(PLACES):
        said = f"{CHATTER[1].capitalize()}. Recently somebody moved to {place}. {CHATTER[2].capitalize()}."
        turns.append([Turn(f"{number}:{session}", said), Turn(f"{number}:{session}:1", CHATTER[3])])
        asked.append(Question(f"where did somebody move, {place}", (f"{number}:{session}",), answer or place))
    return conversation(f"long-{number}", turns, asked, hashed)


@pytest.mark.parametrize(("answer", "brief"), [("", True), ("nice, and moved, and how", False)])
def test_a_proposal_keeps_one_sentence_where_the_missed_evidence_answers_in_one(answer: str, brief: bool) -> None:
    traces = {trace.id: trace for trace in (long_talk(1, answer), long_talk(2, answer))}
    missed = [
        Case(name, place, tuple(min(group) for group in query.evidence), (), 0.0, 1)
        for name, trace in traces.items()
        for place, query in enumerate(trace.queries)
    ]
    (first,) = EmbeddedDesigner(0).propose(missed, traces, Bank.initial(), [], 1)
    again, one = "What comes again counts more.", "At most 1 sentence of each."
    words = first.skill.constraints.removesuffix(f" {one}")
    assert [each.constraints for each in (first.skill, *first.others)] == (
        [f"{words} {one}", f"{words} {again} {one}"] if brief else []
    ) + [words, f"{words} {again}"]
    # What stands beside the answer in the same turn is told apart from it only sentence by sentence.
    assert ("nice" in words_of(first.skill.instruction)) != brief
    assert "sentence" not in words_of(first.skill.constraints)


def test_a_proposal_like_a_skill_of_the_bank_refines_it() -> None:
    designer = EmbeddedDesigner(0)
    (first, *_) = designer.propose(cases(), TRACES, Bank.initial(), [], 1)
    bank = Bank.initial().with_skill(first.skill)
    (again, *_) = designer.propose(cases("talk-1", "talk-2"), TRACES, bank, [], 1)
    assert again.refines
    assert again.skill.name == first.skill.name


def test_what_was_tried_in_vain_is_not_proposed_again() -> None:
    designer = EmbeddedDesigner(0)
    (first, *_) = designer.propose(cases(), TRACES, Bank.initial(), [], 1)
    failed = [Failed(tuple(words_of(first.skill.instruction)), -0.1, 1)]
    assert all(each.skill != first.skill for each in designer.propose(cases(), TRACES, Bank.initial(), failed, 3))


def test_too_few_cases_propose_nothing() -> None:
    assert EmbeddedDesigner(0).propose(cases("talk-1")[:3], TRACES, Bank.initial(), [], 3) == []
    assert EmbeddedDesigner(0).propose([], TRACES, Bank.initial(), [], 3) == []


def test_clusters_hold_what_is_alike_and_the_same_each_time() -> None:
    boats = units(*[f"the red boat sails {n}" for n in "abcdefghij" * 5])
    trees = units(*[f"green trees grow tall {n}" for n in "abcdefghij" * 5])
    found = clusters([*boats, *trees], seed=1)
    assert sorted(len(group) for group in found) == [50, 50]
    assert {unit.text.split()[1] for unit in found[0]} in ({"red"}, {"trees"})
    assert [[u.text for u in group] for group in clusters([*boats, *trees], seed=1)] == [
        [u.text for u in group] for group in found
    ]
    assert clusters(boats[:20], seed=1) == []


def test_the_pool_keeps_the_newest_failure_of_each_query_and_forgets_what_went_well() -> None:
    trace, limits = talk(1), Limits()
    views = view_skills([MemorySkill(name="keep", description="", action="insert", instruction="Recently.")], hashed)
    budget = settings().budget
    empty = play_all(Play(trace, views, limits), Always("nothing"))
    pool = Pool(window=2)
    pool.note(trace, judge(empty, trace.queries, budget), 0.5, iteration=1)
    assert len(pool.cases) == len(trace.queries)
    assert pool.cases["talk-1/0"].missed == ("1:0:0",)
    full = play_all(Play(trace, views, limits), Always("keep"))
    answered = [asked.recall for asked in judge(full, trace.queries, budget).asked]
    assert sum(answered) >= 10
    pool.note(trace, judge(full, trace.queries, budget), 0.5, iteration=2)
    assert len(pool.cases) == answered.count(0.0)
    pool.note(trace, judge(empty, trace.queries, budget), 0.5, iteration=2)
    pool.note(talk(2), judge(empty, (), budget), 0.5, iteration=5)  # older than the window by now
    assert pool.cases == {}


TIGHT = [40]  # with more the chatter, which repeats itself, makes room by itself, and no skill is needed


def trainer(**changes: object) -> Trainer:
    return Trainer([talk(1), talk(2), talk(3)], [talk(4)], hashed, settings(**changes))


def test_training_adds_skills_that_help_and_says_so() -> None:
    run = trainer(iterations=4, design_every=1, evaluate_every=1, memory_tokens=TIGHT)
    told = [run.step() for _ in range(4)]
    assert sum(each.get("added", 0) for each in told) >= 1
    assert run.best is not None
    came_to = outcome(run, None)
    assert came_to.reward == pytest.approx(run.best.reward)
    assert came_to.reward > came_to.before
    assert len(run.best.bank.skills) > 4


class Versions:
    """A designer that proposes what memory cannot use, and beside it the same skill with words that it can."""

    def propose(self, *_: object) -> list[Proposal]:
        good, bad = (
            MemorySkill(name="versions", description="Keep.", action="insert", instruction=words)
            for words in ("Above all recently, somebody, near.", "Above all wow, thanks.")
        )
        return [Proposal(bad, False, 12, "for the test", (good,))]


def test_of_a_proposals_versions_the_one_that_helps_most_joins_the_bank() -> None:
    traces = [talk(1), talk(2), talk(3)]
    run = Trainer(traces, [talk(4)], hashed, settings(design_every=1, memory_tokens=TIGHT), designer=Versions())
    assert run.step()["added"] == 1
    added = run.state.bank.find("versions")
    assert added is not None
    assert added.instruction == "Above all recently, somebody, near."


def scored(*recalls: float) -> Score:
    mean = sum(recalls) / len(recalls)
    return Score(mean, mean, 0.0, np.asarray(recalls), np.asarray(recalls))


@pytest.mark.parametrize(
    ("one", "level"),
    [
        ((1.0, 0.0, 0.0, 1.0), True),  # the same
        ((1.0, 0.0, 0.0, 0.0), True),  # .25 apart, and .25 is the standard error of (0, 0, 0, 1)
        ((0.0, 0.0, 0.0, 0.0), False),  # .5 apart, with an error of .29
        ((0.9, -0.1, -0.1, 0.9), False),  # .1 apart, every time
    ],
)
def test_a_difference_within_its_standard_error_is_none(one: tuple[float, ...], level: bool) -> None:
    assert is_level(scored(*one), scored(1.0, 0.0, 0.0, 1.0)) is level


@pytest.mark.parametrize(
    ("before_others", "taught"),
    [((1.0, 1.0, 1.0, 0.0), "Always"), ((1.0, 1.0, 1.0, 1.0), "First"), ((0.0, 1.0, 0.0, 0.0), "Always")],
)
def test_a_skill_that_does_as_well_alone_is_taught_alone(
    before_others: tuple[float, ...], taught: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(_traces: object, _settings: object, _views: object, policy: object, *_: object) -> Score:
        by = {"Always": (1.0, 1.0, 0.0, 0.0), "First": before_others}
        return scored(*by.get(type(policy).__name__, (0.0,) * 4))

    ways: list[str] = []
    monkeypatch.setattr("prowess.training.trainer.evaluate", told)
    monkeypatch.setattr(Trainer, "_teach", lambda _self, way, _traces: ways.append(type(way).__name__))
    run = Trainer([talk(1)], [talk(4)], hashed, settings(design_every=1, memory_tokens=TIGHT), designer=Versions())
    assert run.step()["added"] == 1
    assert ways == [taught]


def test_the_best_is_chosen_by_validation_and_by_the_plays_since_the_last_one() -> None:
    run = trainer(evaluate_every=2, designer="none")
    first, second, third, fourth = [run.step() for _ in range(4)]
    scores = [
        (second["validation"] + (first["reward"] + second["reward"]) / 2) / 2,
        (fourth["validation"] + (third["reward"] + fourth["reward"]) / 2) / 2,
    ]
    assert run.best is not None
    assert run.best.score == pytest.approx(max(scores))
    assert run.best.iteration == (2 if scores[0] >= scores[1] else 4)
    assert run.best.reward == pytest.approx((second if scores[0] >= scores[1] else fourth)["validation"])


def test_a_stage_that_falls_behind_is_rolled_back_to_the_best_bank_and_its_attempt_remembered() -> None:
    run = trainer(evaluate_every=1)
    run.step()
    good = run.state.bank
    assert run.best is not None
    bad = MemorySkill(name="bad", description="Bad.", action="insert", instruction="Above all wow, nice, thanks.")
    run.state.bank = good.with_skill(bad)
    run.state.stage.began, run.state.stage.added, run.state.stage.best = 1, ("bad",), run.best.score - 0.5
    assert run._judge_stage()
    assert run.state.bank.find("bad") is None
    assert [attempt.words for attempt in run.state.failed] == [("wow", "nice", "thanks")]
    assert run.state.failed[0].gain == pytest.approx(-0.5)
    assert not run.optimizer.state  # what Adam gathered on the way that was taken back
    (group,) = run.optimizer.param_groups
    assert {id(each) for each in group["params"]} == {id(each) for each in run.net.parameters()}


def test_training_ends_early_when_rounds_bring_nothing() -> None:
    run = trainer(iterations=40, design_every=1, evaluate_every=1, patience=2, least_gain=1.0, design_rounds=100)
    count = 0
    while not run.finished:
        run.step()
        count += 1
    assert count < 40


def test_without_a_designer_the_bank_stays_and_without_a_controller_nothing_is_learned() -> None:
    plain = trainer(designer="none")
    for _ in range(4):
        plain.step()
    assert len(plain.state.bank.skills) == 4
    uniform = trainer(policy="uniform", designer="none")
    before = [value.detach().clone() for value in uniform.net.parameters()]
    uniform.step()
    assert all((a == b).all() for a, b in zip(before, uniform.net.parameters(), strict=True))


def test_an_iteration_plays_as_many_traces_as_it_was_told_though_there_are_fewer() -> None:
    played = list(trainer(rollouts=5)._rollouts(np.random.default_rng(0)))
    names = [trace.id for trace, _ in played]
    assert (len(names), set(names[:3]), len(set(names[3:]))) == (5, {"talk-1", "talk-2", "talk-3"}, 2)


def test_new_skills_get_a_bias_that_fades() -> None:
    run = trainer(new_skill_bias=2.0, new_skill_iterations=4)
    run.state.bank = run.state.bank.with_skill(
        MemorySkill(name="n", description="", action="insert", instruction="x"), 3
    )
    biases = []
    for iteration in (4, 6, 8, 20):
        run.state.iteration = iteration
        biases.append(run._bias().tolist())
    assert [row[-1] for row in biases] == [2.0, 1.0, 0.0, 0.0]
    assert all(row[:4] == [0.0] * 4 for row in biases)
