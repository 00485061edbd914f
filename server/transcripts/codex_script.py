"""Codex' scripts: a model may call its tools from JavaScript, ``const r = await tools.exec_command({cmd: "ls"})``.

A script that calls one tool with arguments that are written out is that call; one that runs several commands is their
lines. Of all else nothing is taken but the script itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["call_of", "only_runs_commands"]

_CALL = re.compile(r"\btools\s*\.\s*([A-Za-z_]\w{0,200})\s*\(")
_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<number>-?\d{1,18}(?:\.\d{1,18})?)|(?P<sign>[{}\[\]:,)]))",
    re.DOTALL,
)
_CONSTANT = re.compile(r"\bconst\s+([A-Za-z_$][\w$]*)\s*=\s*")
_VALUE_ENDS = re.compile(r"[ \t]*(?:[;,]|\Z|/[/*]|\r?\n\s*(?![\s+.?*%&|`(\[=<>-]|/(?![/*])))")  # or it is computed
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
_SHELLS = ("exec_command", "shell_command")
_OF_COMMANDS = (*_SHELLS, "write_stdin")
_MOST = 200_000  # characters of a script
_DEEPEST = 20


class _Unclear(Exception):
    """What would have to be run to be known."""


def call_of(script: str) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that ``script`` comes to; None where they are not written out in it."""
    found = list(_CALL.finditer(script)) if len(script) <= _MOST else []
    try:
        constants = dict(_constants(script)) if found else {}
        calls = [(call[1], _arguments(script, call.end(), constants)) for call in found]
    except _Unclear:
        return None
    if len(calls) == 1:
        return calls[0]
    lines = [args.get("cmd", args.get("command")) for tool, args in calls if tool in _SHELLS]
    told = [line for line in lines if isinstance(line, str)]
    return (calls[0][0], {"cmd": "\n".join(told)}) if calls and len(told) == len(calls) else None


def only_runs_commands(script: str) -> bool:
    """Whether it calls nothing else."""
    return set(_CALL.findall(script)).issubset(_OF_COMMANDS)


def _constants(script: str) -> Iterator[tuple[str, str]]:
    for found in _CONSTANT.finditer(script):
        token = _TOKEN.match(script, found.end())
        if token is None or token["string"] is None or "${" in token["string"]:
            continue
        if _VALUE_ENDS.match(script, token.end()):
            yield found[1], _text(token["string"])


def _arguments(script: str, at: int, constants: Mapping[str, str]) -> dict[str, Any]:
    token = _next(script, at)
    if token["sign"] == ")":
        return {}
    value, end = _value(script, token, constants, _DEEPEST)
    if _next(script, end)["sign"] != ")":
        raise _Unclear
    return value if isinstance(value, dict) else {"input": value}


def _next(script: str, at: int) -> re.Match[str]:
    token = _TOKEN.match(script, at)
    if token is None:
        raise _Unclear
    return token


def _value(script: str, token: re.Match[str], constants: Mapping[str, str], depth: int) -> tuple[Any, int]:
    """The value that begins with ``token``, and where it ends."""
    if not depth:
        raise _Unclear
    if token["string"] is not None:
        if token["string"].startswith("`") and "${" in token["string"]:
            raise _Unclear
        return _text(token["string"]), token.end()
    if (number := token["number"]) is not None:
        return (float if "." in number else int)(number), token.end()
    if token["name"] is not None:
        return _named(token["name"], constants), token.end()
    if token["sign"] == "{":
        return _object(script, token.end(), constants, depth - 1)
    if token["sign"] == "[":
        return _list(script, token.end(), constants, depth - 1)
    raise _Unclear


def _named(name: str, constants: Mapping[str, str]) -> Any:
    if name in _WORDS:
        return _WORDS[name]
    if name not in constants:
        raise _Unclear
    return constants[name]


def _object(script: str, at: int, constants: Mapping[str, str], depth: int) -> tuple[dict[str, Any], int]:
    made: dict[str, Any] = {}
    while (token := _next(script, at))["sign"] != "}":
        if token["name"] is None and token["string"] is None:
            raise _Unclear
        key = token["name"] or _text(token["string"])
        after = _next(script, token.end())
        if after["sign"] == ":":
            made[key], at = _value(script, _next(script, after.end()), constants, depth)
        else:
            made[key], at = _named(key, constants), token.end()
        at = _past_comma(script, at)
    return made, token.end()


def _list(script: str, at: int, constants: Mapping[str, str], depth: int) -> tuple[list[Any], int]:
    made = []
    while (token := _next(script, at))["sign"] != "]":
        value, at = _value(script, token, constants, depth)
        made.append(value)
        at = _past_comma(script, at)
    return made, token.end()


def _past_comma(script: str, at: int) -> int:
    """Behind a comma, or before the bracket that closes; anything else makes a value something to be computed."""
    token = _next(script, at)
    if token["sign"] == ",":
        return token.end()
    if token["sign"] in ("}", "]"):
        return at
    raise _Unclear


def _text(literal: str) -> str:
    def plain(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2] or escape[3]
        if code is None:
            return _PLAIN.get(escape[4], escape[4])
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else "\ufffd"

    written = _ESCAPE.sub(plain, literal[1:-1])
    return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves of one sign are put together
