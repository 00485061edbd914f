"""What the documents must say about the code, whoever changes it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_architecture_names_every_folder_of_the_server() -> None:
    told = (ROOT / "docs" / "architecture.md").read_text()
    there = {path.name for path in (ROOT / "server").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {"hub", "shim", "sync"} < there
    assert sorted(name for name in there if f"| `{name}/` |" not in told) == []
