"""A count agrees with its noun: texts say "1 skill", by ``counted``, wherever a number is not a fixed one."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOUNS = (
    *("backups", "changes", "clients", "days", "episodes", "events", "exposures", "failures", "files", "lines"),
    *("machines", "memories", "patterns", "places", "reflections", "rewards", "runs", "sessions", "skills", "steps"),
    *("successes", "tasks", "tokens", "uses", "versions", "writes"),
)
# Told only where there are more than a fixed number, or where the number is not of these things.
NEVER_ONE = (
    "'has its' if whole == 1 else 'have their' steps here",
    "len(left) skills have the name ",
    "len(plan.changes) changes are shown",
    "len(steps) steps are too many for one call; send at most ",
    "self.most skills, all taken",
    "skill.name uses {",
)
AFTER = re.compile(rf" (?:[a-z]+ )?(?:{'|'.join(NOUNS)})\b")


def written(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each computed number before a noun in the plural, by its line. A constant (``MAX_STEPS``) is always many."""
    for text in ast.walk(tree):
        parts = text.values if isinstance(text, ast.JoinedStr) else []
        for value, after in itertools.pairwise(parts):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            shown = ast.unparse(value.value)
            if AFTER.match(str(after.value)) and not shown.isupper():
                yield text.lineno, f"{shown}{after.value}"


def test_the_search_finds_what_is_wrong_and_leaves_the_rest() -> None:
    code = """
f"{count} skills", f"{len(found):,} more skills", f"{MAX_STEPS} steps", f"{name} is used", f"{counted(n, 'step')} left"
"""
    assert [told for _, told in written(ast.parse(code))] == ["count skills", "len(found) more skills"]


@pytest.mark.parametrize("folder", ["server", "tools", "learning"])
def test_no_text_has_a_count_that_may_disagree_with_its_noun(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {told}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, told in written(ast.parse(path.read_text()))
        if told not in NEVER_ONE
    ]
    assert found == []
