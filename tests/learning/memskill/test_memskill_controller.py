"""The controller in numpy. That it equals the trainer's is tested where torch is: tests/training."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np
import pytest
from memkit import span, view

from prowess.learning.memskill import Controller, Limits, Manifest, MemoryBank, Play
from prowess.learning.memskill.controller import dump_weights, skill_inputs
from prowess.learning.memskill.play import UniformRandom, observation_size, observe, play_all
from prowess.learning.memskill.units import Trace, Vector
from prowess.learning.memskill.vectors import HASHED_DIM
from prowess.storage.errors import StoreDamaged

HIDDEN, KEY, K = 3, 2, 2


def weights(scale: float = 0.1) -> dict[str, Vector]:
    rng = np.random.default_rng(1)
    size = observation_size(HASHED_DIM)
    shapes = {
        "lstm.weight_ih_l0": (4 * HIDDEN, size),
        "lstm.weight_hh_l0": (4 * HIDDEN, HIDDEN),
        "lstm.bias_ih_l0": (4 * HIDDEN,),
        "lstm.bias_hh_l0": (4 * HIDDEN,),
        "query.weight": (KEY, HIDDEN),
        "query.bias": (KEY,),
        "key.weight": (KEY, HASHED_DIM + 4),
        "key.bias": (KEY,),
        "near": (1,),
        "value1.weight": (KEY, HIDDEN),
        "value1.bias": (KEY,),
        "value2.weight": (1, KEY),
        "value2.bias": (1,),
    }
    return {name: (scale * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def files(**changes: object) -> tuple[bytes, bytes]:
    body = dump_weights(weights())
    told = {"format": 1, "embedding": "hashed", "dim": HASHED_DIM, "hidden": HIDDEN, "key": KEY, "k": K}
    return body, msgspec.json.encode({**told, "sha256": hashlib.sha256(body).hexdigest(), **changes})


VIEWS = [view("camp", instruction="Camping."), view("sail", instruction="Sailing boats."), view("none", action="skip")]


def test_the_skill_nearest_to_the_span_wins_where_only_nearness_counts() -> None:
    only = {name: np.zeros_like(value) for name, value in weights().items()} | {"near": np.ones(1, np.float32)}
    controller = Controller(only, msgspec.json.decode(files()[1], type=Manifest))
    said = span("Sailing boats on the sea")
    scores = controller.scores(observe(said, MemoryBank(), []), True, VIEWS)
    assert scores == pytest.approx([float(each.vector @ said.vector) for each in VIEWS], abs=1e-6)
    assert controller.choose(observe(said, MemoryBank(), []), True, VIEWS)[0] == 1


def test_the_lstm_remembers_spans_until_an_episode_begins() -> None:
    controller = Controller.from_files(*files())
    seen = observe(span("Sailing boats"), MemoryBank(), [])
    fresh = controller.scores(seen, True, VIEWS)
    later = controller.scores(seen, False, VIEWS)
    assert np.abs(fresh - later).max() > 1e-4
    assert controller.scores(seen, True, VIEWS) == pytest.approx(fresh)


def test_it_scores_skills_that_it_never_saw() -> None:
    controller = Controller.from_files(*files())
    seen = observe(span("Sailing boats"), MemoryBank(), [])
    scores = controller.scores(seen, True, [*VIEWS, view("new", instruction="Anchors and sails.")])
    assert scores[:3] == pytest.approx(controller.scores(seen, True, VIEWS))
    assert scores.shape == (4,)


def test_skills_are_seen_as_their_vector_and_action() -> None:
    inputs = skill_inputs(VIEWS)
    assert inputs.shape == (3, HASHED_DIM + 4)
    assert inputs[:, HASHED_DIM:].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]


def test_equal_weights_make_equal_files() -> None:
    assert dump_weights(weights()) == dump_weights(dict(reversed(weights().items())))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sha256": "0" * 64}, "not those of its manifest"),
        ({"format": 2}, "format 2"),
        ({"hidden": 4}, "other shapes"),
        ({"dim": None}, "manifest"),
    ],
)
def test_a_damaged_export_is_refused_with_a_hint(change: dict[str, object], says: str) -> None:
    with pytest.raises(StoreDamaged, match=says) as caught:
        Controller.from_files(*files(**change))
    assert caught.value.hint


def test_weights_that_are_no_archive_or_no_numbers_are_refused() -> None:
    body = b"not an archive"
    with pytest.raises(StoreDamaged, match="cannot be read"):
        Controller.from_files(body, files(sha256=hashlib.sha256(body).hexdigest())[1])
    bad = dump_weights(weights() | {"near": np.asarray([np.nan], np.float32)})
    with pytest.raises(StoreDamaged, match="no number"):
        Controller.from_files(bad, files(sha256=hashlib.sha256(bad).hexdigest())[1])


def test_a_play_asks_the_policy_for_every_span_and_notes_what_was_done() -> None:
    spans = (span("We went camping", first=True), span("Sailing boats", prefix="v"))
    play = Play(Trace("t", spans, ()), VIEWS, Limits())
    memory = play_all(play, Controller.from_files(*files()))
    assert len(play.used) == len(play.done) == 2
    assert all(len(set(chosen)) == K for chosen in play.used)
    assert {source for item in memory.items.values() for source in item.sources} <= {"u0", "v0"}


def test_random_choices_follow_the_seed_and_repeat_no_skill() -> None:
    def chosen(seed: int) -> list[list[int]]:
        policy = UniformRandom(2, seed)
        return [policy.choose(np.zeros(1, np.float32), False, VIEWS) for _ in range(50)]

    assert chosen(1) == chosen(1) != chosen(2)
    assert {tuple(pair) for pair in chosen(1)} == {(a, b) for a in range(3) for b in range(3) if a != b}
