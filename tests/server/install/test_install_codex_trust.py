"""The hashes by which Codex knows the hooks that a person let it run."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.server.install.codex_trust import entries
from prowess.server.install.wants import Handler

# What `hooks/list` of codex 0.171.0's app server called ``currentHash``, for {"command": "echo a", "timeout": 10}.
TOLD = {
    "PostToolUse": ("post_tool_use", "a017daf29510ef6758fa2226131d4edda9e749177050bd049fbf77e5aa334eb4"),
    "SessionStart": ("session_start", "8f7af5b048d687ed6b1f481ea21ac506dd0392d5a0a3405f9d55e289c04e7ac8"),
    "SessionEnd": ("session_end", "05cfbaf3285dc821381cccdb6a9e0cad05f1ff912975c7bf760ea9d21949c917"),
    "UserPromptSubmit": ("user_prompt_submit", "91c67fba88a32c55099e6e123b1304074d906ff22ece2292f79a7dade5a1c262"),
    "Stop": ("stop", "83b08b429bf0f1ca317f1cc40a02f8ee5961a78156b3f8fbf37704e29925e704"),
}


@pytest.mark.parametrize("event", TOLD)
def test_the_hash_is_the_one_that_codex_makes(event: str) -> None:
    hooks = '[{"matcher": "*", "hooks": [{"type": "command", "command": "echo a", "timeout": 10}]}]'
    want = Handler(("hooks", event), {"hooks": [{"command": "echo a"}]}, lambda value: True, "hooks")
    (entry,) = entries(Path("/c/hooks.json"), f'{{"hooks": {{"{event}": {hooks}}}}}', (want,))
    label, digest = TOLD[event]
    assert entry.path == ("hooks", "state", f"/c/hooks.json:{label}:0:0")
    assert entry.value == {"trusted_hash": f"sha256:{digest}"}
