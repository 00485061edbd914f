from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.synthesis.templates import canonical, escape, fill, match, placeholders, rename, substitute

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_an_escaped_value_matches_itself_and_fills_to_itself(value: Any) -> None:
    template = escape(value)
    assert placeholders(template) == []
    assert canonical(fill(template, {})) == canonical(value)
    assert match(template, value, {}) == {}


@given(JSON, JSON)
def test_an_escaped_value_matches_nothing_else(value: Any, other: Any) -> None:
    assert (match(escape(value), other, {}) is not None) == (canonical(value) == canonical(other))


@given(JSON)
def test_a_placeholder_alone_takes_a_value_of_any_type(value: Any) -> None:
    bound = match({"x": "{it}"}, {"x": value}, {})
    assert bound is not None
    assert canonical(fill({"x": "{it}"}, bound)) == canonical({"x": value})


def test_a_placeholder_within_a_text_takes_a_piece_of_it() -> None:
    assert match("find {path} -name '{name}'", "find /a/b -name '*.py'", {}) == {"path": "/a/b", "name": "*.py"}
    assert match("find {path} -name x", "find  -name x", {}) is None


def test_a_placeholder_means_the_same_everywhere() -> None:
    template = {"a": "{id}", "b": ["{id}", "to {id}"]}
    assert match(template, {"a": "7", "b": ["7", "to 7"]}, {}) == {"id": "7"}
    assert match(template, {"a": "7", "b": ["8", "to 7"]}, {}) is None
    assert match("{id}", 7, {"id": 8}) is None
    assert match("cp {f} {f}.bak", "cp a a.bak", {}) == {"f": "a"}
    assert match("cp {f} {f}.bak", "cp a b.bak", {}) is None


def test_matching_takes_no_longer_for_hostile_templates() -> None:
    assert match(" ".join(f"{{p{n}}}" for n in range(30)) + "!", "a " * 20_000, {}) is None
    assert match("{a}{b}{c}", "xyz…", {}) == {"a": "x", "b": "y", "c": "z…"}


def test_types_are_told_apart() -> None:
    assert match(1, True, {}) is None
    assert match("1", 1, {}) is None
    assert match([1], {"0": 1}, {}) is None
    assert match({"a": 1}, {"a": 1, "b": 2}, {}) is None


def test_braces_that_are_no_placeholders_are_themselves() -> None:
    assert placeholders("awk '{print $1}' {file} {{name}} {} ${HOME}") == ["file", "HOME"]
    assert fill("awk '{print $1}' {file} {{name}}", {"file": "a", "name": "no"}) == "awk '{print $1}' a {name}"


@pytest.mark.parametrize("unknown", ["{x}", "a {x}", {"k": ["{x}"]}])
def test_what_has_no_value_stays(unknown: Any) -> None:
    assert fill(unknown, {}) == unknown


def test_renaming_and_substituting_leave_literals_alone() -> None:
    assert rename({"a": "{x} {{x}}"}, {"x": "y"}) == {"a": "{y} {{x}}"}
    assert substitute({"a": "{x} {{x}}", "b": "{x}"}, {"x": "{y}"}) == {"a": "{y} {{x}}", "b": "{y}"}
    assert substitute("{x}", {"x": 5}) == 5
