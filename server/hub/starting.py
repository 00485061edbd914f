"""Starting a hub for a person, in the way in which an agent's shim starts one."""

from __future__ import annotations

import os
import time
from pathlib import Path

from prowess.server.hub.client import HubError
from prowess.server.shim.link import Limits, Link

__all__ = ["start_hub"]

STEP_SECONDS = 0.02  # between looks for a hub that comes


def start_hub(home: Path, session: str) -> None:
    """Return when a hub answers; one that runs already is enough. Blocks within the bounds of an agent's own start.

    ``session`` is the name that it is asked under. Raises HubError.
    """
    link = Link(str(home), os.environ, session, Limits())
    link.want(time.monotonic())
    while link.busy:
        time.sleep(STEP_SECONDS)
        link.step(time.monotonic())
    failure = link.failure
    link.lose()
    if failure is not None:
        raise HubError(failure.reason, hint=failure.hint)
