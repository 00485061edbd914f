"""Advantages and the update, against brute force and a problem whose best is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainkit import settings, talk

from prowess.learning.memskill import INITIAL, hashed, view_skills
from prowess.learning.memskill.play import observation_size
from prowess.learning.memskill.vectors import HASHED_DIM
from prowess.training.controller import ControllerNet, skills_tensor
from prowess.training.ppo import PPO, Normaliser, Stretch, explained_variance, gae, make_batch, update
from prowess.training.rollout import Episode, play_together, stretches
from prowess.training.selection import sequence_log_prob

CPU = torch.device("cpu")
VIEWS = view_skills(INITIAL, hashed)
SKILLS = skills_tensor(VIEWS, CPU)
NO_BIAS = torch.zeros(len(VIEWS))


def net(seed: int = 0) -> ControllerNet:
    return ControllerNet(HASHED_DIM, 8, 4, seed)


def played(controller: ControllerNet, bias: torch.Tensor = NO_BIAS) -> list[Episode]:
    told = settings()
    traces = [talk(1), talk(2, sessions=5)]
    generator = torch.Generator().manual_seed(3)
    return play_together(controller, traces, [told.limits[0]] * 2, VIEWS, bias, told.budget, 2, generator)


@pytest.mark.parametrize(("gamma", "lam"), [(0.9, 0.8), (1.0, 1.0), (0.99, 0.0)])
def test_advantages_are_the_weighted_sum_of_all_n_step_ones(gamma: float, lam: float) -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=6), rng.normal(size=6)
    after = np.append(values, 0.0)  # nothing follows the last span

    def brute(t: int) -> float:
        """(1 - lam) times the sum over n of lam^(n-1) times the n-step advantage; the longest has the rest."""
        total, longest = 0.0, 6 - t
        for n in range(1, longest + 1):
            returns = sum(gamma**i * rewards[t + i] for i in range(n)) + gamma**n * after[t + n]
            weight = lam ** (n - 1) * (1 - lam if n < longest else 1.0)
            total += weight * (returns - values[t])
        return total

    assert gae(rewards, values, gamma, lam) == pytest.approx([brute(t) for t in range(6)])


def test_the_normaliser_is_that_of_all_values_at_once() -> None:
    rng = np.random.default_rng(1)
    batches = [rng.normal(3, 2, size) for size in (5, 50, 1)]
    norm = Normaliser()
    norm.count = 0.0
    for batch in batches:
        norm.update(batch)
    every = np.concatenate(batches)
    assert (norm.mean, norm.var) == (pytest.approx(every.mean()), pytest.approx(every.var()))
    assert norm.outward(norm.inward(every)) == pytest.approx(every)


def test_before_any_step_the_ratio_is_one_though_the_update_runs_whole_sequences() -> None:
    controller, bias = net(), torch.tensor([0.0, 0.7, 0.0, 0.0])
    sequences = stretches(played(controller, bias), PPO(), Normaliser())
    batch = make_batch(sequences, CPU)
    with torch.no_grad():
        logits, values, _ = controller(batch.seen, SKILLS)
        log_probs = sequence_log_prob(logits + bias, batch.chosen)
    assert float((log_probs - batch.log_probs)[batch.mask].abs().max()) < 1e-5
    assert float((values - batch.values)[batch.mask].abs().max()) < 1e-5
    assert batch.mask.sum(1).tolist() == [24, 10]


def test_an_episode_that_begins_is_a_sequence_of_its_own() -> None:
    episode = played(net())[0]
    spans = list(episode.play.trace.spans)
    spans[10] = replace(spans[10], first=True)
    episode.play.trace = replace(episode.play.trace, spans=tuple(spans))
    assert [len(each.seen) for each in stretches([episode], PPO(), Normaliser())] == [10, 14]


def test_the_reward_is_spread_over_the_spans_without_changing_its_sum() -> None:
    episode = played(net())[0]
    episode.values = [0.0] * len(episode.seen)
    told = PPO(gamma=1.0, gae_lambda=1.0)
    (stretch,) = stretches([episode], told, Normaliser())
    assert stretch.advantages[0] == pytest.approx(episode.worth.reward, abs=1e-6)
    assert episode.worth.reward > 0


def test_what_values_explain_is_told_in_units_of_reward_from_the_first_rollout_on() -> None:
    episode, told = played(net())[0], PPO(gamma=1.0, gae_lambda=1.0)  # so that returns do not depend on values
    episode.values = [0.0] * len(episode.seen)
    (first,) = stretches([episode], told, Normaliser())
    returns = first.advantages  # nothing was taken off
    for share, explained in ((0.0, 0.0), (1.0, 1.0), (0.5, 0.75), (2.0, 0.0), (3.0, -3.0)):
        episode.values = [float(each) for each in share * returns]
        norm = Normaliser()
        sequences = stretches([episode], told, norm)
        assert explained_variance(sequences, norm.spread) == pytest.approx(explained, abs=1e-4)


def test_the_first_advantages_are_of_the_rewards_alone() -> None:
    episodes, told = played(net(seed=1)), PPO()
    found = np.concatenate([each.advantages for each in stretches(episodes, told, Normaliser())])
    for episode in episodes:
        episode.values = [0.0] * len(episode.seen)
    alone = np.concatenate([each.advantages for each in stretches(episodes, told, Normaliser())])
    assert found == pytest.approx(alone, abs=1e-7)
    assert alone.std() > 0


def bandit(seen: np.ndarray, chosen: np.ndarray, good: np.ndarray, controller: ControllerNet) -> Stretch:
    """One span a sequence: reward 1 for drawing the good skill first."""
    with torch.no_grad():
        logits, values, _ = controller(torch.from_numpy(seen)[None], SKILLS)
        log_probs = sequence_log_prob(logits[0], torch.from_numpy(chosen))
    rewards = (chosen[:, 0] == good).astype(np.float32)
    value = values[0].numpy()
    return Stretch(seen, chosen, log_probs.numpy(), value, rewards - value, rewards)


def test_an_update_makes_rewarded_choices_likelier_and_stops_at_the_target() -> None:
    controller = net()
    optimizer = torch.optim.Adam(controller.parameters(), lr=1e-2)
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(1, observation_size(HASHED_DIM))).astype(np.float32)
    one = [np.asarray([[pick, (pick + 1) % 4]]) for pick in (0, 1, 2, 3)]
    before = float(controller(torch.from_numpy(seen)[None], SKILLS)[0].detach().softmax(-1)[0, 0, 1])
    sequences = [bandit(seen, chosen, np.asarray([1]), controller) for chosen in one]
    told = update(controller, optimizer, sequences, SKILLS, NO_BIAS, PPO(epochs=20, target_kl=0.01), rng)
    after = float(controller(torch.from_numpy(seen)[None], SKILLS)[0].detach().softmax(-1)[0, 0, 1])
    assert after > before + 0.02
    assert told["epochs"] < 20  # the policy had moved enough
    assert told["approx_kl"] > 0
    assert np.isfinite(list(told.values())).all()


def test_an_update_is_the_same_to_the_bit_for_the_same_seed() -> None:
    def weights() -> list[bytes]:
        controller = net()
        optimizer = torch.optim.Adam(controller.parameters(), lr=1e-3)
        sequences = stretches(played(controller), PPO(), Normaliser())
        update(controller, optimizer, sequences, SKILLS, NO_BIAS, PPO(), np.random.default_rng(5))
        return [value.detach().numpy().tobytes() for value in controller.parameters()]

    assert weights() == weights()
