"""Hooks as clients start them: a process of their own, without site-packages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from prowess.server.hooks import spool
from prowess.server.hooks.events import command

__all__ = ["SAMPLES", "events", "run", "sample"]

SAMPLES = Path(__file__).parent / "samples"
SECONDS = 60.0  # many times what a hook may take: it is the machine that may be busy


def run(home: Path, client: str, event: str, given: Any, **environ: str) -> str:
    """What a hook says to ``given`` (an object, or bytes as they are); it has to end with exit code 0."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    ended = subprocess.run(
        command(client, event, store=str(home)),
        input=data,
        capture_output=True,
        env={**kept, "HOME": str(home.parent), **environ},
        cwd="/",
        timeout=SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    said = ended.stdout.decode()
    assert not said or isinstance(json.loads(said), dict)
    return said


def events(home: Path) -> list[dict[str, Any]]:
    """What lies in the spool, the oldest first."""
    found = [spool.read(str(home), name) for name in spool.names(str(home))]
    return [event for event in found if event is not None]


def sample(client: str, name: str) -> dict[str, Any]:
    """What a real client sent."""
    given: dict[str, Any] = json.loads((SAMPLES / client / f"{name}.json").read_text())
    return given
