"""The net in torch and its export in numpy are the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from trainkit import talk

from prowess.learning.memskill import INITIAL, Controller, Limits, MemorySkill, Play, hashed, view_skills
from prowess.learning.memskill.vectors import HASHED_DIM
from prowess.training.controller import ControllerNet, Greedy, export, skills_tensor

CPU = torch.device("cpu")
NEW = MemorySkill(name="new", description="Trips.", action="insert", instruction="Above all trips and places.")


@pytest.mark.parametrize("hidden", [8, 256])
def test_numpy_equals_torch_over_a_whole_conversation_and_a_bank_that_grew(hidden: int) -> None:
    net = ControllerNet(HASHED_DIM, hidden, 64, seed=3)
    with torch.no_grad():
        for parameter in net.parameters():  # far from the near-uniform start
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    controller = Controller.from_files(*export(net, 2, "hashed", {}))
    views = view_skills([*INITIAL, NEW], hashed)
    play = Play(talk(1), views, Limits())
    seen, numpy_scores, numpy_values = [], [], []
    while (span := play.span) is not None:
        seen.append(play.observe())
        numpy_scores.append(controller.scores(seen[-1], span.first, views))
        numpy_values.append(controller.value())
        play.step([0])
    logits, values, _ = net(torch.from_numpy(np.stack(seen))[None], skills_tensor(views, CPU))
    assert np.abs(np.stack(numpy_scores) - logits[0].detach().numpy()).max() < 1e-5
    assert np.abs(np.asarray(numpy_values) - values[0].detach().numpy()).max() < 1e-5
    assert float(logits.detach().std()) > 0.05  # there was something to differ in


def test_the_policy_of_evaluation_is_the_one_that_is_exported() -> None:
    net = ControllerNet(HASHED_DIM, 8, 4, seed=3)
    views = view_skills(INITIAL, hashed)
    greedy, exported = Greedy(net, 2), Controller.from_files(*export(net, 2, "hashed", {}))
    play = Play(talk(1), views, Limits())
    while (span := play.span) is not None:
        seen = play.observe()
        chosen = greedy.choose(seen, span.first, views)
        assert chosen == exported.choose(seen, span.first, views)
        play.step(chosen)


def test_an_export_says_what_it_was_made_from() -> None:
    weights, manifest = export(ControllerNet(HASHED_DIM, 8, 4, 0), 2, "hashed", {"iteration": 5})
    told = json.loads(manifest)
    assert (told["embedding"], told["dim"], told["hidden"], told["key"], told["k"]) == ("hashed", HASHED_DIM, 8, 4, 2)
    assert told["run"] == {"iteration": 5}
    assert weights == export(ControllerNet(HASHED_DIM, 8, 4, 0), 2, "hashed", {})[0]


def test_the_first_policy_is_near_to_uniform() -> None:
    net = ControllerNet(HASHED_DIM, 64, 32, seed=0)
    views = view_skills(INITIAL, hashed)
    play = Play(talk(1), views, Limits())
    logits, _, _ = net(torch.from_numpy(play.observe())[None, None], skills_tensor(views, CPU))
    assert logits.softmax(-1).min() > 0.1
