"""The trainer's process: reads a batch, trains, tells events on stdout, and leaves when it is asked to.

docs/background.md has the protocol between it and the hub.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import signal
import stat
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from prowess.learning.memskill.bank import Bank
from prowess.providers.errors import ProviderError
from prowess.storage.errors import StoreError
from prowess.training import checkpoint
from prowess.training.batch import BatchRefused, Data, embedder, read_batch
from prowess.training.checkpoint import CheckpointDamaged, CheckpointRefused
from prowess.training.controller import export
from prowess.training.curves import draw, spark
from prowess.training.files import replace_folder, write_whole
from prowess.training.language import Language, open_language
from prowess.training.outcome import outcome
from prowess.training.settings import SettingsRefused, read_settings
from prowess.training.trainer import Trainer
from prowess.version import __version__

__all__ = ["Paths", "Run", "watch_input"]

# After SIGTERM an iteration may take that long to its end; less than the hub's patience before it kills.
LEAVE_SECONDS = 5.0
KEPT_CHECKPOINTS = 2  # the newest; the one before it, in case the disk damages a file
SHOWN_METRICS = (
    "reward", "recall", "validation", "best", "skills", "entropy", "approx_kl", "value_loss", "added", "judged",
    "judged_by_words",
)  # fmt: skip
COUNTS = ("skills", "added", "judged", "judged_by_words")


@dataclass(frozen=True, slots=True)
class Paths:
    """The command line."""

    batch: Path
    out: Path
    settings: Path
    resume: Path | None = None


def tell(event: str, **fields: Any) -> None:
    """One event, as one line, at once."""
    sys.stdout.buffer.write(msgspec.json.encode({"event": event, **fields}) + b"\n")
    sys.stdout.buffer.flush()


def watch_input() -> None:
    """End the process when its input ends: then whoever started it is gone. What counts is in the checkpoint.

    Only of a pipe or a socket somebody holds the other end. A terminal would stop a process that reads from it in the
    background, and what ``nohup`` or a timer gives ends at once.
    """
    try:
        kind = os.fstat(0).st_mode
    except OSError:  # it was started without
        return
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return

    def wait() -> None:
        # Not a buffered read: at the end of the process Python could not take its lock from this thread.
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class Run:
    """One run from its files to its files."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._stop = False
        self._began = time.monotonic()

    def ask_to_stop(self, *_: object) -> None:
        """Finish the iteration, write a checkpoint and end; without it where that takes long. For a signal handler.

        Whoever resumes the run repeats what was left from the last checkpoint, to the bit. All files are written whole.
        """
        if not self._stop:
            self._stop = True
            bound = threading.Timer(LEAVE_SECONDS, os._exit, (0,))
            bound.daemon = True
            bound.start()

    def main(self) -> int:
        """Run to the end; the exit code. What went wrong is told as an event."""
        try:
            return self._main()
        except (SettingsRefused, BatchRefused, CheckpointRefused, ProviderError, StoreError) as error:
            tell("error", message=f"{error}" + (f" (hint: {error.hint})" if error.hint else ""))
        except OSError as error:
            full = " (hint: free some space, then resume)" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
            tell("error", message=f"{error.filename or self._paths.out}: {error.strerror or error}{full}")
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            tell("error", message="out of memory (hint: raise train_mb, or lower the settings episodes and rollouts)")
        return 1

    def _main(self) -> int:
        settings = read_settings(self._paths.settings)
        threads = _threads(os.environ.get("OMP_NUM_THREADS", ""))
        device = _prepare_torch(threads)
        told = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
        self._paths.out.mkdir(parents=True, exist_ok=True)
        tell("progress", stage="embedding")
        vectors, model = embedder(settings.embedding, threads)
        data = read_batch(self._paths.batch, settings, vectors, model)
        with open_language(settings, vectors, self._paths.out) as language:
            trainer = Trainer(
                data.train, data.validate, vectors, settings, bank=data.bank,
                executor=language.executor, designer=language.designer, reader=language.reader, device=device,
            )  # fmt: skip
            if self._paths.resume is not None:
                _resume(trainer, self._paths.resume, told)
            # Only now: before the first iteration there is nothing to save, and SIGTERM may end the process at once.
            signal.signal(signal.SIGTERM, self.ask_to_stop)
            signal.signal(signal.SIGINT, self.ask_to_stop)
            self._save_manifest(trainer, data, told, model, threads)
            tell("progress", stage="learning")
            return self._train(trainer, told, model, data, language)

    def _train(self, trainer: Trainer, told: str, model: str, data: Data, language: Language) -> int:
        start = trainer.state.iteration
        while not trainer.finished:
            if self._stop:
                return 0  # told by the last checkpoint; without a result the run is not done
            began = time.monotonic()
            metrics = trainer.step()
            self._keep(trainer, told)
            self._tell_progress(trainer, metrics, time.monotonic() - began, start, language)
        self._finish(trainer, model, data, language)
        return 0

    # ---- files

    def _keep(self, trainer: Trainer, told: str) -> None:
        """The checkpoint of this iteration, and the metrics so far."""
        out, number = self._paths.out, trainer.state.iteration
        name = f"checkpoint-{number:05}.pt"
        checkpoint.save(trainer, out / name, told)
        write_whole(out / "metrics.jsonl", b"".join(msgspec.json.encode(row) + b"\n" for row in trainer.state.history))
        tell("checkpoint", file=name)
        for old in sorted(out.glob("checkpoint-*.pt"))[:-KEPT_CHECKPOINTS]:
            if old.name < name:
                old.unlink(missing_ok=True)

    def _save_manifest(self, trainer: Trainer, data: Data, told: str, model: str, threads: int) -> None:
        """What this run is made of: enough to repeat it to the bit on the same machine."""
        manifest = {
            "settings": msgspec.to_builtins(trainer.settings),
            "settings_sha256": told,
            "data_sha256": data.sha256,
            "bank_sha256": _hash_of(data.bank) if data.bank else None,
            "episodes": data.episodes,
            "traces": {"train": len(data.train), "validate": len(data.validate)},
            "embedding": model,
            "prowess": __version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
            "machine": {"system": platform.system(), "cpu": platform.machine(), "device": str(trainer.device)},
            "threads": threads,
            "resumed_at": trainer.state.iteration or None,
        }
        write_whole(self._paths.out / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))

    def _finish(self, trainer: Trainer, model: str, data: Data, language: Language) -> None:
        """Write the best controller and bank, draw the curves, tell the result."""
        out, best, state = self._paths.out, trainer.best, trainer.state
        assert best is not None  # the last iteration is always evaluated
        came_to = outcome(trainer, data.in_use)
        about: dict[str, str | int | float | None] = {
            "iteration": best.iteration,
            "reward": came_to.reward,
            "data_sha256": data.sha256,
        }
        weights, manifest = export(trainer.net_with(best.weights), trainer.settings.k, model, about)
        bank = {f"bank/{name}": text.encode() for name, text in best.bank.to_files().items()}
        replace_folder(out / "best", {"controller.safetensors": weights, "controller.json": manifest, **bank})
        write_whole(out / "curves.png", draw(state.history))
        tell(
            "result",
            best="best",
            **came_to.told(),
            iteration=best.iteration,
            iterations=state.iteration,
            skills=len(best.bank.skills),
            episodes=data.episodes,
            weights_sha256=hashlib.sha256(weights).hexdigest(),
            seconds=round(time.monotonic() - self._began, 1),
            **({"in_use_sha256": data.in_use.name} if data.in_use else {}),
            **language.spent(),
        )

    def _tell_progress(
        self, trainer: Trainer, metrics: dict[str, float], seconds: float, start: int, language: Language
    ) -> None:
        done, total = trainer.state.iteration, trainer.settings.iterations
        shown = {name: _shown(name, metrics[name]) for name in SHOWN_METRICS if name in metrics}
        left = (total - done) * (time.monotonic() - self._began) / max(done - start, 1)
        rate = metrics["spans"] / seconds if seconds > 0 else 0.0
        tell(
            "progress", iteration=done, of=total, **shown, spans_per_second=round(rate, 1), seconds_left=round(left),
            **language.spent(),
        )  # fmt: skip
        if sys.stderr.isatty():
            rewards = [row["reward"] for row in trainer.state.history]
            losses = [row["value_loss"] for row in trainer.state.history if "value_loss" in row]
            line = f"{done}/{total} reward {rewards[-1]:.3f} {spark(rewards)} value loss {spark(losses)}"
            sys.stderr.write(line + "\n")


def _resume(trainer: Trainer, path: Path, told: str) -> None:
    """Go on from the checkpoint, or where the disk damaged it from the one before."""
    try:
        checkpoint.load(trainer, path, told)
    except CheckpointDamaged:
        for older in sorted(path.parent.glob("checkpoint-*.pt"), reverse=True):
            if older.name < path.name:
                with suppress(CheckpointDamaged):
                    return checkpoint.load(trainer, older, told)
        raise


def _shown(name: str, value: float) -> float:
    return int(value) if name in COUNTS else round(value, 5)


def _hash_of(bank: Bank) -> str:
    return hashlib.sha256(msgspec.json.encode(bank.to_files())).hexdigest()


def _is_out_of_memory(error: Exception) -> bool:
    """torch has no type of its own for memory of the processor that cannot be had."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error)


def _threads(told: str) -> int:
    """How many threads ``OMP_NUM_THREADS`` allows: it may be a list, of which the first is for what is not nested."""
    first = told.partition(",")[0].strip()
    return max(int(first), 1) if first.isdecimal() and len(first) <= 4 else 1


def _prepare_torch(threads: int) -> torch.device:
    """Bounded threads, the same result every time, and a GPU where there is one."""
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    if not torch.cuda.is_available():
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what deterministic cuBLAS needs
    return torch.device("cuda")
