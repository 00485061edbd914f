"""Checkpoints: everything that a run needs to go on to the bit, in one file that loads without running any code.

A line before what torch writes has its hash: torch does not notice a tensor that the disk changed.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from prowess.learning.memskill.bank import Bank
from prowess.storage.errors import Hinted
from prowess.training.designer import Failed, Pool
from prowess.training.files import read_plain, write_whole
from prowess.training.trainer import Best, Stage, State, Trainer

__all__ = ["FORMAT", "CheckpointDamaged", "CheckpointRefused", "load", "save"]

FORMAT = 2
MAGIC = b"prowess checkpoint "


class CheckpointRefused(Hinted):
    """The file is no checkpoint of such a run."""


class CheckpointDamaged(CheckpointRefused):
    """The file is not as it was written, or not there."""


class _SavedStage(msgspec.Struct):
    began: int
    added: tuple[str, ...]
    best: float | None


class _Saved(msgspec.Struct, kw_only=True):
    """What is not a tensor, as JSON within the checkpoint."""

    format: int
    settings: str
    bank: Bank
    iteration: int
    pool: Pool
    failed: list[Failed]
    stage: _SavedStage
    rounds: int
    fruitless: int
    over: bool
    history: list[dict[str, float]]
    normaliser: tuple[float, float, float]
    best_score: float = 0.0
    best_reward: float | None = None
    best_iteration: int = 0
    best_bank: Bank | None = None
    begun: Bank | None = None  # not in those of earlier versions


def save(trainer: Trainer, path: Path, settings: str) -> None:
    """Write the checkpoint whole or not at all. ``settings`` is the hash of what the run was told."""
    state, best, norm = trainer.state, trainer.best, trainer.normaliser
    stage = _SavedStage(state.stage.began, state.stage.added, None if np.isinf(state.stage.best) else state.stage.best)
    saved = _Saved(
        format=FORMAT,
        settings=settings,
        bank=state.bank,
        iteration=state.iteration,
        pool=state.pool,
        failed=state.failed,
        stage=stage,
        rounds=state.rounds,
        fruitless=state.fruitless,
        over=state.over,
        history=state.history,
        normaliser=(norm.mean, norm.var, norm.count),
        begun=trainer.begun,
    )
    tensors: dict[str, Any] = {"net": trainer.net.state_dict(), "optimizer": trainer.optimizer.state_dict()}
    if best is not None:
        saved.best_score, saved.best_reward = best.score, best.reward
        saved.best_iteration, saved.best_bank = best.iteration, best.bank
        tensors["best"] = {name: torch.from_numpy(value) for name, value in best.weights.items()}
    buffer = io.BytesIO()
    torch.save({**tensors, "state": msgspec.json.encode(saved).decode()}, buffer)
    content = buffer.getvalue()
    write_whole(path, _head(content) + content)


def load(trainer: Trainer, path: Path, settings: str) -> None:
    """Put ``trainer`` where the checkpoint was. Raises CheckpointRefused; a damaged one changes nothing."""
    tensors, saved = _read(path)
    if saved.settings != settings:
        raise CheckpointRefused(f"{path.name} is of a run with other settings", hint="resume it with its own")
    try:
        trainer.net.load_state_dict(tensors["net"])
        trainer.optimizer.load_state_dict(tensors["optimizer"])
    except (LookupError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointRefused(f"{path.name} does not fit: {error}", hint=_HINT) from error
    norm = trainer.normaliser
    norm.mean, norm.var, norm.count = saved.normaliser
    stage = saved.stage
    trainer.state = State(
        bank=saved.bank,
        iteration=saved.iteration,
        pool=saved.pool,
        failed=saved.failed,
        stage=Stage(stage.began, stage.added, -np.inf if stage.best is None else stage.best),
        rounds=saved.rounds,
        fruitless=saved.fruitless,
        over=saved.over,
        history=saved.history,
    )
    trainer.begun = saved.begun or trainer.begun  # something else may have come into use since
    trainer.best = None
    if saved.best_bank is not None and saved.best_reward is not None:
        weights = {name: value.numpy() for name, value in tensors["best"].items()}
        trainer.best = Best(saved.best_score, saved.best_reward, saved.best_iteration, saved.best_bank, weights)


_HINT = "begin a new run"


def _read(path: Path) -> tuple[Mapping[str, Any], _Saved]:
    content = _content(path)
    try:
        tensors = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        saved = msgspec.json.decode(tensors["state"], type=_Saved)
    except Exception as error:  # torch raises RuntimeError, pickle's, zip's and the system's errors
        raise CheckpointRefused(f"{path.name} cannot be read: {error}", hint=_HINT) from error
    if saved.format != FORMAT:
        raise CheckpointRefused(f"{path.name} has format {saved.format}, not {FORMAT}", hint=_HINT)
    return tensors, saved


def _content(path: Path) -> bytes:
    try:
        head, _, content = read_plain(path).partition(b"\n")
    except OSError as error:
        raise CheckpointDamaged(f"{path.name} cannot be read: {error.strerror or error}", hint=_HINT) from error
    if head + b"\n" != _head(content):
        raise CheckpointDamaged(f"{path.name} cannot be read: it is damaged, or no checkpoint", hint=_HINT)
    return content


def _head(content: bytes) -> bytes:
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n"
