"""The controller in numpy. That it equals the trainer's is tested where torch is: tests/training."""

from __future__ import annotations

import hashlib
import json
import math
import struct

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


def test_scores_and_value_are_those_of_the_equations_worked_out_number_by_number() -> None:
    w = {name: value.astype(np.float64).tolist() for name, value in weights(0.3).items()}
    controller = Controller(weights(0.3), msgspec.json.decode(files()[1], type=Manifest))
    spans = [observe(span(text), MemoryBank(), []) for text in ("Sailing boats", "We went camping")]
    skills = skill_inputs(VIEWS).astype(np.float64).tolist()
    h, c = [0.0] * HIDDEN, [0.0] * HIDDEN
    for place, seen in enumerate(each.astype(np.float64).tolist() for each in spans):
        into = layer(w["lstm.weight_ih_l0"], seen, w["lstm.bias_ih_l0"])
        again = layer(w["lstm.weight_hh_l0"], h, w["lstm.bias_hh_l0"])
        gates = [one + other for one, other in zip(into, again, strict=True)]
        for unit in range(HIDDEN):
            i, f, g, o = gates[unit::HIDDEN]
            c[unit] = sigmoid(f) * c[unit] + sigmoid(i) * math.tanh(g)
            h[unit] = sigmoid(o) * math.tanh(c[unit])
        query = layer(w["query.weight"], h, w["query.bias"])
        scores = []
        for skill in skills:
            key = map(math.tanh, layer(w["key.weight"], skill, w["key.bias"]))
            near = math.fsum(a * b for a, b in zip(skill[:HASHED_DIM], seen[:HASHED_DIM], strict=True))
            product = math.fsum(a * b for a, b in zip(key, query, strict=True))
            scores.append(product / math.sqrt(KEY) + w["near"][0] * near)
        assert controller.scores(spans[place], place == 0, VIEWS) == pytest.approx(scores, abs=1e-5)
        inner = [math.tanh(each) for each in layer(w["value1.weight"], h, w["value1.bias"])]
        assert controller.value() == pytest.approx(layer(w["value2.weight"], inner, w["value2.bias"])[0], abs=1e-5)


def layer(weight: list[list[float]], values: list[float], bias: list[float]) -> list[float]:
    rows = zip(weight, bias, strict=True)
    return [math.fsum(a * b for a, b in zip(row, values, strict=True)) + add for row, add in rows]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


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


def test_weights_are_written_as_safetensors() -> None:
    body = dump_weights({"b": np.asarray([[1.5, -2.0]], np.float32), "a": np.asarray([0.25], np.float32)})
    (size,) = struct.unpack("<Q", body[:8])
    assert json.loads(body[8 : 8 + size]) == {
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "F32", "shape": [1, 2], "data_offsets": [4, 12]},
    }
    assert size % 8 == 0  # readers map the numbers in place
    assert struct.unpack("<3f", body[8 + size :]) == (0.25, 1.5, -2.0)


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


@pytest.mark.parametrize("changed", [{}, {"k": 1}, {"k": 3}, {"embedding": "other"}, {"run": {"iteration": 9}}])
def test_a_manifest_that_was_changed_is_no_longer_that_of_its_weights(changed: dict[str, object]) -> None:
    told = msgspec.json.decode(files()[1], type=Manifest)
    body = dump_weights(weights(), told.header)
    (size,) = struct.unpack("<Q", body[:8])
    assert json.loads(body[8 : 8 + size])["__metadata__"] == {
        "format": "1", "embedding": "hashed", "dim": str(HASHED_DIM), "hidden": "3", "key": "2", "k": "2",
    }  # fmt: skip
    manifest = files(sha256=hashlib.sha256(body).hexdigest(), **changed)[1]
    if changed.keys() - {"run"}:
        with pytest.raises(StoreDamaged, match="not the one of its weights") as caught:
            Controller.from_files(body, manifest)
        assert caught.value.hint
    else:
        assert Controller.from_files(body, manifest).manifest.k == K


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
