"""Teaching the controller what a simulation showed: choices of a policy, imitated by the net.

A new skill is tried on the hard cases by choosing it first wherever one can. Where that helps, the net is taught to do
so before PPO goes on: left to find it out by chance it takes hundreds of iterations, since one choice more or less of a
skill hardly changes a trace's reward. docs/memskill.md has what this is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.play import Play, Policy
from prowess.learning.memskill.units import Vector
from prowess.training.controller import ControllerNet
from prowess.training.selection import sequence_log_prob

__all__ = ["First", "Shown", "shown", "teach"]

RATE = 3e-3
SURE = 1.0  # nats per span: about 60 % for each of two picks; the rest is for PPO to try


@dataclass(frozen=True, slots=True)
class Shown:
    """One stretch of spans that begins in the zero state: observations (t, size) and choices (t, k)."""

    seen: np.ndarray
    chosen: np.ndarray


class First:
    """Another policy's choices among the skills it knows, with one new skill put before them."""

    def __init__(self, policy: Policy, position: int, k: int) -> None:
        self._policy, self._position, self._k = policy, position, k

    def begin(self) -> None:
        """See Policy."""
        self._policy.begin()

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """See Policy."""
        known = self._policy.choose(observation, first, views[: self._position])
        return [self._position, *known][: self._k]


def shown(play: Play, policy: Policy, k: int) -> list[Shown]:
    """What ``policy`` sees and chooses in a play, which is played to its end."""
    seen: list[Vector] = []
    chosen: list[list[int]] = []
    begins: list[int] = []
    policy.begin()
    while (span := play.span) is not None:
        if span.first and seen:
            begins.append(len(seen))
        seen.append(play.observe())
        picks = policy.choose(seen[-1], span.first, play.views)[:k]
        play.step(picks)
        chosen.append(picks)
    parts = zip(np.split(np.stack(seen), begins), np.split(np.asarray(chosen), begins), strict=True)
    return [Shown(*part) for part in parts]


def teach(net: ControllerNet, lessons: Sequence[Shown], skills: torch.Tensor, rounds: int) -> float:
    """Raise the probability of what was shown, for at most ``rounds`` passes; the last mean loss, nats per span.

    The steps are Adam's, with an optimizer of their own: that of PPO goes on as it was.
    """
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE, eps=1e-5)
    longest = max(len(each.seen) for each in lessons)
    seen = _padded([each.seen for each in lessons], longest).to(skills.device)
    chosen = _padded([each.chosen for each in lessons], longest)
    mask = torch.arange(longest)[None] < torch.tensor([[len(each.seen)] for each in lessons])
    chosen[~mask] = torch.arange(chosen.shape[-1])
    chosen, mask = chosen.to(skills.device), mask.to(skills.device)
    loss = np.inf
    for _ in range(rounds):
        logits, _, _ = net(seen, skills)
        wrong = -sequence_log_prob(logits, chosen)[mask].mean()
        loss = float(wrong.detach())
        if loss <= SURE:
            break
        optimizer.zero_grad()
        wrong.backward()
        optimizer.step()
    return loss


def _padded(rows: Sequence[np.ndarray], longest: int) -> torch.Tensor:
    widths = [[(0, longest - len(row)), *[(0, 0)] * (row.ndim - 1)] for row in rows]
    return torch.from_numpy(np.stack([np.pad(row, width) for row, width in zip(rows, widths, strict=True)]))
