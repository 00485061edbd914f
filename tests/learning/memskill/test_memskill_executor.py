"""The embedded executor: a skill's words decide what is kept."""

from __future__ import annotations

from memkit import span, units, view

from prowess.learning.memskill import EmbeddedExecutor, Limits, MemoryBank, Operation, Span, View
from prowess.learning.memskill.units import terms_of

TALK = ("Hi Bob!", "We went camping at Lake Tahoe.", "My sister paints horses.", "Bob's boat costs 900 dollars.")


def run(memory: MemoryBank, said: Span, *chosen: View) -> list[tuple[str, str]]:
    plan = EmbeddedExecutor().plan(said, chosen, memory, memory.near(said.vector, 5))
    memory.apply(plan)
    return [(each.action, each.unit.text if each.unit else "") for each in plan]


def texts(memory: MemoryBank) -> list[str]:
    return [item.text for item in memory.items.values()]


def test_what_a_skill_asks_for_is_kept_and_nothing_else() -> None:
    for words, kept in [("Camping trips.", TALK[1]), ("Paintings of animals, horses.", TALK[2]), ("Numbers.", TALK[3])]:
        memory = MemoryBank()
        assert run(memory, span(*TALK), view(instruction=words)) == [("insert", kept)]


def test_constraints_repel_and_limit() -> None:
    words = "Camping, boats, paints, sister, dollars."
    assert len(run(MemoryBank(), span(*TALK), view(instruction=words))) == 3
    assert run(MemoryBank(), span(*TALK), view(instruction=words, constraints="At most 1 of one span.")) == [
        ("insert", TALK[2])  # "sister" and "paints" are two words, "boat" and "dollars" too: the earlier of equals
    ]
    kept = run(MemoryBank(), span(*TALK), view(instruction=words, constraints="Leave out sisters, horses."))
    assert [text for _, text in kept] == [TALK[3], TALK[1]]


def test_words_of_above_all_sentences_count_twice() -> None:
    asked = view(instruction="Camping. Above all sisters.", constraints="At most 1 of one span.")
    assert run(MemoryBank(), span(*TALK), asked) == [("insert", TALK[2])]
    other = view(instruction="Above all camping. Sisters.", constraints="At most 1 of one span.")
    assert run(MemoryBank(), span(*TALK), other) == [("insert", TALK[1])]


def test_kinds_of_things_are_recognised() -> None:
    assert {"dat", "number"} <= terms_of("It was on 7 May 2023.")
    assert "error" in terms_of("bash: foo: No such file")
    assert "path" in terms_of("cat /etc/hosts")
    assert "command" in terms_of("ls -l --all")
    assert "nam" in terms_of("I met Caroline there.")
    assert "question" in terms_of("Why?")
    assert not {"dat", "number", "error", "path", "command", "nam", "question"} & terms_of("We went camping.")


def test_what_memory_holds_already_is_not_kept_again() -> None:
    memory, keep = MemoryBank(), view(instruction="Camping trips.")
    assert run(memory, span(*TALK), keep) == [("insert", TALK[1])]
    assert run(memory, span(*TALK, prefix="again"), keep) == []


def test_an_update_joins_what_tells_of_the_same_matter() -> None:
    memory = MemoryBank()
    memory.restore(units("Bob's boat is red and old.")[0], 0.5)
    keep = view("update", action="update", instruction="Boats.")
    assert run(memory, span("Bob's boat is red and leaks."), keep) == [("update", "Bob's boat is red and leaks.")]
    assert texts(memory) == ["Bob's boat is red and old. Bob's boat is red and leaks."]


def test_an_update_takes_the_place_of_what_says_nearly_the_same() -> None:
    memory = MemoryBank()
    memory.restore(units("Bob's old wooden boat costs many thousand silver dollars.")[0], 0.5)
    keep = view("update", action="update", instruction="Boats.")
    new = "Bob's old wooden boat costs many hundred silver dollars."
    run(memory, span(new, prefix="new"), keep)
    assert texts(memory) == [new]
    assert memory.items[1].sources == {"new0"}


def test_an_update_without_anything_alike_leaves_the_unit_to_the_next_skill() -> None:
    memory = MemoryBank()
    memory.restore(units("Something else entirely.")[0], 0.5)
    chosen = (view("update", action="update", instruction="Camping."), view("keep", instruction="Camping."))
    assert run(memory, span(*TALK), *chosen) == [("insert", TALK[1])]


def test_a_delete_takes_what_its_text_describes_out_of_what_the_span_recalls() -> None:
    memory = MemoryBank()
    for unit in units("Hey Bob! How are you?", "Bob's boat costs 900 dollars.", prefix="m"):
        memory.restore(unit, 0.5)
    gone = view("delete", action="delete", instruction="Above all greetings. Questions.")
    assert run(memory, span("Hi Bob!"), gone) == [("delete", "")]
    assert texts(memory) == ["Bob's boat costs 900 dollars."]


def test_skip_ends_the_list_so_as_the_first_it_leaves_memory_alone() -> None:
    keep, skip = view(instruction="Camping."), view("skip", action="skip", instruction="Nothing.")
    assert run(MemoryBank(), span(*TALK), skip, keep) == []
    assert run(MemoryBank(), span(*TALK), keep, skip) == [("insert", TALK[1])]


def test_each_unit_is_taken_once_by_the_first_skill_that_wants_it() -> None:
    one, two = view("one", instruction="Camping."), view("two", instruction="Camping, horses.")
    plan = EmbeddedExecutor().plan(span(*TALK), [one, two], MemoryBank(), [])
    assert [(each.skill, each.unit.text if each.unit else "") for each in plan] == [("one", TALK[1]), ("two", TALK[2])]


def test_an_unlimited_skill_for_comparison_keeps_everything() -> None:
    everything = view(instruction="Camping.")
    everything.everything = True
    memory = MemoryBank(Limits())
    run(memory, span(*TALK), everything)
    assert texts(memory) == list(TALK)
    assert isinstance(memory.items[1].importance, float)
    assert memory.items[2].importance > memory.items[1].importance
    assert Operation(action="insert", skill="x").item is None


def test_a_skill_for_which_what_comes_again_counts_makes_the_like_in_memory_more_important() -> None:
    memory = MemoryBank()
    keep = view(
        instruction="Camping trips, sisters.", constraints="What comes again counts more. At most 1 of one span."
    )
    assert (keep.again, keep.most) == (True, 1)
    run(memory, span(TALK[1]), keep)
    (before,) = memory.items.values()
    # The trip is known, so that it is only told; of the others the sister is asked for, and new.
    assert run(memory, span(*TALK, prefix="later"), keep) == [
        ("again", TALK[1]),
        ("again", TALK[2]),
        ("insert", TALK[2]),
    ]
    first, second = memory.items.values()
    assert (first.text, second.text) == (TALK[1], TALK[2])
    assert first.importance > before.importance


def test_without_such_a_constraint_what_comes_again_changes_nothing() -> None:
    memory, keep = MemoryBank(), view(instruction="Camping trips.")
    run(memory, span(TALK[1]), keep)
    before = dict(memory.items)
    run(memory, span(TALK[1], prefix="later"), keep)
    assert memory.items == before
    assert not keep.unwanted.keys() & terms_of("again")


def test_words_about_what_comes_again_repel_nothing() -> None:
    plain = view(constraints="Leave out greetings.")
    again = view(constraints="Leave out greetings. What comes again counts more.")
    assert (again.unwanted, again.away.tolist()) == (plain.unwanted, plain.away.tolist())
