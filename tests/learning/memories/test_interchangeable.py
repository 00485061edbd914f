"""A newer rule takes back the older one where both want one tool of a role for the same thing."""

from __future__ import annotations

import pytest

from prowess.learning.memories.interchangeable import contradicts, given_up_by, swaps


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("we use npm here", "we use pnpm here"),
        ("no, we use poetry", "we use uv here, never pip"),
        ("use vitest instead of jest", "in this repo we use jest"),
        ("from now on we use spaces, not tabs", "always use tabs"),
        ("we use pnpm here to install packages", "we use npm here to install packages"),
        ("we use npm here", "always install with pnpm"),
        ("stop using pnpm, we moved to npm", "we use pnpm here"),
        ("we use OpenTofu here", "we use terraform here"),
    ],
)
def test_another_tool_of_one_role_takes_its_place(newer: str, older: str) -> None:
    assert swaps(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("we use npm here", "we use npm here"),
        ("we use OpenTofu here", "we use tofu here"),
        ("we use npm here", "we use uv here"),
        ("we use npm here for the website", "we use pnpm here"),
        ("we use npm and pnpm here", "we use yarn here"),
        ("never use npm here", "we use pnpm here"),
        ("never use npm or yarn", "we use pnpm here"),
        ("never install packages with yarn", "we use pnpm here"),
        ("don't run the tests with unittest", "we use pytest here"),
        ("never switch back to npm", "we use pnpm here"),
        ("no npm, yarn or bun here", "we use pnpm here"),
        ("we don't want npm here", "we use pnpm here"),
        ("do not ever use npm here", "we use pnpm here"),
        ("we use pnpm here", "don't use npm"),
        ("we use ruff here", "we use black here"),
        ("run uv pip install", "we use poetry"),
        ("use npm ci in the pipeline", "we use pnpm here"),
    ],
)
def test_what_is_for_something_else_forbidden_or_of_another_role_stays(newer: str, older: str) -> None:
    assert not swaps(newer, older)


def test_a_rule_that_wants_what_another_forbids_contradicts_it() -> None:
    assert contradicts("we use npm here now", "never use npm")
    assert contradicts("never use npm here", "we use npm here")
    assert not contradicts("we use npm for the docs", "never use npm")
    assert not contradicts("we use npm here", "never use yarn")
    assert not contradicts("use npm ci here", "never use npm install, always npm ci")


@pytest.mark.parametrize(
    ("rule", "tools"),
    [
        ("we no longer use yarn", {"yarn"}),
        ("we no longer use pip, use uv", {"pip"}),
        ("we no longer use yarn workspaces", set()),
        ("we no longer run npm publish", set()),
        ("we no longer use npm for releases", set()),
        ("you no longer have to use yarn", set()),
        ("you don't need to use yarn", set()),
        ("npm is no longer forbidden", set()),
    ],
)
def test_what_is_no_longer_used_is_given_up_and_what_need_not_be_is_not(rule: str, tools: set[str]) -> None:
    assert given_up_by(rule) == tools
