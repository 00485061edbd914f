"""Which formats this program writes; clients and hubs tell each other, so that a report names both."""

from __future__ import annotations

from prowess.storage.catalog.migrate import migrations
from prowess.storage.events import EVENT_TYPES
from prowess.storage.log.codec import STEP_FORMAT

__all__ = ["schema"]


def schema() -> dict[str, int]:
    """Format of stored steps, newest version of any event, and newest migration of the catalog."""
    events = max(kind.VERSION for kind in EVENT_TYPES.values())
    return {"steps": STEP_FORMAT, "events": events, "catalog": migrations()[-1].version}
