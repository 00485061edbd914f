"""How the shim reads and writes lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prowess.server.shim import wire
from prowess.server.shim.stream import IDEMPOTENCY_KEY, Splitter

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["id", "method", "params", "x", "_meta"]), values, max_size=5)


def _json(value: Any, **options: Any) -> bytes:
    return json.dumps(value, **options).encode("utf-8", "surrogatepass")


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # NaN is itself here


@given(objects, st.sampled_from([None, 1]), st.booleans())
def test_a_message_is_read_as_the_standard_library_reads_it(value: Any, indent: int | None, ascii_only: bool) -> None:
    line = _json(value, indent=indent, ensure_ascii=ascii_only)
    message = wire.parse(line)
    assert message is not None
    assert _same(message.fields, json.loads(line.decode("utf-8", "surrogateescape")))
    assert message.text.encode("utf-8", "surrogateescape") == line


def _altered(line: bytes, at: int, put: bytes) -> bytes:
    return line[:at] + put + line[at + 1 :]


@given(st.binary(max_size=60) | st.builds(_altered, objects.map(_json), st.integers(0, 99), st.binary(max_size=2)))
@example(b"{")
@example(b"{}")
@example(b'{"a" "b"}')
@example(b'{"a":}')
@example(b'{"a":1,}')
@example(b'{"a":1 "b":2}')
@example(b'{"a":' + b"9" * 5000 + b"}")
@example(b'{"a":' + b"[" * 100_000)
@example(b'{"a":1}x')
@example(b'{"a\\ud8')
@example(b'{"a":"\\u12')
@example(b'{"a":nul}')
def test_any_bytes_are_a_message_or_none(line: bytes) -> None:
    message = wire.parse(line)
    if message is not None:
        assert _same(json.loads(line.decode("utf-8", "surrogateescape"), strict=False), message.fields)


@given(
    objects,
    st.none() | st.dictionaries(st.sampled_from(["_meta", "name", "é"]), values | objects, max_size=3),
    st.sampled_from([None, 1]),
)
def test_a_key_is_put_in_and_all_else_stays(fields: Any, params: Any, indent: int | None) -> None:
    if params is not None:
        fields = {**fields, "params": params}
    line = _json(fields, indent=indent)
    message = wire.parse(line)
    assert message is not None
    keyed = wire.with_key(message, "s:1")
    told = json.loads(keyed)
    params = fields.get("params")
    if not isinstance(params, dict) or not isinstance(params.get("_meta", {}), dict):
        assert keyed == line
        return
    assert told["params"]["_meta"].pop(IDEMPOTENCY_KEY) == "s:1"
    if "_meta" not in params:
        assert told["params"].pop("_meta") == {}
    assert _same(told["params"], params)
    assert keyed.count(b'"prowess/idempotency-key":"s:1"') == 1


def test_a_call_without_params_is_left_to_the_hub_to_refuse() -> None:
    for line in (b'{"id":1}', b'{"id":1,"params":[]}', b'{"id":1,"params":{"_meta":null}}', b'{"params":{"_meta":7}}'):
        message = wire.parse(line)
        assert message is not None
        assert wire.with_key(message, "k") == line


def test_of_two_members_with_one_name_the_last_counts() -> None:
    message = wire.parse(b'{"params":{"a":1},"params":{"_meta":{},"_meta":{"b":1}}}')
    assert message is not None
    assert wire.with_key(message, "k") == (
        b'{"params":{"a":1},"params":{"_meta":{},"_meta":{"prowess/idempotency-key":"k","b":1}}}'
    )


@given(values)
def test_what_it_writes_is_json(value: Any) -> None:
    if "NaN" not in json.dumps(value) and "Infinity" not in json.dumps(value):
        assert json.loads(wire.dump(value)) == value


@given(
    st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=12),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_stream_is_cut_into_its_lines_however_it_comes(lines: list[bytes], size: int, ended: bool) -> None:
    stream = b"\n".join(lines) + (b"\n" if ended else b"")
    splitter = Splitter(limit=20)
    found = [line for at in range(0, len(stream), size) for line in splitter.feed(stream[at : at + size])]
    found += splitter.rest()
    wanted = [None if len(line) > 20 else line.strip() for line in lines]
    assert found == [line for line in wanted if line != b""]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"id":7,', 7),
        (b'{"id" : "a\\"b", "x', 'a"b'),
        (b'{"id":true,', None),
        (b'{"id":1.5,', None),
        (b'{"id"', None),
        (b'{"id":', None),
        (b'{"id":[', None),
        (b"nothing", None),
        (b'\xff{"id":3,', 3),
        (b" " * 600 + b'{"id":7,', None),
    ],
)
def test_the_id_of_a_broken_line_is_guessed(line: bytes, found: Any) -> None:
    assert wire.guessed_id(line) == found


def test_an_error_names_reason_and_hint() -> None:
    assert json.loads(wire.error_line("é", "no hub", "start one")) == {
        "jsonrpc": "2.0",
        "id": "é",
        "error": {
            "code": -32000,
            "message": "no hub\nhint: start one",
            "data": {"reason": "no hub", "hint": "start one"},
        },
    }
    assert wire.error_line(None, "a\nb", "c").count(b"\n") == 1
