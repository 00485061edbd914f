"""PPO alone on a small problem whose optimum is known: does it get there, and in how many steps?

Four kinds of spans come in random order; for each kind two of six skills in the right order are worth 1, the first
alone 0.5, anything else nothing, and every second span wants the answer to the kind *before* it, so that the LSTM has
to remember. The best policy earns 1 per span. One JSON line: the share of the optimum that the greedy policy reaches
after each stretch of steps, beside that of a uniform policy.

    python -I benchmarks/memskill/ppo_check.py [--seeds 3] [--steps 40000]

Needs torch (the ``train`` extra).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from _common import emit

from prowess.learning.memskill.play import observation_size
from prowess.training.controller import ControllerNet
from prowess.training.ppo import PPO, Normaliser, Stretch, gae, update
from prowess.training.selection import gumbel_top_k, sequence_log_prob

KINDS, SKILLS, LENGTH, EPISODES, K = 4, 6, 20, 16, 2
DIM = 8
TOLD = PPO(learning_rate=5e-3, gamma=0.5, entropy=0.1, target_kl=0.1, epochs=6)


class Problem:
    """Spans as random vectors of their kind; the answer to each kind is an ordered pair of skills."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = np.zeros((KINDS, observation_size(DIM)), np.float32)
        self.kinds[:, :DIM] = rng.normal(size=(KINDS, DIM)) / np.sqrt(DIM)
        self.answers = np.stack([rng.permutation(SKILLS)[:K] for _ in range(KINDS)])
        skills = rng.normal(size=(SKILLS, DIM + 4)).astype(np.float32)
        self.skills = torch.from_numpy(skills / np.linalg.norm(skills, axis=1, keepdims=True))

    def rewards(self, kinds: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """For draws (n, t, k) at spans of these kinds (n, t)."""
        asked = kinds.copy()
        asked[:, 1::2] = kinds[:, 0::2]  # every second span is about the one before it
        right = self.answers[asked] == chosen
        return 0.5 * right[..., 0] + 0.5 * right.all(-1)


def play(net: ControllerNet, problem: Problem, rng: np.random.Generator, generator: torch.Generator | None) -> tuple:
    """Episodes with draws from the net, or with its best skills without a generator."""
    kinds = rng.integers(KINDS, size=(EPISODES, LENGTH))
    seen = problem.kinds[kinds]
    with torch.no_grad():
        logits, values, _ = net(torch.from_numpy(seen), problem.skills)
        chosen = logits.topk(K).indices if generator is None else gumbel_top_k(logits, K, generator)
        log_probs = sequence_log_prob(logits, chosen)
    return seen, chosen.numpy(), log_probs.numpy(), values.numpy(), problem.rewards(kinds, chosen.numpy())


def solve(seed: int, steps: int) -> tuple[list[float], int | None]:
    """The greedy policy's share of the optimum over time, and the steps until it first reached 95 %."""
    problem, net = Problem(seed), ControllerNet(DIM, 32, 16, seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=TOLD.learning_rate, eps=1e-5)
    norm, rng, curve, reached = Normaliser(), np.random.default_rng(seed), [], None
    generator, bias = torch.Generator().manual_seed(seed), torch.zeros(SKILLS)
    for iteration in range(1, steps // (EPISODES * LENGTH) + 1):
        seen, chosen, log_probs, values, rewards = play(net, problem, rng, generator)
        outward = norm.outward(values)
        advantages = np.stack([gae(r, v, TOLD.gamma, TOLD.gae_lambda) for r, v in zip(rewards, outward, strict=True)])
        returns = advantages + outward
        norm.update(returns.ravel())
        columns = (
            seen,
            chosen,
            log_probs,
            values,
            advantages.astype(np.float32),
            norm.inward(returns).astype(np.float32),
        )
        rows = [Stretch(*(column[row] for column in columns)) for row in range(EPISODES)]
        update(net, optimizer, rows, problem.skills, bias, TOLD, rng)
        share = float(np.mean([play(net, problem, np.random.default_rng(n), None)[-1].mean() for n in range(4)]))
        curve.append(round(share, 3))
        if reached is None and share >= 0.95:
            reached = iteration * EPISODES * LENGTH
    return curve, reached


def main() -> None:
    """Print the line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40_000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    solved = {seed: solve(seed, given.steps) for seed in range(given.seeds)}
    emit(
        "ppo_check",
        {
            "steps": given.steps,
            "optimum_share": {seed: curve[-1] for seed, (curve, _) in solved.items()},
            "steps_to_95_percent": {seed: reached for seed, (_, reached) in solved.items()},
            "curve": {seed: curve[:: max(len(curve) // 10, 1)] for seed, (curve, _) in solved.items()},
            "uniform_share": round(0.5 / SKILLS + 0.5 / (SKILLS * (SKILLS - 1)), 3),
            "passed": all(curve[-1] >= 0.95 for curve, _ in solved.values()),
        },
    )


if __name__ == "__main__":
    main()
