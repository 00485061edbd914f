"""A supervisor with a trainer that does what it is told."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from prowess.server.trainer.supervisor import Trainer

__all__ = ["FAKE", "RESULT", "SECONDS", "finished", "folder_of", "training", "until"]

FAKE = [sys.executable, "-I", str(Path(__file__).with_name("fake_trainer.py"))]
SECONDS = 180.0
RESULT = {"event": "result", "reward": 0.5}


async def export(folder: Path, project: str, wanted: Sequence[str] | None) -> list[str]:
    """Two episodes, as files of one line."""
    ids = list(wanted or ("e1", "e2"))
    lines = [json.dumps({"episode": {"task_id": f"{project}{name}"}}) for name in ids]
    await anyio.Path(folder / "trajectories.jsonl").write_text("\n".join(lines))
    return ids


@asynccontextmanager
async def training(home: Path, *, leave: bool = True, **options: Any) -> AsyncIterator[Trainer]:
    options = {"export": export, "command": FAKE, "grace": 10.0, **options}
    trainer = Trainer(home, **options)
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trainer.run)
            yield trainer
            tasks.cancel_scope.cancel()


async def until(trainer: Trainer, holds: Callable[[dict[str, Any]], Any], run_id: str | None = None) -> dict[str, Any]:
    """The run's status once it ``holds``."""
    with anyio.fail_after(SECONDS):
        while True:
            if holds(told := await trainer.status(run_id)):
                return told
            await anyio.sleep(0.01)


async def finished(trainer: Trainer) -> dict[str, Any]:
    return await until(trainer, lambda told: told["status"] != "running")


def folder_of(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id
