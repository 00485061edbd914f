"""The controller is taught what a simulation showed to help."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from trainkit import settings, talk  # noqa: E402

from prowess.learning.memskill import Always, Limits, Play, hashed, play_all, view_skills  # noqa: E402
from prowess.learning.memskill.skills import INITIAL, MemorySkill  # noqa: E402
from prowess.training.controller import ControllerNet, Greedy, skills_tensor  # noqa: E402
from prowess.training.teaching import First, shown, teach  # noqa: E402
from prowess.training.trainer import Trainer  # noqa: E402

PLACES = MemorySkill(name="places", description="Places.", action="insert", instruction="Keep where somebody was.")
LIMITS = Limits(items=50, tokens=60)


def test_what_was_shown_is_chosen_afterwards() -> None:
    views = view_skills([*INITIAL, PLACES], hashed)
    net = ControllerNet(256, 16, 8, seed=0)
    trace = talk(1)
    lessons = shown(Play(trace, views, LIMITS), Always("places", "skip"), 2)
    assert [each.chosen.tolist() for each in lessons] == [[[4, 3]] * len(trace.spans)]
    skills = skills_tensor(views, torch.device("cpu"))
    first = teach(net, lessons, skills, 1)
    assert teach(net, lessons, skills, 200) < first
    play = Play(trace, views, LIMITS)
    play_all(play, Greedy(net, 2))
    assert set(play.used) == {(4, 3)}


def test_a_new_skill_comes_before_what_the_other_policy_chooses() -> None:
    views = view_skills([*INITIAL, PLACES], hashed)
    policy = First(Always("update", "insert"), 4, 2)
    play = Play(talk(1), views, LIMITS)
    assert policy.choose(play.observe(), True, views) == [4, 1]


def test_teaching_does_not_make_a_run_differ_from_itself() -> None:
    def weights() -> list[bytes]:
        trainer = Trainer([talk(1), talk(2)], [talk(3)], hashed, settings(iterations=2, design_every=1))
        while not trainer.finished:
            trainer.step()
        return [value.numpy().tobytes() for value in trainer.net.state_dict().values()]

    assert weights() == weights()
