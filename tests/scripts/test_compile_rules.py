from __future__ import annotations

import importlib.util
import subprocess
import sys

import compile_rules
import pytest
from compile_rules import TARGET, bounded, digest, keywords

from prowess.learning.redaction.rules import DIGEST, RULES, SOURCE


def test_the_rules_are_the_ones_that_were_compiled() -> None:
    assert digest(RULES) == DIGEST
    assert SOURCE.startswith("kingfisher-secret-scanner ")
    assert len(RULES) > 400


@pytest.mark.skipif(importlib.util.find_spec("kingfisher_sdk") is None, reason="the detector is not installed")
def test_compiling_again_gives_the_same_file() -> None:
    before = TARGET.read_bytes()
    subprocess.run([sys.executable, compile_rules.__file__], check=True, timeout=120)
    assert TARGET.read_bytes() == before


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a*b+c{2,}", "a{0,512}b{1,512}c{2,512}"),
        ("a*?(b)+", "a{0,512}?(b){1,16}"),
        (r"x(?i)a|b", "x(?i:a)|(?i:b)"),
        (r"(x(?i)y)z", "(x(?i:y))z"),
        (r"[[:alnum:]]\z", r"[0-9A-Za-z]\Z"),
        (r"[*+]\*", r"[*+]\*"),
    ],
)
def test_patterns_are_bounded_and_their_flags_scoped(pattern: str, expected: str) -> None:
    assert bounded(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "literals", "first"),
    [
        (r"\bgh[pu]_[a-z]{36}", {"ghp_", "ghu_"}, True),
        (r"(?i)(?:Dropbox|DBX)[ =]{0,20}[a-z]{15}", {"dropbox", "dbx"}, True),
        (r"crates(?:[_-]?io)?:[a-z]{32}", {"crates:", "crates_io:", "crates-io:", "cratesio:"}, True),
        (r"crates(?:[_-]?io)?[a-z]{32}", {"crates"}, True),
        (r"[a-z0-9]{14}\.atlasv1\.[a-z]{60}", {".atlasv1."}, False),
        (r"(?:A3T[A-Z0-9]|AKIA|ASIA)[A-Z2-7]{16}", {"a3t", "akia", "asia"}, True),
    ],
)
def test_keywords_are_literals_that_every_match_holds(pattern: str, literals: set[str], first: bool) -> None:
    found = keywords(pattern)
    assert found is not None
    assert (set(found.literals), found.first) == (literals, first)


def test_a_pattern_without_a_telling_literal_has_no_keywords() -> None:
    assert keywords(r"[0-9a-f]{32}\.[0-9A-Za-z]{16}") is None
