from __future__ import annotations

import pytest
from catalogkit import at, feed, opened, remembered, saved, step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prowess.storage.catalog import Catalog, lexical
from prowess.storage.catalog.words import LONGEST_WORD, words
from prowess.storage.events import SkillStatusSet

HOSTILE = [
    "",
    " ",
    '"',
    "'",
    '"" OR ""',
    "* - + ^ : ( ) { } [ ]",
    "name:cancel",
    "-cancel",
    "cancel NOT order",
    "NEAR(cancel order, 2)",
    "cancel AND",
    "AND OR NOT NEAR",
    "cancel*",
    "'; DROP TABLE skills; --",
    "\0cancel\0",
    "\ud800 \udfff",
    "🎉👩‍👩‍👧",
    "\u202e\u200b\ufeff",
    "the of and",
    "%s {} ?",
    "ﷺ" * 50,
    "a" * 100_000,
    "word " * 50_000,
    " ".join(f"w{i}" for i in range(5_000)),
]


def ids(catalog: Catalog, query: str, **more: object) -> list[str]:
    return [key for key, _ in catalog.lexical("skill", query, 10, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize("query", HOSTILE)
def test_any_text_is_a_query(catalog: Catalog, query: str) -> None:
    feed(catalog, saved("k1", name="cancel an order"), saved("k2", name="other", description="", steps=()))
    for kind in ("skill", "episode", "memory"):
        assert isinstance(catalog.lexical(kind, query, 10), list)  # type: ignore[arg-type]
    assert ids(catalog, query) in ([], ["k1"])
    assert catalog.stats().skills == {"active": 2}


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(st.characters(), max_size=40))
def test_a_text_finds_itself_if_it_has_words(catalog: Catalog, text: str) -> None:
    stored = text.encode(errors="replace").decode()
    feed(catalog, remembered("m1", stored))
    found = [key for key, _ in catalog.lexical("memory", stored, 5)]
    assert found == (["m1"] if words(stored) else [])


def test_the_better_match_comes_first_with_the_higher_score(catalog: Catalog) -> None:
    feed(catalog, *[saved(f"n{i}", name=f"filler {i}", description="unrelated text") for i in range(5)])
    feed(catalog, saved("both", name="exchange boots"), saved("one", name="exchange rates"))
    (first, high), (second, low) = catalog.lexical("skill", "exchange the boots", 10)
    assert (first, second) == ("both", "one")
    assert high > low > 0
    assert ids(catalog, "exchange the boots")[:1] == [key for key, _ in catalog.lexical("skill", "exchange boots", 1)]


def test_a_name_weighs_more_than_a_description(catalog: Catalog) -> None:
    feed(catalog, *[saved(f"n{i}", name="filler words", description="other things") for i in range(5)])
    feed(catalog, saved("told", name="some words", description="refund things"))
    feed(catalog, saved("named", name="refund words", description="some things"))
    assert ids(catalog, "refund") == ["named", "told"]


def test_steps_and_keywords_are_searched(catalog: Catalog) -> None:
    feed(catalog, saved("k1", name="a", description="b", keywords=("warranty",)))
    assert ids(catalog, "cancelOrder") == ["k1"]
    assert ids(catalog, "warranties") == ["k1"]


def test_a_project_finds_its_own_and_what_is_for_all(catalog: Catalog) -> None:
    feed(catalog, saved("shared"), saved("own", project="shop"), saved("other", project="bank"))
    assert set(ids(catalog, "cancel")) == {"shared", "own", "other"}
    assert set(ids(catalog, "cancel", project="shop")) == {"shared", "own"}
    assert set(ids(catalog, "cancel", project="")) == {"shared"}


def test_retired_and_archived_skills_are_left_out(catalog: Catalog) -> None:
    feed(catalog, saved("active"), saved("draft", status="draft"), saved("retired", status="retired"), saved("old"))
    feed(catalog, SkillStatusSet(skill_id="old", status="archived", at=at(1)))
    assert set(ids(catalog, "cancel")) == {"active", "draft"}
    feed(catalog, SkillStatusSet(skill_id="old", status="active", at=at(2)))
    assert set(ids(catalog, "cancel")) == {"active", "draft", "old"}


def test_an_episode_is_found_once_by_its_task_and_by_its_actions(catalog: Catalog) -> None:
    feed(catalog, opened("e1", task="Return the parcel"), opened("e2", task="Something", project="bank"))
    feed(catalog, *[step(number, "e1", action=f"look up parcel number{number}") for number in range(1, 101)])
    feed(catalog, step(1, "e2", action="parcel", tool="post_office"))
    found = catalog.lexical("episode", "parcels", 10)
    assert sorted(key for key, _ in found) == ["e1", "e2"]
    assert [key for key, _ in catalog.lexical("episode", "number77", 10)] == ["e1"]
    assert [key for key, _ in catalog.lexical("episode", "PostOffice", 10)] == ["e2"]
    assert [key for key, _ in catalog.lexical("episode", "parcel", 10, "shop")] == ["e1"]


@pytest.mark.parametrize("limit", [0, -1])
def test_no_room_finds_nothing(catalog: Catalog, limit: int) -> None:
    feed(catalog, saved())
    assert catalog.lexical("skill", "cancel", limit) == []


def test_frequent_words_give_way_to_rare_ones(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MATCHES", 10)
    feed(catalog, *[saved(f"n{i}", name="common", description="text") for i in range(20)])
    feed(
        catalog,
        saved("rare", name="unusual", description="text"),
        saved("pair", name="common", description="text sale"),
    )
    assert ids(catalog, "common unusual") == ["rare"]
    assert ids(catalog, "common sale unusual") == ["rare", "pair"]


def test_frequent_words_alone_find_the_newest_that_have_them_all(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "MATCHES", 5)
    feed(catalog, *[saved(f"a{i}", name="alpha", description="text") for i in range(10)])
    feed(catalog, *[saved(f"b{i}", name="alpha beta", description="text") for i in range(10)])
    assert set(ids(catalog, "alpha beta")) == {"b5", "b6", "b7", "b8", "b9"}


def test_a_word_that_was_absent_is_found_once_it_is_saved(catalog: Catalog) -> None:
    assert ids(catalog, "zebra") == []
    feed(catalog, saved("k1", name="zebra"))
    assert ids(catalog, "zebra") == ["k1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find_user_id_by_email", ["find", "user", "id", "email"]),
        ("getUserDetails HTTPServer", ["get", "user", "detail", "http", "server"]),
        ("Orders, queries; classes & boxes", ["order", "query", "class", "box"]),
        ("process status analysis bus as is", ["process", "status", "analysis", "bus"]),
        ("naïve CAFÉ Straße", ["naive", "cafe", "strasse"]),
        ("日本語 x漢y", ["日本", "本語", "x", "漢", "y"]),
        ("v2.1 #42", ["v2", "1", "42"]),
        ("What should I do?", []),
        ("\0\ud800\u200b", []),
        ("x" * 99, ["x" * LONGEST_WORD]),
    ],
)
def test_text_becomes_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(st.characters()))
def test_words_are_plain(text: str) -> None:
    for word in words(text):
        assert word
        assert len(word) <= LONGEST_WORD * 3  # case folding may lengthen a letter
        assert not set(word) & set("\"'*():^-+ \0_")


def test_better_matches_that_may_not_be_seen_hide_none_that_may(catalog: Catalog) -> None:
    # 60 archived skills and 60 of another project say nothing but the word, so they match best.
    feed(catalog, *[saved(f"old{i}", name="refund", description="", steps=(), status="archived") for i in range(60)])
    feed(catalog, *[saved(f"far{i}", name="refund", description="", steps=(), project="bank") for i in range(60)])
    feed(catalog, *[saved(f"own{i}", name="refund of an order", description=f"{i}", project="shop") for i in range(3)])
    for _ in range(2):  # the second time it is known that few of the best may be seen
        assert ids(catalog, "refund", project="shop") == ["own0", "own1", "own2"]
        assert ids(catalog, "refund", project="bank") == [f"far{i}" for i in range(10)]
        assert ids(catalog, "refund") == [f"far{i}" for i in range(10)]
    feed(catalog, saved("new", name="refund", description="", steps=(), project="shop"))
    assert ids(catalog, "refund", project="shop") == ["new", "own0", "own1", "own2"]


def test_a_word_that_nothing_had_is_found_once_something_has_it(catalog: Catalog) -> None:
    feed(catalog, saved("k1"))
    assert ids(catalog, "lamp") == []
    assert catalog.frequencies("skill", ["lamp"])[0] == {"lamp": 0}
    feed(catalog, saved("k2", name="sell a lamp"))
    assert ids(catalog, "lamp") == ["k2"]
    assert catalog.frequencies("skill", ["lamp"])[0] == {"lamp": 1}
