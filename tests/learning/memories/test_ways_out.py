"""Which ways out of an error are worth telling, and in how few words: what weeks of work left beside the useful."""

from __future__ import annotations

from typing import Any

import pytest
from made_episodes import episode
from msgspec.structs import replace

from prowess.learning.memories.interchangeable import forbidden_by
from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import lessons_of
from prowess.learning.mining.patterns import mine
from prowess.learning.templates import template
from prowess.storage.models import Memory, Outcome, Step
from prowess.tools.lessons import memory_of

AT = "2026-11-29T13:50:01.000Z"
REFUSED = 'psycopg.OperationalError: connection to server at "127.0.0.1" failed'
LOCKED = "\u2502 Error: Error acquiring the state lock\n\u2502 ID: 9a1c2f3e-1111-2222-3333-444455556666"
INDEX = "fatal: Unable to create '/srv/shop/.git/index.lock': File exists.\n\nAnother git process seems to be running"


def ran(line: str, *, tool: str = "Bash") -> Step:
    name = "command" if tool == "Bash" else "file_path"
    return Step(
        episode_id="", number=1, action=f"{tool}: {line}", at="", tool=tool, args={name: None}, outcome="success"
    )


def edited(file: str) -> Step:
    return ran(file, tool="Edit")


def broke(line: str, error: str) -> Step:
    return replace(ran(line), error=error, outcome="failure")


def lessons(*steps: Step, key: str = "e", outcome: Outcome = "success", at: str = AT) -> list[Memory]:
    made = episode(key, steps, project="shop")
    made = replace(made, episode=replace(made.episode, outcome=outcome))
    return [memory for memory in lessons_of(made, (), at=at, trust="own") if memory.support]


def ways(*steps: Step) -> list[str]:
    return [memory.text.partition("it worked ")[2] for memory in lessons(*steps)]


@pytest.mark.parametrize(
    "look", ["docker ps", "ls", "kubectl config get-contexts", "cd /srv; cat compose.yml | head -3"]
)
def test_a_look_is_no_part_of_the_way_out(look: str) -> None:
    steps = broke("pytest -q", REFUSED), ran(look), ran("docker compose up -d db"), ran("pytest -q")
    assert ways(*steps) == ["after `docker compose up -d db`"]


def test_the_same_way_out_is_one_lesson_with_or_without_a_look_and_that_of_the_pattern() -> None:
    failed, up, again = broke("pytest -q", REFUSED), ran("docker compose up -d db"), ran("pytest -q")
    (plain,), (looked,) = lessons(failed, up, again), lessons(failed, ran("docker ps"), up, again)
    assert plain.id == looked.id
    found = mine([episode(key, [failed, ran("docker ps"), up, again], project="shop") for key in "ab"])
    (pattern,) = [one for one in found if one.kind == "recovery"]
    told = memory_of(pattern, project="shop", at=AT, trust="own")
    assert told is not None
    assert told.id == plain.id


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kubectl -n jobs get jobs", "kubectl -n jobs get jobs | grep -v 1/1"),
        ("cd .. && uv run pytest -q", "uv run pytest -q"),
        ("npm test 2>&1 | grep FAIL | head -3", "npm test"),
    ],
)
def test_what_is_printed_and_where_one_came_from_is_not_called_otherwise(old: str, new: str) -> None:
    assert ways(broke(old, "error: not logged in"), ran("make login"), ran(new)) == ["after `make login`"]


def test_a_command_that_helped_is_told_whole() -> None:
    line = "aws eks update-kubeconfig --name shop-prod --region eu-west-1 --profile shop-prod"
    failed = broke("kubectl get pods", "error: You must be logged in to the server")
    assert ways(failed, ran(line), ran("kubectl get pods")) == [f"after `{line}`"]


@pytest.mark.parametrize(
    ("line", "error", "force"),
    [
        ("terraform plan", LOCKED, "terraform force-unlock -force 9a1c2f3e-1111-2222-3333-444455556666"),
        ("terraform plan", LOCKED, "sleep 60"),
        ("git commit -m a", INDEX, "rm -f .git/index.lock"),
        ("git commit -m a", template(INDEX), "rm -f .git/index.lock"),  # as a summary tells it
        ("apt-get install x", "E: Could not get lock /var/lib/dpkg/lock", "sudo rm /var/lib/dpkg/lock-frontend"),
    ],
)
def test_to_wait_for_a_lock_or_to_break_it_is_no_lesson(line: str, error: str, force: str) -> None:
    assert ways(broke(line, error), ran(force), ran(line)) == []
    assert ways(broke(line, error), ran("make stop-ci"), ran(line)) == ["after `make stop-ci`"]


def test_changes_for_another_error_are_no_part_of_the_way_out_of_the_first() -> None:
    missing = broke("pnpm test", "Cannot find module '../generated/client'")
    steps = missing, ran("pnpm codegen"), broke("pnpm test", "assert 1 == 2"), edited("/p/price.ts"), ran("pnpm test")
    assert ways(*steps) == ["after `pnpm codegen`"]


def test_what_was_being_made_and_did_not_work_is_no_warning() -> None:
    panic = broke("cargo run", "thread 'main' panicked at src/main.rs:88:14: InvalidHeaderValue")
    assert lessons(edited("/p/main.rs"), panic, outcome="failure") == []
    (warning,) = lessons(panic, outcome="failure")
    assert warning.kind == "warning"
    (missing,) = lessons(edited("/p/main.rs"), broke("cargo run", "error: linker cc not found"), outcome="failure")
    assert "not found" in missing.text


# ---- what the person forbids


@pytest.mark.parametrize(
    ("rule", "tools"),
    [
        ("we use pnpm here, not npm", {"npm"}),
        ("never use pip here, we use uv for everything in this repo", {"pip"}),
        ("never use npm or yarn", {"npm", "yarn"}),
        ("don't use pip", {"pip"}),
        ("we use npm here now", set()),
        ("never push to main", set()),
        ("never commit without running pytest", set()),
    ],
)
def test_a_rule_forbids_tools(rule: str, tools: set[str]) -> None:
    assert forbidden_by(rule) == tools


def rule(words: str, *, at: str = AT, **more: Any) -> Memory:
    told = {"kind": "constraint", "at": at, "project": "shop", "support": 1, "evidence": (f"+{words}",)}
    return Memory(id=words, text=f"the user said: {words}", subject=f"rule | {words}", **{**told, **more})


def test_a_lesson_that_calls_what_a_rule_forbids_gives_way_until_the_rule_does() -> None:
    steps = broke("npm install", "npm ERR! ERESOLVE"), ran("npm install --legacy-peer-deps")
    (lesson,) = lessons(*steps)
    (other,) = lessons(broke("npm install", "npm ERR! ENOLOCK"), ran("pnpm import"), ran("npm install"), key="o")
    known = merged([], [lesson, other, rule("we use pnpm here, not npm")])
    assert known[lesson.id].superseded_by == "we use pnpm here, not npm"
    assert known[other.id].superseded_by is None
    again = merged(known.values(), [rule("use npm instead of pnpm", at="2026-11-30T00:00:00.000Z")])
    assert again["we use pnpm here, not npm"].superseded_by
    assert again[lesson.id].superseded_by is None


@pytest.mark.parametrize("said", ["never run npm publish", "never push without npm test", "don't use npm -g"])
def test_a_lesson_does_not_give_way_to_what_forbids_a_part_or_demands_it(said: str) -> None:
    (lesson,) = lessons(broke("npm install", "npm ERR! ERESOLVE"), ran("npm install --legacy-peer-deps"))
    assert merged([], [lesson, rule(said)])[lesson.id].superseded_by is None


def test_what_is_borne_out_after_the_rule_is_told_again() -> None:
    steps = broke("npm install", "npm ERR! ERESOLVE"), ran("npm install --legacy-peer-deps")
    (lesson,), (later,) = lessons(*steps), lessons(*steps, key="l", at="2026-12-24T00:00:00.000Z")
    known = merged([], [lesson, rule("we use pnpm here, not npm")])
    assert merged(known.values(), [later])[lesson.id].superseded_by is None
    elsewhere = rule("we use pnpm here, not npm", project="bank")
    assert merged([], [lesson, elsewhere])[lesson.id].superseded_by is None
