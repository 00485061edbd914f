"""What ``prowess doctor`` says of synchronising."""

from __future__ import annotations

from typing import Any

from prowess.learning.counting import counted
from prowess.server.doctor.finding import Finding, State
from prowess.server.hub.sync import fingerprint, without_hub
from prowess.server.settings import CONFIG_FILE, BadSetting, Settings, of_hub
from prowess.server.sync.address import BadAddress, read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteError
from prowess.server.sync.known import is_known
from prowess.server.sync.remote import Remote

__all__ = ["look_at_sync"]

WELL = ("ok", "working", "connecting")
PASSING = ("away", "paused", "stopped", "waiting", "off")  # it goes on by itself, or somebody wants it so


async def look_at_sync(settings: Settings, told: dict[str, Any] | None) -> Finding:
    """How the sync process of the hub that ``told`` its status is; without, whether the remote can be worked with.

    Nothing is made by it.
    """
    try:
        known = of_hub(settings.home)
    except BadSetting as error:
        return Finding("sync", "fail", str(error), error.hint)
    return await _without_hub(settings, known) if told is None else _with_hub(settings, known, told)


def _with_hub(settings: Settings, known: Settings, told: dict[str, Any]) -> Finding:
    salt = str(told.get("remote", "")).partition(":")[0]
    if salt and told["remote"] != fingerprint(known, salt):
        said = f"the hub runs with another turso_url or turso_token than {settings.home / CONFIG_FILE} has now"
        return Finding("sync", "warn", said, "prowess hub stop")
    state = told["sync"]
    if state["state"] == "off":
        return _nothing_set(settings)
    if state["state"] in WELL:
        sent = f"{state.get('pushed', 0)} of {counted(state.get('head', 0), 'event')} sent"
        return Finding("sync", "ok", f"{state['state']}: {sent}")
    return _of_state(state["state"], state["reason"], state["hint"])


def _of_state(state: str, reason: str, hint: str) -> Finding:
    said = ": ".join(filter(None, (state, reason)))
    return Finding("sync", severity(state), said, hint or "prowess sync status")


def severity(state: str) -> State:
    """Away is the business of the remote and passes; what is refused or differs stays so until a person mends it."""
    return "warn" if state in PASSING else "fail"


def _nothing_set(settings: Settings) -> Finding:
    if not settings.turso_url:
        return Finding("sync", "ok", "no remote is set: nothing leaves this machine")
    told = without_hub(settings)
    return Finding("sync", "warn", f"no remote is set for the hub: {told['reason']}", told["hint"])


async def _without_hub(settings: Settings, known: Settings) -> Finding:
    if not known.turso_url:
        return _nothing_set(settings)
    try:
        address = read_address(known.turso_url, plain_http=known.sync_plain_http)
        if address.path is not None and not address.path.exists():
            return _no_file(address.shown, folder=address.path.parent.is_dir(), known=is_known(settings.home, address))
        async with open_database(address, known.turso_token) as database:
            made = await Remote.exists(database)
    except BadAddress as error:
        return _of_state("refused", f"turso_url: {error}", "see docs/sync.md for the forms it may have")
    except RemoteError as error:
        return _of_state(error.state, str(error), error.hint)
    empty = "" if made else "; it is empty, and the first sync makes its tables"
    return Finding(
        "sync", "ok", f"{address.shown} answers{empty}; it goes on with the next agent or `prowess hub start`"
    )


def _no_file(shown: str, *, folder: bool, known: bool) -> Finding:
    if known:
        mend = "see that its disk is mounted; `prowess sync reset` lets it be made anew"
        return Finding("sync", "warn", f"away: {shown} is not there any more", mend)
    if not folder:
        return Finding("sync", "warn", f"away: the folder of {shown} is not there", "see that turso_url is right")
    said = f"{shown} is not there yet; the first sync makes it, unless turso_url is mistyped"
    return Finding("sync", "ok", said)
