"""Other embedding models, with a stand-in for sentence-transformers, which the base install doesn't have."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prowess.providers.embedding import Embedder, EmbeddingSettings, load
from prowess.providers.errors import EmbeddingFailed, ModelMissing


class Weights:
    """As much of a tensor as is asked for."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values, np.float32)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self

    def __getitem__(self, part: slice) -> Weights:
        return self

    def numpy(self) -> NDArray[np.float32]:
        return self.values


class Model:
    """Three dimensions: the length of the text, 1 and 0."""

    def __init__(self, name: str, **options: Any) -> None:
        if name == "unknown":
            raise OSError("not in the local cache")
        self.name = name
        self.options = options

    def state_dict(self) -> dict[str, Weights]:
        return {"w": Weights([1.0 if self.name == "a" else 2.0])}

    def encode(self, texts: list[str], **_: Any) -> NDArray[np.float64]:
        if "boom" in texts:
            raise RuntimeError("out of memory")
        return np.array([[len(text), 1, 0] for text in texts], np.float64)


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    models: list[Model] = []

    def transformer(name: str, **options: Any) -> Model:
        models.append(Model(name, **options))
        return models[-1]

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=transformer))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(set_num_threads=lambda count: None))
    return models


def loaded(model: str, **settings: Any) -> Embedder:
    embedder = load(EmbeddingSettings(model=model, **settings))
    assert embedder is not None
    return embedder


def test_rows_are_unit_vectors() -> None:
    assert loaded("a").dim == 3
    assert loaded("a").embed(["", "xxx"]).tolist() == [[0.0, 1.0, 0.0], pytest.approx([0.9486833, 0.3162278, 0.0])]


def test_the_name_changes_with_the_weights() -> None:
    first, second = loaded("a").name, loaded("b").name
    assert first.startswith("a@")
    assert first.partition("@")[2] != second.partition("@")[2]
    assert first == loaded("a").name


@pytest.mark.parametrize("allowed", [False, True])
def test_nothing_is_fetched_unless_allowed(made: list[Model], allowed: bool) -> None:
    loaded("a", allow_download=allowed)
    assert made[0].options["local_files_only"] is not allowed
    assert made[0].options["trust_remote_code"] is False


def test_a_model_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(ModelMissing, match="'unknown' cannot be loaded: not in the local cache") as caught:
        loaded("unknown")
    assert "allow downloads" in caught.value.hint
    with pytest.raises(ModelMissing) as caught:
        loaded("unknown", allow_download=True)
    assert "network" in caught.value.hint


def test_a_failing_model_is_translated() -> None:
    with pytest.raises(EmbeddingFailed, match="out of memory"):
        loaded("a").embed(["boom"])
