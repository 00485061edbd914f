"""What an answer takes is counted part by part, and is what it takes as a whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.rendering import count_tokens
from prowess.tools.examples import Example
from prowess.tools.find_skill import FindOutput
from prowess.tools.room import Room
from prowess.tools.skills import SkillCard, one_line
from prowess.tools.text import to_json

WORDS = st.text(st.sampled_from('ab Z9_-"\\{}é漢\u00df.:\n'), max_size=60)
VALUES = st.one_of(WORDS, st.integers(), st.none(), st.lists(WORDS, max_size=2))
STEPS = st.lists(st.fixed_dictionaries({"tool": WORDS, "args": st.dictionaries(WORDS, VALUES, max_size=2)}), max_size=3)
LINES = st.lists(WORDS.map(lambda text: one_line(text, 300)), max_size=3)
CARDS = st.builds(
    SkillCard,
    name=WORDS,
    id=WORDS,
    version=st.just(1),
    status=st.sampled_from(["draft", "active"]),
    description=WORDS,
    parameters=st.dictionaries(WORDS, st.fixed_dictionaries({"type": WORDS, "example": VALUES}), max_size=2),
    steps=STEPS,
    uses=st.integers(0, 20),
    success_rate=st.none() | st.floats(0, 1),
    support=st.just(2),
    why=WORDS,
)
EXAMPLES = st.builds(Example, task=WORDS.map(lambda text: one_line(text, 100)), episode_id=WORDS, steps=STEPS)


@given(
    st.lists(CARDS, max_size=3), st.lists(EXAMPLES, max_size=2), LINES, LINES, st.none() | WORDS, st.integers(40, 700)
)
def test_a_part_is_added_exactly_where_the_whole_with_it_has_room(
    cards: list[SkillCard],
    examples: list[Example],
    warnings: list[str],
    lessons: list[str],
    advice: str | None,
    most: int,
) -> None:
    answer = FindOutput(mode="lexical", notes=["a note"], advice=advice and one_line(advice, 100))
    room = Room(answer, most)
    parts = [(room.card, answer.skills, cards), (room.example, answer.examples, examples)]
    parts += [(room.warning, answer.warnings, warnings), (room.lesson, answer.lessons, lessons)]
    for add, kept, items in parts:
        for item in items:
            before = len(kept)
            if add(item):
                assert answer.within(most)
            else:
                assert len(kept) == before
                assert not _with(answer, kept, item).within(most)


def _with(answer: FindOutput, kept: list[object], item: object) -> FindOutput:
    """A copy of ``answer`` with the item in its shortest form behind those that are kept."""
    if isinstance(item, SkillCard):
        tools = [{"tool": step["tool"]} for step in item.steps]
        update = {"why": "", "parameters": {}, "steps": tools, "description": one_line(item.description, 80)}
        item = item.model_copy(update=update)
    lists = {name: [*getattr(answer, name)] for name in ("skills", "examples", "warnings", "lessons")}
    [name] = [name for name in lists if getattr(answer, name) is kept]
    return answer.model_copy(update={**lists, name: [*kept, item]})


def test_both_forms_take_what_is_counted_of_them() -> None:
    card = SkillCard(
        name="return-order", id="s1", version=1, status="active", description="Return an order.", parameters={},
        steps=[{"tool": "return_order", "args": {"order_id": "{order_id}"}}], uses=2, success_rate=1.0, support=2,
    )  # fmt: skip
    answer = FindOutput(mode="hybrid", advice="Name it.")
    room = Room(answer, 1000)
    assert room.card(card)
    assert room.warning("it fails")
    most = max(count_tokens(to_json(answer.structured())), count_tokens(answer.text()))
    for enough in (True, False):
        again = FindOutput(mode="hybrid", advice="Name it.")
        room = Room(again, most if enough else most - 1)
        assert room.card(card)
        assert room.warning("it fails") is enough


def test_a_card_that_runs_command_lines_is_shown_with_them_or_not_at_all() -> None:
    line = "git rebase --onto {branch} " + "x" * 100
    shell = {"tool": "Bash", "args": {"command": line, "description": "word " * 300}}
    reading = {"tool": "Read", "args": {"file_path": "word " * 300}}
    told = {"tool": "Bash", "args": {"command": line[:99] + "…"}}
    assert _shown([shell, reading], 300) == [[told, {"tool": "Read"}]]
    assert _shown([shell, reading], 170) == [[{"tool": "Bash"}, {"tool": "Read"}]]
    assert _shown([shell], 300) == [[told]]
    assert _shown([shell], 170) == []


def _shown(steps: list[dict[str, Any]], most: int) -> list[list[dict[str, Any]]]:
    """The steps of the only card, as far as ``most`` tokens go."""
    about: dict[str, Any] = {
        "name": "rebase",
        "id": "s1",
        "version": 1,
        "status": "active",
        "description": "Rebase.",
        "support": 2,
    }
    answer = FindOutput(mode="hybrid")
    Room(answer, most).card(SkillCard(**about, parameters={}, steps=steps, uses=0))
    return [card.steps for card in answer.skills]


def test_a_shortened_skill_says_what_a_clients_own_tool_is_for() -> None:
    card = SkillCard(
        name="mend", id="m", version=1, status="draft", description="Mend it", uses=0, support=2,
        parameters={"file_path": {"description": "the file that is to be mended, " * 5}},
        steps=[
            {"tool": "Edit", "args": {"file_path": "{file_path}"}, "note": "n" * 150},
            {"tool": "Read", "args": {"file_path": "/" + "x" * 90}},
            {"tool": "Bash", "args": {"command": "make"}, "note": "n" * 150},
        ],
    )  # fmt: skip
    answer = FindOutput(mode="lexical")
    assert Room(answer, 200).card(card)
    assert answer.skills[0].lines(1)[1:] == ["   Edit(file_path={file_path})", "   Read", '   Bash(command="make")']


def test_a_shortened_skill_names_steps_without_arguments() -> None:
    card = SkillCard(
        name="mend", id="m", version=1, status="draft", description="word " * 100, uses=0, support=2, parameters={},
        steps=[{"tool": "Read", "note": "n" * 150}, {"skill": "clean-up", "note": "n" * 150}],
    )  # fmt: skip
    answer = FindOutput(mode="lexical")
    assert Room(answer, 190).card(card)
    assert answer.skills[0].steps == [{"tool": "Read"}, {"skill": "clean-up"}]


def test_what_is_shown_in_part_ends_with_a_whole_word_or_sentence() -> None:
    card = SkillCard(
        name="mend", id="m", version=1, status="draft", uses=0, support=2, steps=[],
        description=f"Run the tests of the shop and see what fails. Use when the task mentions {'an invoice, ' * 20}",
        parameters={
            "path": {"example": "/home/me/src/of/the/shop/app/routes/invoices.py"},
            "n": {"example": "word " * 20},
        },
    )  # fmt: skip
    assert card.lines(1) == [
        "1. mend (draft, seen 2x): Run the tests of the shop and see what fails.",
        '   e.g. path="…/of/the/shop/app/routes/invoices.py", n="word word word word word word word…',
    ]
    assert one_line("seven words stand here, the last is interminable", 40) == "seven words stand here, the last is…"
    assert one_line("x" * 60, 40) == "x" * 39 + "…"
