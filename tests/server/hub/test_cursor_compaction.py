"""Cursor begins no session anew behind a compaction: what its context held is told again at the next prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from capturekit import Client, ask, save

from prowess.server.hub.hub import Hub
from prowess.storage.events import SkillSaved
from prowess.storage.models import Skill, SkillStep

pytestmark = pytest.mark.anyio

SKILL = Skill(
    id="mend-till", name="mend_till", description="Mend the failing till of the shop", status="active",
    steps=(SkillStep(tool="Bash", args_template={"command": "make till"}),),
)  # fmt: skip


async def test_what_was_told_before_a_compaction_is_told_again(hub: Hub, home: Path) -> None:
    agent = Client(hub, home, name="cursor")
    await save(agent, SkillSaved(skill=SKILL, change="create"))

    async def told(name: str) -> str:
        given = {"prompt": f"Please mend the failing till of the shop {name}", "generation_id": name}
        agent.leave("beforeSubmitPrompt", **given)
        return str((await ask(home, "prompt", name, client="cursor"))["context"])

    assert "make till" in await told("e1")
    assert "make till" not in await told("e2")
    agent.leave("preCompact", trigger="auto")
    assert "make till" in await told("e3")
    assert "make till" not in await told("e4")
