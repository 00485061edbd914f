"""The same value is a secret or none, by what stands around it; and in one place some values are and others are not."""

from __future__ import annotations

import random
import re

import pytest

from prowess.learning.redaction.masking import mask

RNG = random.Random(3)
SMALL = "".join(RNG.choices("abcdefghjkmnpqrstuvwxyz23456789", k=40))
TOKEN = "".join(RNG.choices("abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789", k=40))
STRONG = TOKEN[:16]
PASSWORD = "correct-" + "horse7"
PLAIN = "home-page-2"
UUID = "3f2b8c1e-9d4a-4f6b-8a7c-1e2d3c4b5a69"


@pytest.mark.parametrize(
    ("around", "secret", "other"),
    [
        ("session_key = {}", TOKEN[:24], PLAIN),
        ('api_key = "{}"', PLAIN, "home page"),
        ("DB_PASS={}", PASSWORD, "$DB_PASS"),
        ("pass: '{}'", PLAIN, "{secret}"),
        ("smtp_pass {}\nport 25", PASSWORD, "was wrong"),
        ("auth_token {}\nport 25", TOKEN, PLAIN),
        ("secret('{}')", TOKEN, PLAIN),
        ("builder.secret('{}')", PLAIN, "name"),
        ("<adminPassword>{}</adminPassword>", PASSWORD, "required"),
        ("<adminToken>{}</adminToken>", TOKEN, PLAIN),
        ("PASSWORD '{}'", PLAIN, "field"),
        ("TOKEN '{}'", STRONG, PLAIN),
        ("| token | {} |", TOKEN, PLAIN),
        ("use pat-{} here", UUID, "argument-2"),
        ("use key_{} here", SMALL[:32], SMALL[:31]),
        ("use xyp_{} here", SMALL[:36], SMALL[:35]),
        ("use xyp_{} here", TOKEN, TOKEN[:10]),
        ("GET /?session={} HTTP/1.1", TOKEN, UUID),
        ("GET /?PHPSESSID={} HTTP/1.1", UUID, "12"),
        ("git clone https://bob:{}@git.test/a.git", "horse7", "a/b"),
    ],
)
def test_in_one_place_what_looks_like_a_secret_is_masked_and_what_does_not_stays(
    around: str, secret: str, other: str
) -> None:
    before, after = map(re.escape, around.split("{}"))
    assert re.fullmatch(rf"{before}\[masked:[a-z-]+\]{after}", mask(around.format(secret)))
    assert mask(around.format(other)) == around.format(other)


@pytest.mark.parametrize(
    ("around", "value"),
    [
        ("unexpected password '{}'", PLAIN),
        ("invalid token '{}'", STRONG),
        ("they pass '{}' on", PLAIN),
        ("pass = {}", PLAIN),
        ("use api-{} here", UUID),
        ("compass = {}", PLAIN),
        ("a line about the token {} and more", PLAIN),
    ],
)
def test_where_no_secret_is_told_a_value_stays(around: str, value: str) -> None:
    assert mask(around.format(value)) == around.format(value)
