"""Whoever reads an error is told what to do about it: every one that is raised has a hint, or its kind has."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.providers.errors import BadAnswer
from prowess.storage.errors import Hinted, InvalidInput, StoreClosed
from prowess.tools.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("server", "tools", "learning", "storage", "providers", "training")
INNER = ("HubGone", "_LeftError")  # caught by who asked the hub, and asked again


def modules() -> dict[Path, ast.Module]:
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return {path: ast.parse(path.read_text()) for path in paths}


def hinted(trees: dict[Path, ast.Module]) -> set[str]:
    """The kinds of errors that take a hint and have none of their own."""
    defined = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: [_name(base) for base in node.bases] for node in defined}
    own = {node.name for node in defined if node.name != "Hinted" and any(_is_usual(line) for line in node.body)}
    found = {"Hinted"}
    while more := {name for name, above in bases.items() if found & {*above} and name not in found | own}:
        found |= more
    return found - {*INNER}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_usual(line: ast.stmt) -> bool:
    return isinstance(line, ast.Assign) and _name(line.targets[0]) == "usual_hint"


def without(tree: ast.Module, kinds: set[str]) -> Iterator[ast.Call]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _name(call.func) in kinds:
            given = [word.value for word in call.keywords if word.arg in ("hint", None)]
            if not given or (isinstance(given[0], ast.Constant) and not given[0].value):
                yield call


def test_every_error_that_is_made_says_what_to_do() -> None:
    trees = modules()
    kinds = hinted(trees)
    assert {"StoreError", "InvalidInput", "StoreInUse", "ToolError", "HttpError", "RemoteRefused"} <= kinds
    assert not {"StoreClosed", "BadAnswer", "Truncated", "RemoteBusy"} & kinds
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)[:100]}"
        for path, tree in trees.items()
        for call in without(tree, kinds | ({"Failed"} if path.parent.name == "cli" else set()))
    ]
    assert found == []


def test_the_search_finds_what_has_no_hint() -> None:
    code = "InvalidInput('x'), InvalidInput('x', hint=''), InvalidInput('x', hint='y'), Other('x')"
    assert [call.col_offset for call in without(ast.parse(code), {"InvalidInput"})] == [0, 19]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (InvalidInput("it is off", hint="mend it"), "mend it"),
        (StoreClosed("it was closed"), "open it again"),
        (ToolError("no such thing", hint="Send another."), "Send another."),
        (BadAnswer("it is none"), "try it again, or set a more capable model"),
    ],
)
def test_a_traceback_shows_what_to_do(error: Hinted, told: str) -> None:
    """Who uses ``prowess.Memory`` and catches nothing reads this and no more."""
    assert error.hint == told
    assert traceback.format_exception_only(error)[1:] == [f"hint: {told}\n"]


def test_without_a_hint_there_is_no_empty_line_for_one() -> None:
    assert len(traceback.format_exception_only(ToolError("x"))) == 1
