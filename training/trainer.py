"""The training loop: rollouts, PPO, evaluation, and the designer's rounds, one iteration after the other.

Everything random in an iteration follows from the seed and the iteration's number, so that a run which is resumed goes
on as if it had never stopped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from prowess.learning.memskill.affinity import View, view_skills
from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.executor import Executor
from prowess.learning.memskill.memory import Limits
from prowess.learning.memskill.play import Always, Play, Policy, UniformRandom, play_all
from prowess.learning.memskill.reading import Reader
from prowess.learning.memskill.reward import Worth, judge
from prowess.learning.memskill.skills import MemorySkill
from prowess.learning.memskill.units import Trace, Vector, Vectors
from prowess.training.controller import ControllerNet, Greedy, skills_tensor, weights_of
from prowess.training.designer import Designer, EmbeddedDesigner, Failed, Pool, Proposal, words_of
from prowess.training.evaluation import Score, evaluate, is_level
from prowess.training.ppo import Normaliser, explained_variance, update
from prowess.training.rollout import play_together, stretches
from prowess.training.settings import Settings
from prowess.training.teaching import First, shown, teach

__all__ = ["Best", "Trainer"]

HARD_TRACES = 6  # with the most hard cases: those that proposals are tried on


@dataclass(slots=True)
class Best:
    """What did best in evaluation so far, and in which iteration. ``reward`` is on validation; ``score``, by which it
    was chosen, see ``Trainer._scored``.
    """

    score: float
    reward: float
    iteration: int
    bank: Bank
    weights: dict[str, Vector]


@dataclass(slots=True)
class Stage:
    """Since the designer's last change: the iteration it came in, what was added, the best evaluation so far."""

    began: int = 0
    added: tuple[str, ...] = ()
    best: float = -math.inf


@dataclass(slots=True)
class State:
    """All that a run has learned beside the net; ``checkpoint`` writes and reads it."""

    bank: Bank
    iteration: int = 0
    pool: Pool = field(default_factory=Pool)
    failed: list[Failed] = field(default_factory=list)
    stage: Stage = field(default_factory=Stage)
    rounds: int = 0
    fruitless: int = 0
    over: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


class Trainer:
    """One run over ``train``, evaluated on ``validate``. ``step`` does an iteration; see ``finished``."""

    def __init__(
        self,
        train: Sequence[Trace],
        validate: Sequence[Trace],
        vectors: Vectors,
        settings: Settings,
        *,
        bank: Bank | None = None,
        executor: Executor | None = None,
        designer: Designer | None = None,
        reader: Reader | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.settings = settings
        self.device = device or torch.device("cpu")
        self._train, self.validate = list(train), list(validate)
        self._by_name = {trace.id: trace for trace in train}
        self.vectors = vectors
        self._executor = executor
        self._reader = reader
        self._designer = designer or (EmbeddedDesigner(settings.seed) if settings.designer == "embedded" else None)
        self._dim = vectors([""]).shape[1]
        self.net = self.net_with(None).to(self.device)
        self.optimizer = self._adam()
        self.normaliser = Normaliser()
        self.begun = bank or Bank.initial(settings.most_skills)
        self.state = State(self.begun)
        self.best: Best | None = None
        self._seen_bank: Bank | None = None
        self._views: list[View] = []

    @property
    def finished(self) -> bool:
        """Whether all iterations are done, or nothing was gained for too long."""
        return self.state.over or self.state.iteration >= self.settings.iterations

    @property
    def views(self) -> list[View]:
        """The bank's skills made ready; a skill that did not change keeps what it knows."""
        bank = self.state.bank
        if self._seen_bank is None or self._seen_bank.skills != bank.skills:
            before = self._seen_bank.skills if self._seen_bank else ()
            known = dict(zip(before, self._views, strict=True))
            fresh = [skill for skill in bank.skills if skill not in known]
            known.update(zip(fresh, view_skills(fresh, self.vectors) if fresh else [], strict=True))
            self._views, self._seen_bank = [known[skill] for skill in bank.skills], bank
        return self._views

    def step(self) -> dict[str, float]:
        """One iteration; its metrics."""
        state, settings = self.state, self.settings
        state.iteration += 1
        metrics = self._learn()
        metrics["skills"] = float(len(state.bank.skills))
        if state.iteration % settings.evaluate_every == 0 or self.finished:
            metrics |= self._evaluate(metrics["reward"])
        if self._designer is not None and state.iteration % settings.design_every == 0 and not self.finished:
            metrics |= self._design(self._designer)
        state.history.append({"iteration": float(state.iteration), **metrics})
        return metrics

    # ---- the policy

    def policy(self) -> Policy:
        """What chooses skills when nothing is explored: the net's best, or the uniform policy of an ablation."""
        if self.settings.policy == "uniform":
            return UniformRandom(self.settings.k, self.settings.seed)
        return Greedy(self.net, self.settings.k)

    def net_with(self, weights: Mapping[str, Vector] | None) -> ControllerNet:
        """A net like the one that learns, on the CPU, with these weights; None: as it was before it learned."""
        net = ControllerNet(self._dim, self.settings.hidden, self.settings.key, self.settings.seed)
        if weights is not None:
            net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
        return net

    def _adam(self) -> torch.optim.Adam:
        return torch.optim.Adam(self.net.parameters(), lr=self.settings.ppo.learning_rate, eps=1e-5)

    def _learn(self) -> dict[str, float]:
        state, settings = self.state, self.settings
        random = np.random.default_rng([settings.seed, state.iteration])
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + state.iteration)
        pairs = list(self._rollouts(random))
        bias = self._bias()
        net = self.net
        if settings.policy == "uniform":
            return self._rehearse(pairs)
        episodes = play_together(
            net, [t for t, _ in pairs], [b for _, b in pairs], self.views, bias, settings.budget, settings.k,
            generator, self._executor, self._reader,
        )  # fmt: skip
        self._note_uses([(episode.play, episode.worth) for episode in episodes])
        sequences = stretches(episodes, settings.ppo, self.normaliser)
        skills = skills_tensor(self.views, self.device)
        told = update(net, self.optimizer, sequences, skills, bias, settings.ppo, random)
        return {
            "reward": _mean([each.worth.reward for each in episodes]),
            "recall": _mean([each.worth.recall for each in episodes]),
            "spans": float(sum(len(each.seen) for each in episodes)),
            **told,
            "explained_variance": explained_variance(sequences, self.normaliser.spread),
            **(self._reader.told() if self._reader else {}),
        }

    def _rehearse(self, pairs: Sequence[tuple[Trace, Limits]]) -> dict[str, float]:
        """The ablation without a controller: the same plays with random skills, and nothing learned from them."""
        policy = UniformRandom(self.settings.k, self.settings.seed * 1_000_003 + self.state.iteration)
        plays = [Play(trace, self.views, limits, self._executor) for trace, limits in pairs]
        done = [(play, judge(play_all(play, policy), play.trace.queries, self.settings.budget)) for play in plays]
        self._note_uses(done)
        spans = float(sum(len(play.used) for play in plays))
        return {
            "reward": _mean([w.reward for _, w in done]),
            "recall": _mean([w.recall for _, w in done]),
            "spans": spans,
        }

    def _rollouts(self, random: np.random.Generator) -> Iterator[tuple[Trace, Limits]]:
        """Traces and limits for one iteration: all of them in turn, in an order drawn anew."""
        pairs = [(trace, limits) for trace in self._train for limits in self.settings.limits]
        left = self.settings.rollouts
        while left > 0:
            for index in random.permutation(len(pairs))[:left]:
                yield pairs[index]
            left -= len(pairs)

    def _bias(self) -> Tensor:
        """What new skills get on top of their logits, fading over ``new_skill_iterations``: they must be tried."""
        settings, state = self.settings, self.state
        ages = [
            math.inf
            if state.bank.records[skill.name].initial
            else state.iteration - state.bank.records[skill.name].added
            for skill in state.bank.skills
        ]
        shares = [max(1 - (age - 1) / settings.new_skill_iterations, 0.0) for age in ages]
        return torch.tensor([settings.new_skill_bias * share for share in shares], device=self.device)

    def _note_uses(self, played: Sequence[tuple[Play, Worth]]) -> None:
        bank = self.state.bank
        for play, worth in played:
            counts: dict[int, int] = {}
            for used in play.used:
                for position in used:
                    counts[position] = counts.get(position, 0) + 1
            for position, times in sorted(counts.items()):
                bank = bank.used(play.views[position].name, worth.reward, self.state.iteration, times)
        self.state.bank = bank

    # ---- evaluation

    def evaluated(self) -> Score:
        """How the policy of now does on the validation traces."""
        return evaluate(self.validate, self.settings, self.views, self.policy(), self._executor)

    def _evaluate(self, reward: float) -> dict[str, float]:
        score = self.evaluated()
        scored = self._scored(score.reward, reward)
        stage, iteration = self.state.stage, self.state.iteration
        stage.best = max(stage.best, scored)
        if self.best is None or scored > self.best.score:
            self.best = Best(scored, score.reward, iteration, self.state.bank, weights_of(self.net))
        return {
            "validation": score.reward,
            "validation_recall": score.recall,
            "validation_f1": score.f1,
            "best": self.best.reward,
        }

    def _scored(self, validation: float, reward: float) -> float:
        """The mean of the reward on validation and in the plays since the last evaluation: where few queries validate,
        they alone pick a bank that a handful of them happened to like.
        """
        plays = [reward]
        for past in reversed(self.state.history):
            if "validation" in past:
                break
            plays.append(past["reward"])
        return (validation + _mean(plays)) / 2

    # ---- the designer

    def _design(self, designer: Designer) -> dict[str, float]:
        """Judge what the last round added, then propose, try and add."""
        state, settings = self.state, self.settings
        rolled_back = self._judge_stage()
        if state.rounds >= settings.design_rounds or state.over:
            return {"rolled_back": float(rolled_back)}
        state.rounds += 1
        self._refill()
        proposals = designer.propose(
            list(state.pool.cases.values()), self._by_name, state.bank, state.failed, settings.design_changes
        )
        added = self._those_that_help(proposals)
        state.stage = Stage(state.iteration, tuple(added))
        return {
            "rolled_back": float(rolled_back),
            "cases": float(len(state.pool.cases)),
            "proposed": float(len(proposals)),
            "added": float(len(added)),
        }

    def _judge_stage(self) -> bool:
        """Whether the stage that ends fell behind the best, so that bank and net went back to it."""
        state, settings, best = self.state, self.settings, self.best
        stage = state.stage
        if best is None or stage.best == -math.inf:
            return False
        gained = best.iteration > stage.began
        state.fruitless = 0 if gained else state.fruitless + 1
        state.over = state.fruitless >= settings.patience
        if gained or not stage.added or stage.best >= best.score - settings.least_gain:
            return False
        for name in stage.added:
            skill = state.bank.find(name)
            if skill is not None:
                words = tuple(words_of(skill.instruction))
                state.failed.append(Failed(words, stage.best - best.score, state.iteration))
        state.bank = best.bank
        self.net.load_state_dict(self.net_with(best.weights).state_dict())
        self.optimizer = self._adam()  # its moments are of the way that was taken back
        return True

    def _refill(self) -> None:
        """Play the training traces and note which queries fail."""
        self.state.pool.forget(self._by_name)
        for trace in self._train:
            for limits in self.settings.limits:
                memory = play_all(Play(trace, self.views, limits, self._executor), self.policy())
                worth = judge(memory, trace.queries, self.settings.budget)
                self.state.pool.note(trace, worth, self.settings.hard_below, self.state.iteration)

    def _those_that_help(self, proposals: Sequence[Proposal]) -> list[str]:
        """Try each on the hard cases, one after the other; the names of those that joined the bank."""
        hardest, added = self._hardest(), []
        before = self._simulated(hardest) if proposals else 0.0
        for proposal in proposals:
            name = self._tried(proposal, before, hardest)
            if name is not None:
                added.append(name)
                before = self._simulated(hardest)
        return added

    def _tried(self, proposal: Proposal, before: float, hardest: Sequence[Trace]) -> str | None:
        """The name of the proposal's version that helps most on the hard cases, which then joins the bank; None where
        none helps, which is remembered.
        """
        state, settings = self.state, self.settings
        if not (proposal.refines or state.bank.has_room):
            return None
        trials = [
            (evaluate(hardest, settings, views, way, self._executor), skill, way, views)
            for skill in (proposal.skill, *proposal.others)
            for way, views in self._ways(proposal, skill)
        ]
        best, skill, _, _ = max(trials, key=lambda trial: trial[0].recall)
        gain = best.recall - before
        if gain < settings.least_gain:
            state.failed.append(Failed(tuple(words_of(skill.instruction)), gain, state.iteration))
            return None
        way, views = next(trial[2:] for trial in trials if trial[1] is skill and is_level(trial[0], best))
        state.bank = state.bank.with_skill(skill, state.iteration)
        if not proposal.refines and len(self.views) == len(views):  # where an old one gave way, places have changed
            self._teach(way, hardest)
        return skill.name

    def _ways(self, proposal: Proposal, skill: MemorySkill) -> list[tuple[Policy, list[View]]]:
        """How a version is tried, and with which skills, the simplest way first: a new one alone, or before what the
        policy chooses; another version of a known one in its place.
        """
        (view,) = view_skills([skill], self.vectors)
        if proposal.refines:
            return [(self.policy(), [view if each.name == view.name else each for each in self.views])]
        views = [*self.views, view]
        first = First(self.policy(), len(self.views), self.settings.k)
        return [(Always(view.name, "skip"), views), (first, views)]

    def _teach(self, way: Policy, traces: Sequence[Trace]) -> None:
        settings = self.settings
        if settings.policy == "uniform" or not settings.teach_rounds:
            return
        plays = [Play(trace, self.views, limits, self._executor) for trace in traces for limits in settings.limits]
        lessons = [each for play in plays for each in shown(play, way, settings.k)]
        teach(self.net, lessons, skills_tensor(self.views, self.device), settings.teach_rounds)

    def _simulated(self, hardest: Sequence[Trace]) -> float:
        """Mean recall on the hardest traces as it is now."""
        return evaluate(hardest, self.settings, self.views, self.policy(), self._executor).recall

    def _hardest(self) -> list[Trace]:
        counts: dict[str, int] = {}
        for case in self.state.pool.cases.values():
            counts[case.trace] = counts.get(case.trace, 0) + 1
        names = sorted((name for name in counts if name in self._by_name), key=lambda name: (-counts[name], name))
        return [self._by_name[name] for name in names[:HARD_TRACES]]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
