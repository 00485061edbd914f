"""Secrets among escapes and colours, made at run time: no file of ours may hold anything that looks like one."""

from __future__ import annotations

import hashlib
import json
import random
import re

import pytest

from prowess.learning.redaction.masking import mask, mask_many
from prowess.learning.redaction.views import laid_out, view_of

PASSWORD = "correct-" + "horse7"


@pytest.mark.parametrize(
    "before",
    [
        "\\n",
        "\\t",
        "\\u0022",
        "\\x22",
        "%22",
        "%3D",
        "=3D",
        "\x1b[m",
        "\x1b[K",
        "\x1b[33m",
        "\\u001b[0;1m",
        "\x1b[38;5;214m",
    ],
)
def test_a_token_may_begin_right_behind_an_escape(before: str) -> None:
    hexadecimal = hashlib.sha1(PASSWORD.encode()).hexdigest()
    for name, token in (("aws-access-token", "AKI" + "A" + "Q2W3E4R5T6Y7U5P2"), ("sonar-token", f"sqp_{hexadecimal}")):
        assert mask(f"told{before}{token} end") == f"told{before}[masked:{name}] end"
    key = "AKI" + "A" + "Q2W3E4R5T6Y7U5P2"
    assert mask(f"told{before[:-1]}zz{key} end") == f"told{before[:-1]}zz{key} end"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("password%3D", ""),
        ("%7B%22password%22%3A%22", "%22%7D"),
        (r'{"body": "\u0022password\u0022:\u0022', r'\u0022"}'),
        (r"https://api.test?page=1\u0026p\u0061ssword\u003d", ""),
        ("&quot;password&quot;:&quot;", "&quot;"),
        ("\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K=", ""),
        ('\x1b[34;1m"password"\x1b[0m\x1b[39m:\x1b[0m \x1b[0;32m"', '"\x1b[0m'),
        (r"\u001b[1mpassword\u001b[0m: \u001b[32m", r"\u001b[0m"),
        ("postgresql%3A%2F%2Fbob%3A", "%40db.test%3A5432"),
    ],
)
def test_a_secret_is_masked_where_escapes_or_colours_stand_around_it_and_they_stay(before: str, after: str) -> None:
    masked = mask(before + PASSWORD + after)
    assert re.fullmatch(rf"{re.escape(before)}\[masked:[a-z-]+\]{re.escape(after)}", masked), masked
    assert mask(masked) == masked
    assert mask_many(["plain", before + PASSWORD + after]) == ["plain", masked]


def test_a_secret_with_escapes_in_it_is_masked_whole() -> None:
    assert mask("password=p%40ss%3Dw0rd7 x") == "password=[masked:secret-assignment] x"
    assert (
        mask("password: \x1b[32mcorr\x1b[1mect-horse7\x1b[0m") == "password: \x1b[32m[masked:secret-assignment]\x1b[0m"
    )


def test_a_view_knows_where_each_of_its_bytes_stands() -> None:
    view = view_of(b"a%3Db \x1b[1mc\x1b[0md")
    assert view is not None
    assert view.text == b"a=b cd"
    assert [view.span(at, at + 1) for at in range(6)] == [(0, 1), (1, 4), (4, 5), (5, 6), (10, 11), (15, 16)]
    assert view.span(1, 5) == (1, 11)
    assert view_of(b"100 % of %d \\n") is None


PLACED = [
    "- name: DB_PASSWORD\n  value: {}",
    "- value: {}\n  name: DB_PASSWORD",
    "machine h\nlogin bob\npassword {}",
    "password: |\n  {}",
    "<key>password</key>\n<string>{}</string>",
    "requirepass {}",
    "Password:\n{}",
    "gh auth login --with-token <<EOF\n{}\nEOF",
    'expect "password:"\nsend "{}"',
    'output "db_password" {{\n  value = "{}"\n}}',
]


@pytest.mark.parametrize("placed", PLACED)
@pytest.mark.parametrize("mark", ["{:>6}→{}", "{:>6}\t{}", "conf/a.env:{}:{}", "a.yml-{}-{}", "+{1}"])
def test_a_secret_is_found_where_a_tool_numbers_or_marks_each_line(placed: str, mark: str) -> None:
    secret = "Summer!Lake#91"
    lines = placed.format(secret).split("\n")
    shown = "\n".join(mark.format(number, line) for number, line in enumerate(lines, 12))
    for text in (shown, json.dumps({"out": shown}), json.dumps({"body": json.dumps({"out": shown})})):
        masked = mask(text)
        assert secret not in masked
        assert mask(masked) == masked
    json.loads(masked)


def test_a_key_is_masked_whole_where_its_lines_are_numbered() -> None:
    body = ["".join(random.Random(line).choices("ABCDEFGHJKabcdefghjk23456789", k=64)) for line in range(20)]
    key = ["-----BEGIN RSA " + "PRIVATE KEY-----", *body, "-----END RSA " + "PRIVATE KEY-----"]
    for lines in (key, key[:-3]):
        masked = mask("\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, 1)))
        assert not [line for line in body if line[:12] in masked]


def test_code_with_escapes_is_not_laid_out_and_json_is() -> None:
    assert laid_out(b'print("a\\n")\n' + b"x = 1\n" * 8) is None
    view = laid_out(b'{"out": "   12\\tpassword: |\\n   13\\t  x"}')
    assert view is not None
    assert view.text == b'{"out": "password: |\n  x"}'
    assert view.span(view.text.index(b"x"), view.text.index(b"x") + 1) == (38, 39)
