"""What a run came to: its best beside the same run untrained, and beside what is in use, on the same held-back queries.

All are played as the hub plays episodes: the best skills of a controller, applied by the embedded executor. Of each
comparison the standard error of the paired differences is told, since the best of many evaluations is always a little
better by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from prowess.learning.memskill.affinity import view_skills
from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.keeper import PLAIN_RULES
from prowess.learning.memskill.play import Always, Policy
from prowess.training.batch import InUse
from prowess.training.controller import Greedy
from prowess.training.evaluation import Score, error_of, evaluate
from prowess.training.trainer import Trainer

__all__ = ["Outcome", "outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean rewards, and of the gain over each of the other two its standard error."""

    reward: float
    before: float
    before_error: float
    in_use: float | None = None
    in_use_error: float | None = None

    def told(self) -> dict[str, float]:
        """As fields of the event."""
        told = {"reward": self.reward, "reward_before": self.before, "before_error": self.before_error}
        if self.in_use is not None and self.in_use_error is not None:
            told |= {"reward_in_use": self.in_use, "in_use_error": self.in_use_error}
        return told


def outcome(trainer: Trainer, in_use: InUse | None) -> Outcome:
    """Compare the best of ``trainer`` with itself untrained, and with ``in_use``, on what it validates with."""
    best, settings, traces = trainer.best, trainer.settings, trainer.validate
    assert best is not None

    def scored(bank: Bank, policy: Policy) -> Score:
        return evaluate(traces, settings, view_skills(bank.skills, trainer.vectors), policy)

    made = scored(best.bank, Greedy(trainer.net_with(best.weights), settings.k))
    before = scored(trainer.begun, Greedy(trainer.net_with(None), settings.k))
    error = error_of(made.rewards - before.rewards)
    if in_use is None:
        return Outcome(made.reward, before.reward, error)
    other = scored(in_use.bank, in_use.controller or Always(*PLAIN_RULES))
    return Outcome(made.reward, before.reward, error, other.reward, error_of(made.rewards - other.rewards))
