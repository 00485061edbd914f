"""``prowess memories``."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from clikit import Command

from prowess.learning.memories.lessons import rule_of
from prowess.server.cli.exits import Exit
from prowess.storage.events import MemorySaved
from prowess.storage.models import Memory, Origin
from prowess.storage.store import Store

AT = "2026-11-29T12:00:00.000Z"


@pytest.fixture
def remembered(home: Path) -> None:
    """A store with two memories."""

    async def fill() -> None:
        async with Store.open(home) as store:
            for key, text, project in (("m1", "look first", "shop"), ("m2", "ask the user", "bank")):
                memory = Memory(id=key, kind="lesson", text=text, at=AT, project=project, support=2)
                await store.append([MemorySaved(memory=memory)], origin=Origin())

    anyio.run(fill)


def test_the_list_has_what_was_kept(prowess: Command, remembered: None) -> None:
    assert {memory["id"] for memory in prowess("memories", "list", "--json").json} == {"m1", "m2"}
    assert len(prowess("memories", "list", "--limit", "1", "--json").json) == 1
    lines = prowess("memories", "list", "--project", "shop").out.splitlines()
    assert [line.split() for line in lines] == [
        ["ID", "KIND", "PROJECT", "TRUST", "SUPPORT", "TEXT"],
        ["m1", "lesson", "shop", "own", "2", "look", "first"],
    ]
    assert [line for line in lines if line.endswith(" ")] == []


def test_a_private_memory_and_its_end(prowess: Command, home: Path, remembered: None) -> None:
    assert prowess("memories", "private", "m1").out == "m1: private\n"
    assert prowess("memories", "private", "m1", "--json").json["change"] == "is private already"
    assert "lesson private" in prowess("memories", "list").out
    before = _head(home)
    assert prowess("memories", "private", "m1", "--off").out == "m1: no longer private\n"
    assert not any(memory["private"] for memory in prowess("memories", "list", "--json").json)
    # The mark's end, and the memory told anew to those who were told nothing of it.
    assert _head(home) == before + 2
    assert prowess("memories", "private", "m1", "--off").out == "m1: is not private, as before\n"
    assert _head(home) == before + 2


def _head(home: Path) -> int:
    async def read() -> int:
        async with Store.open(home) as store:
            return store.head

    return anyio.run(read)


def test_an_unknown_memory_is_not_found(prowess: Command, remembered: None) -> None:
    ended = prowess("memories", "private", "nothing")
    assert ended.code == Exit.NOT_FOUND
    assert "memories list" in ended.err


def test_a_memory_that_is_not_there_is_told_with_where_ids_are(prowess: Command, remembered: None) -> None:
    ended = prowess("memories", "private", "m")
    assert ended.code == Exit.NOT_FOUND
    assert "give the whole one" in ended.err


def _kept(prowess: Command) -> list[str]:
    listed = prowess("memories", "list", "--json").json
    return [f"{one['kind']} {one['project']}: {one['text']}" for one in listed if not one["superseded_by"]]


def test_a_rule_is_kept_in_the_words_of_the_person_once(prowess: Command) -> None:
    added = prowess("memories", "add", "never push to main,\n open a PR", "--project", "shop", "--json").json
    assert (added["change"], added["project"], added["superseded"]) == ("kept", "shop", [])
    assert prowess("memories", "add", "Never push to main, open a PR!", "--project", "shop").out == (
        "kept already for shop\n"
    )
    assert prowess("memories", "add", "never push to main, open a PR", "--project", "bank").out == "kept for bank\n"
    rule = "the user said: never push to main, open a PR"
    assert sorted(_kept(prowess)) == [f"constraint bank: {rule}", f"constraint shop: {rule}"]


def test_a_rule_takes_the_place_of_what_it_contradicts_or_allows(prowess: Command) -> None:
    for rule in ("we use pnpm here", "never push to main"):
        prowess("memories", "add", rule, "--project", "shop")
    added = prowess("memories", "add", "we use npm here", "--project", "shop").out
    assert added == "kept for shop\n  instead of: we use pnpm here\n"
    added = prowess("memories", "add", "you can push to main again", "--project", "shop").out
    assert added == "kept for shop\n  instead of: never push to main\n"
    ended = prowess("memories", "add", "you can push to main again", "--project", "bank")
    assert (ended.code, "no rule of the project is taken back by that" in ended.err) == (Exit.NOT_FOUND, True)
    assert not any("bank" in line for line in _kept(prowess))


def test_a_rule_has_no_secret(prowess: Command) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    prowess("memories", "add", f"always deploy with the token {secret}", "--project", "shop")
    (line,) = _kept(prowess)
    assert secret not in line
    assert "[masked:" in line


@pytest.mark.parametrize("rule", ["", " \n", "\u200b…", "never " * 60])
def test_a_rule_that_is_empty_or_long_is_refused(prowess: Command, rule: str) -> None:
    assert prowess("memories", "add", rule, "--project", "shop").code == Exit.USAGE


def test_a_rule_is_for_the_project_of_the_folder(
    prowess: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toys" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "toys")
    assert prowess("memories", "add", "always run the tests", "--json").json["project"].startswith("toys")
    (tmp_path / "nobody").mkdir()
    monkeypatch.chdir(tmp_path / "nobody")
    ended = prowess("memories", "add", "always run the tests")
    assert (ended.code, "belongs to no project" in ended.err) == (Exit.USAGE, True)


def test_a_rule_that_was_forgotten_is_not_told_as_kept(prowess: Command) -> None:
    told = ("--project", "shop", "--json")
    gone = prowess("memories", "add", "we use npm here", *told).json["id"]
    prowess("forget", "--memory", gone, "--yes")
    prowess("memories", "add", "we use pnpm here", *told)
    ended = prowess("memories", "add", "we use npm here", *told)
    assert (ended.code, "other words" in ended.err) == (Exit.FAILED, True)
    assert _kept(prowess) == ["constraint shop: the user said: we use pnpm here"]  # nothing took its place
    assert prowess("memories", "add", "we only use npm here", *told).json["superseded"] == ["we use pnpm here"]


def test_a_rule_and_its_permission_count_in_turns(prowess: Command) -> None:
    rule, permission = "never push to main", "you can push to main again"
    for words, before in ((rule, []), (permission, [rule]), (rule, [permission]), (permission, [rule])):
        told = prowess("memories", "add", words, "--project", "shop", "--json").json
        assert (told["change"], told["superseded"]) == ("kept", before)
    assert prowess("memories", "add", permission, "--project", "shop").out == "kept already for shop\n"
    assert _kept(prowess) == [f"constraint shop: the user said: {permission}"]


def test_a_rule_counts_after_what_a_clock_that_is_ahead_kept(prowess: Command, home: Path) -> None:
    async def fill() -> None:
        async with Store.open(home) as store:
            known = rule_of("never push to main", project="shop", at="2099-11-29T12:00:00.000Z")
            await store.append([MemorySaved(memory=known)], origin=Origin())

    anyio.run(fill)
    told = prowess("memories", "add", "you can push to main again", "--project", "shop", "--json").json
    assert told["superseded"] == ["never push to main"]
