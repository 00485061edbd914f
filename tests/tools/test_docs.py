"""docs/tools.md says something about everything that can be sent and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.tools.base import Tool
from prowess.tools.evolve_skills import Mode
from prowess.tools.registry import TOOLS

DOCS = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def _section(tool: Tool) -> str:
    return DOCS.partition(f"\n## {tool.name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_field_is_documented(tool: Tool) -> None:
    section = _section(tool)
    fields = {*tool.input.model_fields, *tool.output.model_fields} - {"notes"}
    assert [name for name in sorted(fields) if f"`{name}`" not in section] == []


def test_every_mode_is_documented() -> None:
    section = _section(TOOLS[-1])
    assert [mode for mode in Mode.__args__ if f"`{mode}`" not in section] == []  # type: ignore[attr-defined]
