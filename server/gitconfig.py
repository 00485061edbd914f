"""The remotes that a git configuration file names. Includes are not followed, and nothing is run."""

from __future__ import annotations

import re

__all__ = ["remotes"]

_SECTION = re.compile(r'\s*\[\s*(?P<name>[\w.-]+)\s*(?:"(?P<sub>(?:[^"\\\n]|\\.)*)")?\s*\](?P<rest>.*)')
_ENTRY = re.compile(r"\s*(?P<key>[A-Za-z][\w-]*)\s*=(?P<value>.*)")
_PIECE = re.compile(r'\\(?P<escaped>.)|(?P<quote>")|(?P<comment>[#;])|(?P<space>\s+)|(?P<plain>[^\\"#;\s]+)')
_ESCAPES = {"n": "\n", "t": "\t", "b": ""}


def remotes(text: str) -> dict[str, str]:
    """The first ``url`` of each remote by the remote's name."""
    found: dict[str, str] = {}
    remote: str | None = None
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line
        if section := _SECTION.fullmatch(line):
            remote = _unescaped(section["sub"]) if section["name"].lower() == "remote" and section["sub"] else None
            rest = section["rest"]
        entry = _ENTRY.fullmatch(rest)
        if entry and remote is not None and entry["key"].lower() == "url" and (url := _value(entry["value"])):
            found.setdefault(remote, url)
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _value(text: str) -> str:
    """A value as git reads it: quotes taken off, escapes replaced, a comment and outer spaces dropped."""
    parts: list[str] = []
    quoted = False
    for piece in _PIECE.finditer(text):
        if piece["quote"]:
            quoted = not quoted
        elif piece["comment"] and not quoted:
            break
        elif piece["escaped"]:
            parts.append(_ESCAPES.get(piece["escaped"], piece["escaped"]))
        else:
            parts.append(piece[0])
    return "".join(parts).strip()
