"""Edits of JSON as text, on documents of any shape."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.server.install.errors import Unreadable
from prowess.server.install.jsontext import parse, remove, set_value, value_at

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
# An empty container that spans lines is closed when it is emptied again, so its inside is not told here.
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
layouts = st.sampled_from(
    [
        {"indent": None, "separators": (",", ":")},
        {"indent": None, "separators": (", ", ": ")},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 4, "separators": (", ", " : ")},
    ]
)
remarks = st.sampled_from(["", " // x", " /* } */", "\n\n", "// {\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    value = draw(st.dictionaries(st.text().filter(lambda key: key not in ("mine", "list")), values))
    value["list"] = draw(st.lists(values))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), **draw(layouts))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if "\n" in text:
        lines = [line + draw(st.sampled_from(["", " // x", " /* , */"])) for line in text.split("\r\n")]
        text = "\r\n".join(lines) if "\r\n" in text else text
    lead = draw(remarks)
    return lead + "\n" * ("//" in lead) + text + draw(remarks), value


@settings(deadline=None)
@given(documents(), values)
def test_a_member_that_was_added_and_removed_leaves_no_trace(document: tuple[str, dict[str, Any]], value: Any) -> None:
    text, before = document
    added = set_value(text, ("mine", "a b"), value)
    assert parse(added).value == {**before, "mine": {"a b": value}}
    assert remove(added, ("mine",)) == text


@settings(deadline=None)
@given(documents(), values)
def test_an_item_that_was_added_and_removed_leaves_no_trace(document: tuple[str, dict[str, Any]], value: Any) -> None:
    text, before = document
    count = len(before["list"])
    added = set_value(text, ("list", count), value)
    assert value_at(parse(added), ("list",)) == [*before["list"], value]
    assert remove(added, ("list", count)) == text


@settings(deadline=None)
@given(documents(), values)
def test_an_item_goes_without_what_was_put_after_it(document: tuple[str, dict[str, Any]], value: Any) -> None:
    text, before = document
    count = len(before["list"])
    both = set_value(set_value(text, ("list", count), 1), ("list", count + 1), value)
    only = remove(both, ("list", count))
    assert value_at(parse(only), ("list",)) == [*before["list"], value]


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:/*\\n 1e-\n\t') | values.map(json.dumps))
def test_a_text_is_refused_or_read_as_the_standard_reads_it(text: str) -> None:
    mine: Any = None
    with suppress(Unreadable):
        mine = parse(text).value
    try:
        standard = json.loads(text)
    except ValueError:
        return
    assert mine == standard


@settings(deadline=None)
@given(documents(), st.data())
def test_a_broken_document_is_refused_with_a_line_of_it(
    document: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    text = document[0]
    cut = text[: data.draw(st.integers(0, parse(text).end - 1))]
    with pytest.raises(Unreadable) as told:
        parse(cut)
    assert 1 <= told.value.line <= cut.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", '{\n  "m": 1\n}'),
        ('{"a":1}', '{"a":1,"m":1}'),
        ('{ "a": 1 }', '{ "a": 1, "m": 1 }'),
        ('{\n\t"a": 1 // one\n}', '{\n\t"a": 1, // one\n\t"m": 1\n}'),
        ('{\r\n "a": 1,\r\n}', '{\r\n "a": 1,\r\n "m": 1,\r\n}'),
        ('{"a": 1 // one\n}', '{"a": 1, // one\n"m": 1\n}'),
    ],
)
def test_a_member_takes_the_layout_of_its_surroundings(text: str, wanted: str) -> None:
    assert set_value(text, ("m",), 1) == wanted
    assert remove(wanted, ("m",)) == text
