"""Rollouts: many traces played side by side with the same net, and what PPO needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.executor import Executor
from prowess.learning.memskill.memory import Limits
from prowess.learning.memskill.play import Play
from prowess.learning.memskill.reading import Reader, read
from prowess.learning.memskill.reward import Budget, Worth, credit, judge
from prowess.learning.memskill.units import Trace
from prowess.training.controller import ControllerNet, skills_tensor
from prowess.training.ppo import PPO, Normaliser, Stretch, gae
from prowess.training.selection import gumbel_top_k, sequence_log_prob

__all__ = ["Episode", "play_together", "stretches"]


@dataclass(slots=True)
class Episode:
    """One trace as it was played: per span what was seen, chosen and thought, and what it was worth."""

    play: Play
    seen: list[np.ndarray]
    chosen: list[np.ndarray]
    log_probs: list[float]
    values: list[float]
    worth: Worth


def play_together(
    net: ControllerNet,
    traces: Sequence[Trace],
    limits: Sequence[Limits],
    views: Sequence[View],
    bias: Tensor,
    budget: Budget,
    k: int,
    generator: torch.Generator,
    executor: Executor | None = None,
    reader: Reader | None = None,
) -> list[Episode]:
    """Play each trace under its limits with draws from the net, in step with each other, and ask its queries."""
    plays = [Play(trace, views, limit, executor) for trace, limit in zip(traces, limits, strict=True)]
    episodes = [Episode(play, [], [], [], [], Worth(0.0, 0.0, 0.0)) for play in plays]
    skills = skills_tensor(views, bias.device)
    state = (torch.zeros(1, len(plays), net.hidden, device=bias.device),) * 2
    with torch.no_grad():
        while active := [index for index, play in enumerate(plays) if play.span is not None]:
            state = _step(net, [episodes[index] for index in active], active, state, skills, bias, k, generator)
    for episode in episodes:
        memory = episode.play.memory
        worth = judge(memory, episode.play.trace.queries, budget)
        episode.worth = read(worth, memory, budget, reader) if reader else worth
    return episodes


def _step(
    net: ControllerNet,
    episodes: Sequence[Episode],
    active: Sequence[int],
    state: tuple[Tensor, Tensor],
    skills: Tensor,
    bias: Tensor,
    k: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """One span of every play that goes on. An episode that begins has the zero state."""
    rows = [episode.play.observe() for episode in episodes]
    first = torch.tensor([bool(e.play.span and e.play.span.first) for e in episodes], device=bias.device)
    hidden, cell = (part[:, list(active)] * ~first[None, :, None] for part in state)
    seen = torch.from_numpy(np.stack(rows)).to(bias.device)
    logits, values, (hidden, cell) = net(seen[:, None], skills, (hidden.contiguous(), cell.contiguous()))
    logits = logits[:, 0] + bias
    chosen = gumbel_top_k(logits, k, generator)
    log_probs = sequence_log_prob(logits, chosen)
    for index, episode in enumerate(episodes):
        picks = chosen[index].cpu().numpy()
        episode.seen.append(rows[index])
        episode.chosen.append(picks)
        episode.log_probs.append(float(log_probs[index]))
        episode.values.append(float(values[index, 0]))
        episode.play.step([int(pick) for pick in picks])
    whole = tuple(part.clone() for part in state)
    for part, new in zip(whole, (hidden, cell), strict=True):
        part[:, list(active)] = new
    return whole[0], whole[1]


def stretches(episodes: Sequence[Episode], settings: PPO, normaliser: Normaliser) -> list[Stretch]:
    """The sequences that PPO learns from, with advantages over whole traces; the normaliser takes in the returns.

    The reward is redistributed over a trace's spans by what the evidence from each earned.
    """
    made = []
    for episode in episodes:
        rewards = np.asarray(credit(episode.play.trace.spans, episode.worth))
        values = normaliser.outward(np.asarray(episode.values))
        advantages = gae(rewards, values, settings.gamma, settings.gae_lambda)
        made.append((episode, advantages, advantages + values))
    normaliser.update(np.concatenate([returns for _, _, returns in made]))
    return [
        stretch
        for episode, advantages, returns in made
        for stretch in _cut(episode, advantages, normaliser.inward(returns))
    ]


def _cut(episode: Episode, advantages: np.ndarray, returns: np.ndarray) -> list[Stretch]:
    """One stretch for each time that the state was reset."""
    firsts = [index for index, span in enumerate(episode.play.trace.spans) if span.first and index]
    columns = (
        np.stack(episode.seen),
        np.stack(episode.chosen),
        np.asarray(episode.log_probs, np.float32),
        np.asarray(episode.values, np.float32),
        advantages.astype(np.float32),
        returns.astype(np.float32),
    )
    return [Stretch(*parts) for parts in zip(*(np.split(column, firsts) for column in columns), strict=True)]
