"""Runs of the trainer that ended, as their files lie in a store's folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from prowess.learning.memskill import HASHED, Bank, Manifest, MemorySkill
from prowess.learning.memskill.controller import dump_weights
from prowess.learning.memskill.play import observation_size
from prowess.learning.memskill.vectors import HASHED_DIM
from prowess.server.trainer.runs import Run, RunFolder

__all__ = ["AT", "KEEP_PORTS", "controller", "write_run"]

AT = "2026-11-29T13:00:00.000Z"
KEEP_PORTS = MemorySkill(
    name="keep-ports", description="Keep ports.", action="insert", instruction="Above all ports, gateways."
)
HIDDEN, KEY = 4, 4


def controller(embedding: str = HASHED, k: int = 1) -> tuple[bytes, bytes]:
    """Without weight on anything every skill scores alike, so the first ``k`` are chosen."""
    size, dim = observation_size(HASHED_DIM), HASHED_DIM
    shapes: dict[str, tuple[int, ...]] = {
        "lstm.weight_ih_l0": (4 * HIDDEN, size), "lstm.weight_hh_l0": (4 * HIDDEN, HIDDEN),
        "lstm.bias_ih_l0": (4 * HIDDEN,), "lstm.bias_hh_l0": (4 * HIDDEN,),
        "query.weight": (KEY, HIDDEN), "query.bias": (KEY,), "key.weight": (KEY, dim + 4), "key.bias": (KEY,),
        "near": (1,), "value1.weight": (KEY, HIDDEN), "value1.bias": (KEY,), "value2.weight": (1, KEY),
        "value2.bias": (1,),
    }  # fmt: skip
    weights = dump_weights({name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    told = Manifest(
        format=1, embedding=embedding, dim=dim, hidden=HIDDEN, key=KEY, k=k, sha256=hashlib.sha256(weights).hexdigest()
    )
    return weights, msgspec.json.encode(told)


def write_run(
    home: Path, name: str, reward: float, before: float = 0.1, told: dict[str, Any] | None = None, **about: Any
) -> RunFolder:
    """A run that ended well, as its files lie there when the server starts; ``told`` is more of its result."""
    files = RunFolder(home / "runs" / name)
    files.make()
    weights, manifest = controller(**about)
    best = files.out / "best"
    (best / "bank").mkdir(parents=True)
    (best / "controller.safetensors").write_bytes(weights)
    (best / "controller.json").write_bytes(manifest)
    for file, text in Bank.initial().with_skill(KEEP_PORTS).to_files().items():
        (best / "bank" / file).write_text(text)
    result = {"reward": reward, "reward_before": before, "best": "best", **(told or {})}
    files.save(Run(id=name, started=AT, status="done", project="shop", result=result))
    return files
