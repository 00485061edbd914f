"""What ``prowess doctor`` says of synchronising."""

from __future__ import annotations

from prowess.server.findings import Finding
from prowess.server.hub import client
from prowess.server.settings import Settings
from prowess.server.sync.address import BadAddress, read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteError
from prowess.server.sync.remote import Remote
from prowess.storage.errors import StoreError

__all__ = ["look_at_sync"]

WELL = ("ok", "working", "connecting")


async def look_at_sync(settings: Settings) -> Finding:
    """How the hub's sync process is; without a hub, whether the remote can be worked with at all."""
    if not settings.turso_url:
        return Finding("sync", "ok", "no remote is set: nothing leaves this machine")
    try:
        state = (await client.ask(settings.home, "status"))["sync"]
    except (StoreError, KeyError):
        return await _reached(settings)
    if state["state"] == "off":
        return Finding("sync", "warn", "the hub knows no remote", f"write turso_url into {settings.home}/config.toml")
    if state["state"] in WELL:
        return Finding(
            "sync", "ok", f"{state['state']}: {state.get('pushed', 0)} of {state.get('head', 0)} events sent"
        )
    return Finding("sync", "warn", f"{state['state']}: {state['reason']}", state["hint"] or "prowess sync now")


async def _reached(settings: Settings) -> Finding:
    try:
        address = read_address(settings.turso_url, plain_http=settings.sync_plain_http)
        async with open_database(address, settings.turso_token) as database:
            await Remote.open(database)
    except BadAddress as error:
        return Finding("sync", "fail", f"TURSO_DATABASE_URL: {error}", "see docs/sync.md")
    except RemoteError as error:
        return Finding("sync", "fail", str(error), error.hint or "prowess sync status")
    return Finding("sync", "ok", f"{address.shown} answers; the next hub synchronises")
