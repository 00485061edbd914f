"""What a run learns from: ``trajectories.jsonl`` of the batch folder, turned into traces with vectors, and the memory
skills in ``bank`` that it begins with.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.controller import Controller
from prowess.learning.memskill.traces import histories, split_by_time
from prowess.learning.memskill.units import Trace, Vectors
from prowess.learning.memskill.vectors import HASHED, Cached, hashed
from prowess.providers.embedding import EmbeddingSettings, load
from prowess.storage.errors import Hinted, StoreDamaged
from prowess.storage.models import Trajectory
from prowess.training.files import read_plain
from prowess.training.settings import Settings

__all__ = ["BatchRefused", "Data", "InUse", "embedder", "read_batch", "read_trajectories"]


MOST_BYTES = 64_000_000  # of a file of the bank, as the server reads of them


class BatchRefused(Hinted):
    """There is nothing in the batch that one could learn from."""


@dataclass(frozen=True, slots=True)
class InUse:
    """The memory skills in use, and the controller that chooses among them; without one the plain rules do."""

    bank: Bank
    controller: Controller | None = None

    @property
    def name(self) -> str:
        """The hash of the controller's weights, "" without one."""
        return self.controller.manifest.sha256 if self.controller is not None else ""


@dataclass(frozen=True, slots=True)
class Data:
    """Traces to train on and later ones to validate with; ``sha256`` of the episodes that they were made from. ``bank``
    is what to begin with, None for the initial skills; ``in_use`` what the result has to be better than, where that can
    be played with these vectors.
    """

    train: list[Trace]
    validate: list[Trace]
    episodes: int
    sha256: str
    bank: Bank | None = None
    in_use: InUse | None = None


def read_trajectories(path: Path, most: int) -> list[Trajectory]:
    """The newest ``most`` episodes of the file, in its order. Raises BatchRefused."""
    try:
        lines = read_plain(path).splitlines()
    except OSError as error:
        raise BatchRefused(f"{path.name}: {error.strerror}", hint="--batch names the folder that has it") from error
    decoder = msgspec.json.Decoder(Trajectory)
    found: list[Trajectory] = []
    for number, line in enumerate(lines[-most:], start=max(len(lines) - most, 0) + 1):
        try:
            found.append(decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError) as error:
            hint = "one episode with its steps per line"
            raise BatchRefused(f"{path.name}, line {number}: {error}", hint=hint) from error
    return found


def read_batch(folder: Path, settings: Settings, vectors: Vectors, model: str) -> Data:
    """The traces in the folder, with ``vectors`` of ``model``. Raises BatchRefused where later episodes ask nothing of
    earlier ones.
    """
    trajectories = read_trajectories(folder / "trajectories.jsonl", settings.episodes)
    traces = histories(trajectories, vectors, settings.shape)
    if not traces:
        raise BatchRefused(
            f"of {len(trajectories)} episodes no successful one repeats a step of an earlier one",
            hint="there is nothing yet that a memory would be asked for; record and score more episodes",
        )
    train, validate = split_by_time(traces, settings.validation)
    bank = _read_bank(folder / "bank", settings)
    in_use = _read_in_use(folder / "controller", bank, model) if bank is not None else None
    return Data(train, validate, len(trajectories), _hash(trajectories), bank, in_use)


def _read_bank(folder: Path, settings: Settings) -> Bank | None:
    """The memory skills in use, as a person may have left them. Raises BatchRefused and InvalidInput."""
    if not folder.exists():
        return None
    files = {path.name: text for path in sorted(folder.iterdir()) if (text := _text(path)) is not None}
    bank = Bank.from_files(files, settings.most_skills).begun()
    if len(bank.skills) < settings.k:
        raise BatchRefused(
            f"of each span {settings.k} memory skills are chosen, and the bank has {len(bank.skills)}",
            hint="add some with `prowess memskill edit`, or lower the setting k",
        )
    return bank


def _read_in_use(folder: Path, bank: Bank, model: str) -> InUse | None:
    """``bank`` as it is in use; None where its controller cannot be read, or knows other vectors: the run is none the
    worse for it.
    """
    if not folder.exists():
        return InUse(bank)
    try:
        weights, manifest = (read_plain(folder / f"controller.{kind}", MOST_BYTES) for kind in ("safetensors", "json"))
        controller = Controller.from_files(weights, manifest)
    except (OSError, StoreDamaged):
        return None
    return InUse(bank, controller) if controller.manifest.embedding == model else None


def _text(path: Path) -> str | None:
    """None for what is no plain file."""
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EISDIR, errno.ENXIO):
            return None
        raise


def _hash(trajectories: Sequence[Trajectory]) -> str:
    digest = hashlib.sha256()
    for trajectory in trajectories:
        digest.update(msgspec.json.encode(trajectory))
    return digest.hexdigest()


def embedder(name: str, threads: int) -> tuple[Vectors, str]:
    """Vectors by the settings' name of an embedding model, cached, and the model's own name. Raises EmbeddingError."""
    model = load(EmbeddingSettings(model=name, threads=threads))
    if model is None:
        return Cached(hashed), HASHED
    return Cached(model.embed), model.name
