"""``prowess hook CLIENT EVENT``: one event read from stdin, kept, and answered where the client takes an answer."""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH117

from __future__ import annotations

import json
import os
import sys

from prowess.server.hooks import hub, replies, spool, watchdog
from prowess.server.hooks.records import KINDS, record_of
from prowess.server.shim import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["run"]

MAX_INPUT = 48_000_000  # bytes; what is longer is not even read to its end
# A prompt's context is worth the start of a hub, which takes that long; a way out of an error a moment.
ASK_SECONDS = {"prompt": 3.0, "start": 1.0, "failure": 0.5}
# Characters of each end of what a failed command said, of which the most telling line is looked for.
MAX_FAILURE = 4_000
WHOLE_SECONDS = 6.0  # of everything; fifty hooks that start at once on a busy laptop need half of it
CLIENTS = ("claude-code", "codex", "cursor")


def run(arguments: Sequence[str]) -> int:
    """Handle one event of a client. Returns 0, whatever happened: a hook is never in an agent's way."""
    home = ""
    try:
        client, event, store = _options(arguments)
        kind = KINDS.get(event.lower(), "")
        watchdog.arm(WHOLE_SECONDS)
        home = places.home(store, os.environ)
        if client in CLIENTS and kind and os.path.isabs(home):  # else nobody knows the user's folder
            _handle(client, event, kind, home)
    except BaseException as error:  # also what a signal or want of memory raises
        if os.path.isabs(home):
            _note(home, error)
    return 0


def _options(arguments: Sequence[str]) -> tuple[str, str, str]:
    words, store = list(arguments), ""
    if "--store" in words[:-1]:
        at = words.index("--store")
        words[at : at + 2] = [f"--store={words[at + 1]}"]
    for word in [word for word in words if word.startswith("--store=")]:
        store = word.removeprefix("--store=")
        words.remove(word)
    client, event, *_ = [*words, "", ""]
    return client, event, store


def _handle(client: str, event: str, kind: str, home: str) -> None:
    given = _input()
    record = None if given is None else record_of(client, event, given, os.environ.get("PROWESS_PROJECT", ""))
    if record is None:
        return
    name, refusal = _left(home, record)
    away = not hub.poke(home)  # also where nothing could be left: a hub makes room
    if away and kind in ("start", "prompt", "stop", "end") and os.environ.get("PROWESS_IN_PROCESS") != "1":
        # Not after each tool use: those lie in the spool until the turn ends at the latest.
        hub.start(home)
    if refusal is not None:
        _say(replies.reply(client, event, "", replies.not_recorded(refusal) if kind == "start" else ""))
        raise refusal
    kind = "failure" if _is_failed_command(client, event, record) else kind
    if kind in ASK_SECONDS:
        # What nobody gets would still be journaled as shown.
        asks = replies.takes_context(client, event, record["version"])
        told = _context(kind, name, record, home, away) if asks else {}
        _say(replies.reply(client, event, told.get("context", ""), told.get("warning", "")))


def _is_failed_command(client: str, event: str, record: Mapping[str, Any]) -> bool:
    """Only Claude Code tells at once that a command failed, and takes a word about it."""
    told = record["kind"] == "step" and client == "claude-code" and event.lower() == "posttoolusefailure"
    return told and isinstance(record["args"].get("command"), str)


def _left(home: str, record: dict[str, Any]) -> tuple[str, OSError | None]:
    """The event's name in the spool, or why it could not be left there."""
    try:
        return spool.write(home, record), None
    except OSError as error:
        from prowess.server.hooks import losses

        losses.note(home)
        return "", error


def _context(kind: str, name: str, record: Mapping[str, Any], home: str, away: bool) -> dict[str, str]:
    question = {"event": name, "kind": kind, "client": record["client"], "session": record["session"]}
    question["source"] = record.get("source", "")
    if kind == "failure":
        said = record["observation"]
        ends = said if len(said) <= 2 * MAX_FAILURE else f"{said[:MAX_FAILURE]}\n{said[-MAX_FAILURE:]}"
        question |= {"tool": record["tool"], "command": record["args"]["command"][:MAX_FAILURE], "said": ends}
        question["agent"] = record["agent"]
    # At a session's start what matters needs no hub, so one that is only starting is not waited for; nor at a failure.
    told = {} if away and kind != "prompt" else hub.ask(home, question, ASK_SECONDS[kind])
    if not told and kind == "start" and record["source"] != "resume":
        told = {"context": replies.introduction(record["client"], record["session"])}
    return {name: text for name, text in told.items() if isinstance(text, str)}


def _input() -> dict[str, Any] | None:
    """The object on stdin; None for anything else."""
    pieces, size = [], 0
    while size <= MAX_INPUT and (piece := os.read(0, 1 << 20)):
        pieces.append(piece)
        size += len(piece)
    if size > MAX_INPUT:
        return None
    try:
        # What went through a shell of Windows may begin with a mark.
        given = json.loads(b"".join(pieces).decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _say(reply: str) -> None:
    """Raises OSError where the client has gone. Nothing is left in a buffer then, of which Python would complain."""
    data = f"{reply}\n".encode() if reply and sys.stdout is not None else b""
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]


def _note(home: str, error: BaseException) -> None:
    """Where it failed and how, nothing of what was sent."""
    place, trace = "", error.__traceback__
    while trace is not None:
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119
        trace = trace.tb_next
    reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    spool.note_error(home, f"{type(error).__name__}{reason} at {place}")
