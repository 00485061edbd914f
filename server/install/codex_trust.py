"""What Codex keeps of a person's word that a hook may run: ``[hooks.state."FILE:EVENT:GROUP:HOOK"]`` in config.toml.

Codex passes over a command hook until its hash is written there, which it does itself after a review (``/hooks``). The
hash is of the hook as it was read: event, matcher and handler with their defaults, keys sorted, as compact JSON
(openai/codex, ``hooks/src/engine/discovery.rs`` and ``config/src/fingerprint.rs``; checked against 0.171.0).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prowess.server.install import json_file
from prowess.server.install.jsontext import parse, value_at
from prowess.server.install.wants import Entry, Handler, Want

__all__ = ["entries"]

# The events at which Codex goes by a matcher (``matcher_pattern_for_event``).
_MATCHED = ("PreToolUse", "PostToolUse", "PermissionRequest", "SessionStart", "SubagentStart", "SubagentStop")
_DEFAULT_SECONDS = 600
_MOST_END_SECONDS = 3  # Codex gives a hook at the end of a session no more, and hashes this number


def entries(path: Path, text: str, wants: tuple[Want, ...]) -> Iterator[Entry]:
    """The words of trust that the hooks of ours in ``text``, the hooks.json at ``path``, need."""
    for want in wants:
        if not isinstance(want, Handler):
            continue
        event = want.path[-1]
        for place, handler in json_file.handlers(text, want):
            label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
            matcher = value_at(parse(text), (*want.path, place[2], "matcher"))
            key = f"{path}:{label}:{place[2]}:{place[4]}"
            told = {"trusted_hash": _hash(label, matcher if event in _MATCHED else None, handler)}
            yield Entry(("hooks", "state", key), told, lambda value: isinstance(value, dict))


def _hash(label: str, matcher: str | None, handler: dict[str, Any]) -> str:
    as_read = {"type": "command", "async": False, "timeout": _DEFAULT_SECONDS, **handler}
    if label == "session_end" and isinstance(as_read["timeout"], int):
        as_read["timeout"] = min(as_read["timeout"], _MOST_END_SECONDS)
    identity: dict[str, Any] = {"event_name": label, "hooks": [as_read]}
    if matcher is not None:
        identity["matcher"] = matcher
    told = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"
