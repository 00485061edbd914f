"""The controller without torch: which memory skills to apply to a span, from weights that the trainer exported.

The state (``play.observe``) goes through an LSTM over an episode's spans; every skill is encoded from the vector of its
text and its action, and scored against the LSTM's output, so that the bank may grow without new weights. The weights
are a file in the safetensors format (a length, a header in JSON, the numbers), which holds nothing that could run, and
a manifest (JSON) says what they were made for; the header says the same, so that the file's hash covers it. All in
float32, as in the trainer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.play import observation_size
from prowess.learning.memskill.skills import ACTIONS
from prowess.learning.memskill.units import Vector
from prowess.storage.errors import StoreDamaged

__all__ = ["FORMAT", "Controller", "Manifest", "dump_weights", "skill_inputs"]

FORMAT = 1
_HEADER = "__metadata__"  # as the format calls it


class _Entry(msgspec.Struct, frozen=True):
    dtype: Literal["F32"]
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What the weights are for. ``embedding`` names the model of the vectors, ``dim`` their length; ``k`` skills are
    chosen for a span. ``sha256`` is the weights file's.
    """

    format: int
    embedding: str
    dim: int
    hidden: int
    key: int
    k: int
    sha256: str
    run: dict[str, str | int | float | None] = {}

    @property
    def header(self) -> dict[str, str]:
        """What the weights file says of itself too: all that decides how the weights are used."""
        return {name: str(getattr(self, name)) for name in ("format", "embedding", "dim", "hidden", "key", "k")}


def skill_inputs(views: Sequence[View]) -> Vector:
    """What the controller sees of the skills: text vector and action, shape (skills, dim + 4)."""
    kinds = np.asarray([[view.action == action for action in ACTIONS] for view in views], np.float32)
    return np.concatenate([np.stack([view.vector for view in views]), kinds], axis=1)


def dump_weights(weights: Mapping[str, Vector], header: Mapping[str, str] | None = None) -> bytes:
    """The weights as a file, the same bytes for the same weights and the same ``header`` (a manifest's)."""
    entries: dict[str, Any] = {_HEADER: dict(sorted(header.items()))} if header else {}
    parts: list[bytes] = []
    end = 0
    for name in sorted(weights):
        part = np.ascontiguousarray(weights[name], "<f4").tobytes()
        entries[name] = _Entry(dtype="F32", shape=weights[name].shape, data_offsets=(end, end + len(part)))
        parts.append(part)
        end += len(part)
    head = msgspec.json.encode(entries)
    head += b" " * (-len(head) % 8)
    return b"".join([len(head).to_bytes(8, "little"), head, *parts])


def load_weights(content: bytes) -> tuple[dict[str, Vector], dict[str, str]]:
    """Weights and header as ``dump_weights`` wrote them; earlier versions wrote no header. Raises StoreDamaged."""
    size = int.from_bytes(content[:8], "little")
    body = content[8 + size :]
    try:
        parts = msgspec.json.decode(content[8 : 8 + size], type=dict[str, msgspec.Raw])
        header = msgspec.json.decode(parts.pop(_HEADER, b"{}"), type=dict[str, str])
        entries = {name: msgspec.json.decode(part, type=_Entry) for name, part in parts.items()}
        return {
            name: np.frombuffer(body[slice(*entry.data_offsets)], "<f4").reshape(entry.shape).astype(np.float32)
            for name, entry in entries.items()
        }, header
    except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError) as error:
        raise StoreDamaged(f"the controller's weights cannot be read: {error}", hint=_HINT) from error


class Controller:
    """Greedy choice of the ``k`` best skills. Not for several threads at once: it carries the LSTM's state."""

    def __init__(self, weights: Mapping[str, Vector], manifest: Manifest) -> None:
        self.manifest = manifest
        self._w = _checked(weights, manifest)
        self.begin()

    @classmethod
    def from_files(cls, weights: bytes, manifest: bytes) -> Controller:
        """The controller in the two files of an export. Raises StoreDamaged."""
        try:
            told = msgspec.json.decode(manifest, type=Manifest)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise StoreDamaged(f"the controller's manifest: {error}", hint=_HINT) from error
        if told.format != FORMAT:
            raise StoreDamaged(f"the controller has format {told.format}, not {FORMAT}", hint=_HINT)
        if hashlib.sha256(weights).hexdigest() != told.sha256:
            raise StoreDamaged("the controller's weights are not those of its manifest", hint=_HINT)
        numbers, header = load_weights(weights)
        if header and header != told.header:
            raise StoreDamaged("the controller's manifest is not the one of its weights", hint=_HINT)
        return cls(numbers, told)

    def begin(self) -> None:
        """Forget the spans before."""
        self._h = np.zeros(self.manifest.hidden, np.float32)
        self._c = np.zeros(self.manifest.hidden, np.float32)

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """The ``k`` skills of highest score, best first; of equal ones the earlier."""
        scores = self.scores(observation, first, views)
        return [int(index) for index in np.argsort(-scores, kind="stable")[: self.manifest.k]]

    def scores(self, observation: Vector, first: bool, views: Sequence[View]) -> Vector:
        """The logit of every skill for the next span, shape (skills,). Moves the LSTM on; ``first`` resets it."""
        if first:
            self.begin()
        w = self._w
        gates = w["lstm.weight_ih_l0"] @ observation + w["lstm.bias_ih_l0"]
        gates += w["lstm.weight_hh_l0"] @ self._h + w["lstm.bias_hh_l0"]
        into, forget, cell, out = np.split(gates, 4)
        self._c = _sigmoid(forget) * self._c + _sigmoid(into) * np.tanh(cell)
        self._h = _sigmoid(out) * np.tanh(self._c)
        skills = skill_inputs(views)
        keys = np.tanh(skills @ w["key.weight"].T + w["key.bias"])
        query = w["query.weight"] @ self._h + w["query.bias"]
        near = skills[:, : self.manifest.dim] @ observation[: self.manifest.dim]
        scores: Vector = keys @ query / np.float32(math.sqrt(self.manifest.key)) + w["near"] * near
        return scores

    def value(self) -> float:
        """The value head's (normalised) estimate for the span last scored."""
        hidden = np.tanh(self._w["value1.weight"] @ self._h + self._w["value1.bias"])
        return float((self._w["value2.weight"] @ hidden + self._w["value2.bias"])[0])


_HINT = "train again, or remove the controller; memory is then kept by the plain rules"


def _sigmoid(x: Vector) -> Vector:
    with np.errstate(over="ignore"):  # exp of a large number is infinite, and the sigmoid then 0, as it should be
        return np.float32(1) / (np.float32(1) + np.exp(-x))


def _checked(weights: Mapping[str, Vector], manifest: Manifest) -> dict[str, Vector]:
    size, h, d, key = observation_size(manifest.dim), manifest.hidden, manifest.dim, manifest.key
    shapes: dict[str, tuple[int, ...]] = {
        "lstm.weight_ih_l0": (4 * h, size),
        "lstm.weight_hh_l0": (4 * h, h),
        "lstm.bias_ih_l0": (4 * h,),
        "lstm.bias_hh_l0": (4 * h,),
        "query.weight": (key, h),
        "query.bias": (key,),
        "key.weight": (key, d + len(ACTIONS)),
        "key.bias": (key,),
        "near": (1,),
        "value1.weight": (key, h),
        "value1.bias": (key,),
        "value2.weight": (1, key),
        "value2.bias": (1,),
    }
    found = {name: value.shape for name, value in weights.items()}
    if found != shapes:
        raise StoreDamaged(f"the controller's weights have other shapes than its manifest says: {found}", hint=_HINT)
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise StoreDamaged("the controller's weights hold a value that is no number", hint=_HINT)
    return {name: np.asarray(value, np.float32) for name, value in weights.items()}
