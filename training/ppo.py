"""Proximal policy optimisation for the controller, in one file: advantages, value normalisation, the update.

Schulman et al. 2017 with the details of Huang et al. 2022 ("The 37 implementation details of PPO"), whose names for
the metrics are kept: docs/memskill.md defines each. What is particular here: an action is an ordered draw of k skills,
with the joint log-probability of ``selection``; and the LSTM begins each episode in the zero state, so an episode is
one sequence, and every minibatch runs its sequences anew from their beginning. No stored state can be stale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from prowess.learning.memskill.settings import PPO
from prowess.training.controller import ControllerNet
from prowess.training.selection import sequence_entropy, sequence_log_prob

__all__ = ["PPO", "Batch", "Normaliser", "Stretch", "explained_variance", "gae", "make_batch", "update"]


class Normaliser:
    """Running mean and variance of returns: the value head learns returns in units of their spread."""

    def __init__(self) -> None:
        self.mean, self.var, self.count = 0.0, 1.0, 1e-4

    def update(self, values: np.ndarray) -> None:
        """Take in a batch (Chan et al. 1979, the parallel algorithm)."""
        mean, var, count = float(values.mean()), float(values.var()), len(values)
        delta, total = mean - self.mean, self.count + count
        moment = self.var * self.count + var * count + delta**2 * self.count * count / total
        self.mean, self.var, self.count = self.mean + delta * count / total, moment / total, total

    @property
    def spread(self) -> float:
        return math.sqrt(max(self.var, 1e-8))

    def inward(self, values: np.ndarray) -> np.ndarray:
        """Returns to what the head learns."""
        return (values - self.mean) / self.spread

    def outward(self, values: np.ndarray) -> np.ndarray:
        """What the head says to returns."""
        return values * self.spread + self.mean


def gae(rewards: np.ndarray, values: np.ndarray, gamma: float, lam: float) -> np.ndarray:
    """Advantages of one trace that ends after its last span (Schulman et al. 2016, equation 16), shape (t,)."""
    advantages = np.zeros_like(rewards)
    last, following = 0.0, 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * following - values[t]
        last = delta + gamma * lam * last
        advantages[t], following = last, values[t]
    return advantages


@dataclass(slots=True)
class Stretch:
    """One stretch of spans that begins in the zero state: observations (t, size), draws (t, k), and (t,) each of the
    rollout's log-probabilities, its normalised values, the advantages and the normalised returns.
    """

    seen: np.ndarray
    chosen: np.ndarray
    log_probs: np.ndarray
    values: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray


@dataclass(slots=True)
class Batch:
    """Sequences padded to one length: ``mask`` is true where a span is. All of shape (n, t, …)."""

    seen: Tensor
    chosen: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    mask: Tensor


def make_batch(sequences: Sequence[Stretch], device: torch.device) -> Batch:
    """Pad. Padding comes last, so it changes nothing before it."""
    longest = max(len(each.seen) for each in sequences)

    def padded(name: str) -> Tensor:
        rows = [getattr(each, name) for each in sequences]
        stacked = np.zeros((len(rows), longest, *rows[0].shape[1:]), rows[0].dtype)
        for place, row in enumerate(rows):
            stacked[place, : len(row)] = row
        return torch.from_numpy(stacked).to(device)

    # Padded draws must be draws all the same, of different skills.
    chosen = padded("chosen")
    mask = torch.arange(longest, device=device)[None] < torch.tensor([[len(s.seen)] for s in sequences], device=device)
    chosen[~mask] = torch.arange(chosen.shape[-1], device=device)
    fields = ("seen", "log_probs", "values", "advantages", "returns")
    return Batch(**{name: padded(name) for name in fields}, chosen=chosen, mask=mask)


def update(
    net: ControllerNet,
    optimizer: torch.optim.Optimizer,
    sequences: Sequence[Stretch],
    skills: Tensor,
    bias: Tensor,
    settings: PPO,
    random: np.random.Generator,
) -> dict[str, float]:
    """Improve ``net`` on what a rollout gathered with it; the metrics, as means over the minibatches.

    ``bias`` (skills,) is what the rollout added to the logits. Stops early when the policy has moved beyond
    ``target_kl``.
    """
    device = skills.device
    # Long and short sequences apart, so that little is padding; the order of the groups is drawn anew every epoch.
    order = sorted(range(len(sequences)), key=lambda index: len(sequences[index].seen))
    count = min(settings.minibatches, len(order))
    every = np.concatenate([each.advantages for each in sequences])
    mean, spread = float(every.mean()), float(every.std()) + 1e-8
    told: list[dict[str, float]] = []
    epochs, stopped = 0, False
    for _ in range(settings.epochs):
        groups = np.array_split(np.asarray(order)[random.permutation(len(order))], count)
        for group in groups:
            batch = make_batch([sequences[index] for index in group], device)
            loss, metrics = _loss(net, batch, skills, bias, settings, mean, spread)
            told.append(metrics)
            if metrics["approx_kl"] > 1.5 * settings.target_kl:
                stopped = True
                break
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), settings.max_grad_norm)
            metrics["grad_norm"] = float(norm)
            optimizer.step()
        epochs += 1
        if stopped:
            break
    names = told[0].keys()
    means = {name: float(np.mean([each[name] for each in told if name in each])) for name in names}
    return {**means, "epochs": float(epochs)}


def _loss(
    net: ControllerNet, batch: Batch, skills: Tensor, bias: Tensor, settings: PPO, mean: float, spread: float
) -> tuple[Tensor, dict[str, float]]:
    logits, values, _ = net(batch.seen, skills)
    logits = logits + bias
    mask = batch.mask
    log_probs = sequence_log_prob(logits, batch.chosen)[mask]
    logratio = log_probs - batch.log_probs[mask]  # the rollout's own, from before any update
    ratio = logratio.exp()
    mb_advantages = (batch.advantages[mask] - mean) / spread
    surrogate = torch.min(ratio * mb_advantages, ratio.clamp(1 - settings.clip, 1 + settings.clip) * mb_advantages)
    policy_loss = -surrogate.mean()
    new, old, returns = values[mask], batch.values[mask], batch.returns[mask]
    clipped = old + (new - old).clamp(-settings.value_clip, settings.value_clip)
    value_loss = 0.5 * torch.max((new - returns) ** 2, (clipped - returns) ** 2).mean()
    entropy = sequence_entropy(logits)[mask].mean()
    loss = policy_loss + settings.value * value_loss - settings.entropy * entropy
    with torch.no_grad():
        metrics = {
            "policy_loss": float(policy_loss),
            "value_loss": float(value_loss),
            "entropy": float(entropy),
            "approx_kl": float(((ratio - 1) - logratio).mean()),
            "clipfrac": float(((ratio - 1).abs() > settings.clip).float().mean()),
            "ratio_off": float((ratio - 1).abs().max()),
        }
    return loss, metrics


def explained_variance(sequences: Sequence[Stretch], spread: float) -> float:
    """1 - Var(returns - values) / Var(returns) of a rollout, both in units of reward: ``spread`` is the normaliser's,
    as it normalised the returns. What is left after the values are the advantages. 0 where all returns are the same.
    """
    left = np.concatenate([each.advantages for each in sequences])
    returns = np.concatenate([each.returns for each in sequences]) * spread
    variance = float(returns.var())
    return 0.0 if variance == 0 else 1 - float(left.var()) / variance
