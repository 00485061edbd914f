"""The first line each way of a connection: who is there, and whether hub and client can work together."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from prowess import __version__
from prowess.server.shim.stream import PROTOCOL

__all__ = [
    "MAX_HELLO",
    "OTHER_VERSION",
    "BadHello",
    "Hello",
    "Verdict",
    "answer",
    "is_newer",
    "judge",
    "read_hello",
]

MAX_HELLO = 64 * 1024
OTHER_VERSION = "the hub may be of another version: `prowess hub stop`, and what needs one next starts its own"
_VERSION = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:[.-]?(dev|a|b|rc|post)([0-9]*))?")
_STAGES = ("dev", "a", "b", "rc", "", "post")
_ANY_VERSION = ("status", "stop", "yield")  # what a command of any version may ask
_MAX_NAME = 200
_MAX_PATH = 4096

Verdict = Literal["ok", "refused", "retiring"]


class BadHello(Exception):
    """The first line is none that a client of ours sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What the connecting side says of itself. ``kind`` is ``shim``, ``control`` or ``hook``."""

    protocol: int
    kind: str
    version: str
    session: str = ""
    cwd: str = ""
    project: str = ""
    command: str = ""


def read_hello(line: bytes) -> Hello:
    """Raises ``BadHello``. Names that are not known are passed over: a newer client may say more."""
    try:
        told = json.loads(line)["prowess"]
        protocol = told["protocol"]
        words = {name: _text(told, name) for name in ("kind", "version", "session", "cwd", "project", "command")}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadHello("the first line is no hello of prowess") from error
    if type(protocol) is not int or words["kind"] not in ("shim", "control", "hook"):
        raise BadHello("the hello names no protocol or no known kind of client")
    return Hello(protocol=protocol, **words)


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name) or ""
    if not isinstance(value, str) or len(value) > (_MAX_PATH if name == "cwd" else _MAX_NAME):
        raise ValueError(name)
    # A lone surrogate cannot be stored.
    return value.encode("utf-8", "replace").decode()


def is_newer(version: str, than: str) -> bool:
    """Whether ``version`` is a later one; of two that cannot be told apart, neither is."""
    return _parts(version) > _parts(than)


def _parts(version: str) -> tuple[list[int], int, int]:
    """Release, stage and the stage's number; 1.0 is 1.0.0, and what cannot be read is the first of all."""
    found = _VERSION.match(version)
    if found is None:
        return [], 0, 0
    release = [int(part[:9]) for part in found[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    return release, _STAGES.index(found[2] or ""), int((found[3] or "0")[:9])


def judge(hello: Hello, *, leaving: bool, version: str = __version__) -> tuple[Verdict, str, str]:
    """What the hub of ``version`` says to a client: verdict, reason and hint."""
    if leaving and hello.command not in ("status", "stop"):
        return "retiring", "the hub is leaving", "connect again; a new hub starts"
    if hello.command not in _ANY_VERSION and is_newer(hello.version, version):
        return "retiring", f"you are newer ({hello.version}) than this hub ({version})", "start a hub of your own"
    if hello.protocol != PROTOCOL:
        reason = f"this hub ({version}) speaks protocol {PROTOCOL}, you ({hello.version}) speak {hello.protocol}"
        return "refused", reason, "upgrade the older of the two, and restart the agent"
    return "ok", "", ""


def answer(verdict: Verdict, *, pid: int, schema: dict[str, int], reason: str = "", hint: str = "") -> bytes:
    """The hub's line."""
    told: dict[str, Any] = {"protocol": PROTOCOL, "version": __version__, "schema": schema, "pid": pid}
    told["status"] = verdict
    if reason:
        told |= {"reason": reason, "hint": hint}
    return json.dumps({"prowess": told}).encode() + b"\n"
