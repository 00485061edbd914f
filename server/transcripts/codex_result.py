"""What a tool's result in a Codex rollout says: its text, how it ended, and whether it goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.server.transcripts.model import Call
from prowess.server.transcripts.reading import as_list, as_map, as_text, number

__all__ = ["Result", "joined", "result_in", "take_details"]

_STOPPED = -1  # the exit code of a command that still ran when the client left: nothing is known of it
_HEADER = re.compile(r"(?:Chunk ID: .{0,80}\n)?(?:Wall time: ([\d.]{1,12}) seconds\n)", re.ASCII)
_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,6})$", re.MULTILINE)
_RUNS = re.compile(r"^Process running with session ID (\w{1,40})$", re.MULTILINE)
_SCRIPT = re.compile(
    r"Script (?:completed|(failed)|running with cell ID (\S{1,40}))\nWall time ([\d.]{1,12}) seconds?\nOutput:\n*"
)
_REFUSED = re.compile(
    r"unsupported (?:custom tool )?call: |failed to parse function arguments|\w{1,40} (?:verification )?failed: "
)


@dataclass(frozen=True, slots=True)
class Result:
    """``runs_as`` names what goes on after it, by which a later call asks for the rest; ``details`` are Codex' own."""

    text: str
    refused: bool = False
    exit_code: int | None = None
    duration_ms: float | None = None
    runs_as: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def result_in(output: Any) -> Result:
    """Of a command, a script, or any other tool."""
    text, details = _unwrapped(output)
    if script := _SCRIPT.match(text):
        return _of_script(script, text[script.end() :])
    header = _HEADER.match(text)
    start, found, rest = text.partition("\nOutput:\n")
    exited, runs = _EXITED.search(start[:500]), _RUNS.search(start[:500]) if header else None
    return Result(
        rest if header and found else text[header.end() :] if header else text,
        refused=not header and _REFUSED.match(text) is not None,
        exit_code=int(exited[1]) if exited else None,
        duration_ms=_milliseconds(header[1]) if header else None,
        runs_as=f"session {runs[1]}" if runs else "",
        details=details,
    )


def _of_script(script: re.Match[str], text: str) -> Result:
    """A script mostly shows the output of the command that it ran; where it shows its whole result, that is JSON."""
    told = _object(text) if text.startswith("{") else {}
    shows_result = isinstance(told.get("output"), str)
    code, session = (told.get("exit_code"), told.get("session_id")) if shows_result else (None, None)
    goes_on = f"session {session}" if isinstance(session, int) and code is None else ""
    return Result(
        as_text(told["output"]) if shows_result else text,
        refused=script[1] is not None,
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        duration_ms=_milliseconds(script[3]),
        runs_as=f"cell {script[2]}" if script[2] else goes_on,
    )


def _milliseconds(seconds: str) -> float | None:
    return number(float(seconds) * 1000) if seconds.count(".") < 2 and seconds != "." else None


def _object(text: str) -> Mapping[str, Any]:
    try:
        return as_map(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def joined(content: Any) -> str:
    """The text of a message or result: plain, or in parts."""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(filter(None, (as_text(as_map(part).get("text")) for part in as_list(content)))).strip()


def _unwrapped(output: Any) -> tuple[str, Mapping[str, Any]]:
    """A result's text and what is said about it: plain, a list of parts, or (older) an object written as JSON."""
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return output, {}
    if isinstance(output, dict):
        text = output.get("output", output.get("content"))
        return (text if isinstance(text, str) else joined(text)), {**output, **as_map(output.get("metadata"))}
    return (output, {}) if isinstance(output, str) else (joined(output), {})


def take_details(call: Call, told: Mapping[str, Any]) -> None:
    """Put what an event or an older result tells of a call's end into it."""
    code = told.get("exit_code")
    if code == _STOPPED:
        return
    if isinstance(code, int) and not isinstance(code, bool):
        call.exit_code = code
    refused = told.get("success") is False or "Err" in as_map(told.get("result"))
    if refused or (told.get("status") in ("failed", "error") and call.exit_code is None):
        call.is_error = True
    seconds = number(told.get("duration_seconds"))
    spent = as_map(told.get("duration"))
    whole, parts = number(spent.get("secs")), number(spent.get("nanos"))
    if whole is not None and parts is not None:
        call.duration_ms = whole * 1000 + parts / 1e6
    elif seconds is not None:
        call.duration_ms = seconds * 1000
