"""What episodes teach, what says the same, what gives way, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from made_episodes import episode, failing
from msgspec.structs import replace

from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import beyond, lessons_of, subject_of
from prowess.storage.models import Memory, Outcome, Step, Trajectory

AT = "2026-11-29T13:50:01.000Z"
ERROR = "Error: linker ld not found"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def taught(key: str, *calls: Any, reasons: tuple[str, ...] = (), outcome: Outcome = "success", **about: Any) -> Any:
    made: Trajectory = episode(key, calls, **about)
    made = replace(made, episode=replace(made.episode, outcome=outcome))
    return lessons_of(made, reasons, at=about.get("at", AT), trust="own")


def texts(memories: Any) -> list[str]:
    return [memory.text for memory in memories]


def fail() -> Step:
    return failing("make", ERROR)


def test_an_error_that_was_got_over_teaches_what_was_done() -> None:
    (lesson,) = taught("e1", fail(), "install", "make")
    assert lesson.text == f"When make failed with “{ERROR}”, it worked after install"
    assert (lesson.kind, lesson.subject) == ("lesson", subject_of("make", ERROR))
    assert (lesson.support, lesson.against, lesson.episode_id) == (1, 0, "e1")
    assert texts(taught("e1", fail(), "make")) == [f"When make failed with “{ERROR}”, it worked after calling it again"]


def test_an_error_may_be_told_as_any_other_result() -> None:
    came_back = replace(failing("make", ERROR), error=None, observation=ERROR, outcome="failure")
    assert texts(taught("e1", came_back, "install", "make")) == texts(taught("e1", fail(), "install", "make"))
    nothing = replace(came_back, observation=None)
    assert texts(taught("e1", "look", nothing, outcome="failure")) == ["make fails with “no message”"]


def test_what_was_tried_in_vain_speaks_against_it() -> None:
    (lesson,) = taught("e1", fail(), "install", fail())
    assert (lesson.support, lesson.against) == (0, 1)
    assert lesson.evidence[0].startswith("-")
    assert lesson.id == taught("e2", fail(), "install", "make")[0].id


def test_a_failed_episode_warns_of_the_error_it_ended_with() -> None:
    (warning,) = taught("e1", "look", fail(), "look", outcome="failure")
    assert (warning.kind, warning.text) == ("warning", f"make fails with “{ERROR}”")
    assert taught("e1", "look", fail(), "look", outcome="success") == []
    assert texts(taught("e1", fail(), "make", outcome="failure")) == texts(taught("e1", fail(), "make"))


def test_what_the_person_stopped_teaches_nothing() -> None:
    no = failing("make", REJECTED)
    assert taught("e1", no, "install", "make") == []
    assert taught("e1", no, "make") == []
    assert taught("e1", "look", no, outcome="failure") == []


def test_a_call_that_the_person_stopped_did_not_get_over_an_error() -> None:
    no = failing("make", REJECTED)
    assert taught("e1", fail(), "install", no) == []
    assert texts(taught("e1", fail(), no, "install", "make")) == texts(taught("e1", fail(), "install", "make"))
    assert texts(taught("e1", fail(), no, outcome="failure")) == [f"make fails with “{ERROR}”"]


def test_the_reason_of_the_last_score_is_kept_with_the_task() -> None:
    said = ("first try was broken somehow", "the cache had to be emptied before building", "ok")
    (lesson,) = taught("e1", "look", reasons=said, task="build the docs")
    assert lesson.text == "“build the docs” worked: the cache had to be emptied before building"
    (warning,) = taught("e1", "look", reasons=said, task="build the docs", outcome="failure")
    assert (warning.kind, warning.subject) == ("warning", lesson.subject)
    assert taught("e1", "look", reasons=said, task="build the docs", outcome="unknown") == []
    assert taught("e1", "look", reasons=("done",), task="build the docs") == []


@pytest.mark.parametrize(
    "said",
    ["user says it works", "The export works as requested; all tests pass", "tests failed, the commit was wrong"],
)
def test_a_reason_that_only_says_how_it_went_teaches_nothing(said: str) -> None:
    assert taught("e1", "look", reasons=(said,), task="add an export of the postings") == []


def of(*groups: list[Memory]) -> dict[str, Memory]:
    """The memories after these lessons, one group after the other."""
    known: dict[str, Memory] = {}
    for group in groups:
        known = merged(known.values(), group)
    return known


def at(day: int) -> str:
    return f"2026-11-{day:02}T00:00:00.000Z"


def lesson(key: str, *calls: Any, day: int = 1) -> list[Memory]:
    return [replace(memory, at=at(day)) for memory in taught(key, *calls)]


def test_the_same_lesson_of_two_episodes_is_one_with_both_as_evidence() -> None:
    (known,) = of(lesson("e1", fail(), "install", "make"), lesson("e2", fail(), "install", "make", day=2)).values()
    assert (known.support, len(known.evidence), known.at, known.episode_id) == (2, 2, at(2), "e1")


def test_an_episode_counts_once_however_often_it_is_looked_at() -> None:
    once = lesson("e1", fail(), "install", "make")
    assert of(once, once, once) == of(once)


def worded(key: str, said: str, *, task: str = "build the docs", outcome: Outcome = "success", day: int = 1) -> Any:
    found = taught(key, "look", reasons=(said,), task=task, outcome=outcome)
    return [replace(memory, at=at(day)) for memory in found]


def test_nearly_the_same_words_are_one_memory() -> None:
    known = of(
        worded("e1", "The cache had to be emptied before building the manual"),
        worded("e2", "the cache had to be emptied, before building that manual!"),
    )
    (memory,) = known.values()
    assert memory.support == 2


def test_another_number_or_a_negation_is_another_memory() -> None:
    known = of(
        worded("e1", "the server listens on port 8000 behind the proxy"),
        worded("e2", "the server listens on port 9000 behind the proxy"),
        worded("e3", "the server never listens on port 9000 behind the proxy"),
    )
    assert len(known) == 3


def test_a_lesson_that_failed_twice_in_a_row_gives_way_to_another_and_is_kept() -> None:
    old = [lesson(f"e{number}", fail(), "install", "make") for number in range(3)]
    new = lesson("e4", fail(), "update", "make", day=2)
    vain = [lesson(f"v{number}", fail(), "install", fail(), day=3) for number in range(2)]
    once = of(*old, new, vain[0])
    assert [memory.superseded_by for memory in once.values()] == [None, None]
    twice = of(*old, new, *vain)
    first, second = twice.values()
    assert (first.superseded_by, second.superseded_by) == (second.id, None)
    assert (first.support, first.against) == (3, 2)


def test_a_lesson_without_another_gives_way_to_a_warning() -> None:
    known = of(
        lesson("e1", fail(), "install", "make"),
        lesson("v1", fail(), "install", fail()),
        lesson("v2", fail(), "install", fail()),
    )
    old, warning = known.values()
    assert old.superseded_by == warning.id
    assert (warning.kind, warning.text) == (
        "warning",
        f"When make failed with “{ERROR}”, it failed again after install",
    )


def test_new_evidence_brings_a_superseded_lesson_back() -> None:
    vain = [lesson(f"v{number}", fail(), "install", fail()) for number in range(2)]
    known = of(
        lesson("e1", fail(), "install", "make"), *vain, *(lesson(f"n{n}", fail(), "install", "make") for n in "12")
    )
    assert known[lesson("e1", fail(), "install", "make")[0].id].superseded_by is None


def test_a_lesson_that_comes_back_silences_the_warning_that_it_does_not_hold() -> None:
    vain = [lesson(f"v{number}", fail(), "install", fail()) for number in range(4)]
    first, again = (lesson(key, fail(), "install", "make") for key in ("e1", "e2"))
    old, warning = of(first, *vain[:2], again).values()
    assert (old.superseded_by, warning.superseded_by) == (None, old.id)
    old, warning = of(first, *vain[:2], again, *vain[2:]).values()
    assert (old.superseded_by, warning.superseded_by) == (warning.id, None)
    assert (warning.support, warning.against) == (4, 0)


def test_of_a_task_that_failed_and_then_worked_the_newer_is_told() -> None:
    failed = worded("e1", "the sandbox has no network access", outcome="failure", day=1)
    worked = worded("e2", "an offline mirror had to be configured", day=2)
    first, second = of(failed, worked).values()
    assert (first.superseded_by, second.superseded_by) == (second.id, None)
    other = worded("e3", "an offline mirror had to be configured", task="send the letter", day=2)
    assert [memory.superseded_by for memory in of(failed, other).values()] == [None, None]


def memory(key: str, importance: float, day: int, superseded_by: str | None = None) -> Memory:
    return Memory(id=key, kind="lesson", text=key, at=at(day), importance=importance, superseded_by=superseded_by)


def test_the_least_useful_go_first_and_superseded_ones_before_them() -> None:
    held = {
        m.id: m
        for m in (memory("best", 3, 1), memory("gone", 9, 9, "best"), memory("poor", 1, 1), memory("fair", 2, 1))
    }
    assert beyond(held, 4) == []
    assert beyond(held, 3) == ["gone"]
    assert beyond(held, 2) == ["gone", "poor"]
    assert sorted(beyond(held, 0)) == ["best", "fair", "gone", "poor"]


def test_half_a_year_halves_what_a_memory_is_worth() -> None:
    """180 days before the newest 1.9 counts as 0.95."""
    held = {
        "old": replace(memory("old", 1.9, 1), at="2026-06-02T00:00:00.000Z"),
        "new": replace(memory("new", 1.0, 29), at="2026-11-29T00:00:00.000Z"),
    }
    assert beyond(held, 1) == ["old"]
    assert beyond({**held, "old": replace(held["old"], importance=2.1)}, 1) == ["new"]


def rules(*prompts: str, key: str = "e1", day: int = 1) -> list[Memory]:
    return [replace(memory, at=at(day)) for memory in typed("\n\n".join(prompts), key)]


def typed(
    task: str, key: str, *, task_id: str = "", session: str = "s", call: str = "codex:s:c1", did: Any = "look"
) -> list[Memory]:
    made: Trajectory = episode(key, [did], task=task, task_id=task_id or f"codex:s:{key}")
    steps = tuple(replace(step, external_id=call) for step in made.steps)
    known = replace(made.episode, session=session, outcome="success")
    return lessons_of(replace(made, episode=known, steps=steps), (), at=AT, trust="own")


def test_what_the_person_wants_always_is_kept_in_their_words() -> None:
    (rule,) = rules("Add a DNS record", "no, never apply to prod from here. Open a PR, atlantis applies it")
    assert rule.text == "the user said: never apply to prod from here. Open a PR, atlantis applies it"
    assert (rule.kind, rule.support, rule.episode_id) == ("constraint", 1, "e1")


def test_a_rule_that_is_said_again_has_both_episodes_as_evidence() -> None:
    again = rules("x", "please never push to main!", key="e2", day=2)
    (known,) = of(rules("x", "never push to main"), again).values()
    assert (known.support, known.text) == (2, "the user said: never push to main")


def test_a_rule_that_is_taken_back_gives_way() -> None:
    old, new = rules("x", "use npm instead of pnpm"), rules("x", "no, use pnpm instead of npm", key="e2", day=2)
    known = of(old, new)
    assert [memory.text for memory in known.values() if not memory.superseded_by] == [
        "the user said: use pnpm instead of npm"
    ]
    third = of(list(known.values()), rules("x", "use npm instead of pnpm", key="e3", day=3))
    assert [memory.text for memory in third.values() if not memory.superseded_by] == [
        "the user said: use npm instead of pnpm"
    ]


def test_an_action_with_a_pipe_does_not_split_its_subject() -> None:
    (lesson,) = taught("e1", failing("cat x | make", ERROR), "install", "cat x | make")
    assert lesson.subject.partition(" | ")[2] == ERROR


@pytest.mark.parametrize(
    "told",
    [
        {"task_id": "till-1"},  # as an agent names a task
        {"task_id": "codex:s:start"},  # nothing was typed yet
        {"call": "c1"},  # a file that was imported: its calls have other names
        {"task_id": "codex:http:s:e1", "session": "http:s", "call": "codex:http:s:c1"},
        {"session": ""},
    ],
)
def test_what_nobody_typed_is_no_word_of_the_user(told: dict[str, str]) -> None:
    said = "Add a page\n\nno, never push to main"
    assert [memory.text for memory in typed(said, "e1")] == ["the user said: never push to main"]
    assert typed(said, "e1", **told) == []


def test_a_rule_is_kept_that_was_said_when_the_only_call_was_rejected() -> None:
    (rule,) = typed("Add a page\n\nno, never push to main", "e1", did=failing("git", REJECTED))
    assert rule.text == "the user said: never push to main"


def live(known: dict[str, Memory]) -> list[str]:
    return [memory.text.removeprefix("the user said: ") for memory in known.values() if not memory.superseded_by]


def test_a_rule_gives_way_to_the_word_that_allows_it_again() -> None:
    never, may = "never push to main, open a PR from a branch", "you can push to main again"
    known = of(rules("x", never), rules("x", may, key="e2", day=2))
    assert live(known) == [may]
    again = of(list(known.values()), rules("x", never, key="e3", day=3))
    assert live(again) == [never]
    assert live(of(rules("x", may), rules("x", "never deploy by hand", key="e2", day=2))) == ["never deploy by hand"]


def test_a_rule_gives_way_to_the_newer_one_that_names_another_tool_of_the_same_role() -> None:
    known = of(rules("x", "we use pnpm here"), rules("x", "no, we use npm here", key="e2", day=2))
    assert live(known) == ["we use npm here"]
    again = of(list(known.values()), rules("x", "we use pnpm here", key="e3", day=3))
    assert live(again) == ["we use pnpm here"]
    of_the_docs = rules("x", "we use yarn here for the docs", key="e4", day=4)
    assert sorted(live(of(list(again.values()), of_the_docs))) == ["we use pnpm here", "we use yarn here for the docs"]


@pytest.mark.parametrize(
    "said",
    [
        [("use npm instead of pnpm", "use pnpm instead of npm")],
        [("we use pnpm here",), ("we use npm here",)],
        [("you can push to main again", "never push to main")],
        [("please never push to main",), ("never push to main!",), ("you can push to main again",)],
    ],
)
def test_an_episode_that_is_looked_at_again_takes_nothing_back(said: list[tuple[str, ...]]) -> None:
    told = [rules("x", *words, key=f"e{day}", day=day) for day, words in enumerate(said, 1)]
    known = of(*told)
    for again in told:
        assert merged(known.values(), again) == known


def test_what_a_person_wants_is_the_last_to_go_of_what_is_told() -> None:
    (rule,) = rules("x", "never push to main")
    (lesson,) = taught("e2", fail(), "install", "make")
    late = replace(lesson, importance=9.0, at="2031-01-01T00:00:00.000Z")
    assert beyond({"r": replace(rule, id="r"), "l": replace(late, id="l")}, 1) == ["l"]


def test_a_lesson_goes_with_the_episode_whose_call_it_tells() -> None:
    def called(key: str, name: str, before: str) -> list[Memory]:
        broke = replace(failing("Bash", f"Error: no module named '{name}'", {"command": "make"}), action="Bash: make")
        fixed = replace(broke, error=None, outcome="success", action=before, args={"command": before})
        works = replace(fixed, action="Bash: make", args={"command": "make"})
        return taught(key, broke, fixed, works)

    (first,), (second,) = called("e1", "flask", "Bash: pip install a"), called("e2", "django", "own words")
    assert "pip install a" in first.text
    assert "`" not in second.text
    assert first.id != second.id
    both = merged([first], [replace(second, id=first.id)])[first.id]
    assert "<str>" in both.text
    assert ("pip install a" in both.text, both.episode_id) == (True, "e1")
