"""Memory skills as files, and the bank that holds them."""

from __future__ import annotations

import msgspec
import pytest
from memkit import skill

from prowess.learning.memskill import INITIAL, Bank, format_skill, parse_skill
from prowess.storage.errors import InvalidInput

FILE = """---
name: keep-trips
description: Keep trips.
action: insert
---

## Instruction

Above all camping. Also lakes: blue ones.

## Constraints

- At most 2 of one span.
- Leave out greetings.
"""


def test_a_person_can_write_a_skill_and_what_is_written_is_read_back_unchanged() -> None:
    read = parse_skill(FILE, "keep-trips.md")
    assert (read.name, read.action, read.version) == ("keep-trips", "insert", 1)
    assert read.instruction == "Above all camping. Also lakes: blue ones."
    assert read.constraints == "- At most 2 of one span.\n- Leave out greetings."
    assert parse_skill(format_skill(read)) == read
    assert all(parse_skill(format_skill(each)) == each for each in INITIAL)


@pytest.mark.parametrize(
    "description", ['Keep what says "again"', "'Till' and 'shop'", '"a" or "b"', '"', "'", '"it\'s"', "the boys'"]
)
def test_quotes_in_a_description_are_read_back(description: str) -> None:
    written = msgspec.structs.replace(parse_skill(FILE), description=description)
    assert parse_skill(format_skill(written)) == written
    assert parse_skill(FILE.replace("Keep trips.", f'"{description}"')).description == description


def test_a_file_of_windows_is_read_too() -> None:
    assert parse_skill("\ufeff" + FILE.replace("\n", "\r\n")) == parse_skill(FILE)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("---\nname", "name", "x.md: there is no front matter"),
        ("action: insert\n", "", "x.md: the front matter has no action"),
        ("action: insert", "action: invent", "x.md: action 'invent' is unknown"),
        ("description: Keep trips.", "descripion: Keep trips.", "x.md, line 3: 'descripion: Keep trips.' is no field"),
        ("action: insert", "action: insert\naction: skip", "x.md, line 5: action is given twice"),
        ("name: keep-trips", "name: Keep Trips", "x.md: name 'Keep Trips' is not in kebab-case"),
        ("## Instruction", "## Instructions", "x.md: section 'Instructions' is unknown"),
        ("## Constraints", "## Instruction", "x.md: section 'Instruction' is there twice"),
        ("## Instruction\n", "", "x.md: there is text before the first section"),
        ("Above all camping. Also lakes: blue ones.", "", "x.md: there is no ## Instruction"),
        ("action: insert", "action: insert\nversion: two", "x.md: version 'two' is no number"),
        ("action: insert", f"action: insert\nversion: {'9' * 5_000}", "x.md: version '9999"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place_and_a_hint(old: str, new: str, says: str) -> None:
    assert old in FILE
    with pytest.raises(InvalidInput) as caught:
        parse_skill(FILE.replace(old, new), "x.md")
    assert str(caught.value).startswith(says)
    assert caught.value.hint


def test_a_changed_skill_is_the_next_version_and_the_old_one_is_kept() -> None:
    bank = Bank.initial().with_skill(skill("keep")).with_skill(skill("keep", instruction="Lakes."))
    found = bank.find("keep")
    assert found is not None
    assert (found.instruction, found.version, bank.version) == ("Lakes.", 2, 3)
    assert [parse_skill(text).instruction for text in bank.past["keep"]] == ["Camping trips."]


def test_a_full_bank_gives_up_its_worst_evolved_skill() -> None:
    bank = Bank.initial(most=6).with_skill(skill("good")).with_skill(skill("bad"))
    bank = bank.used("good", 0.8, tick=1).used("bad", 0.1, tick=1)
    fuller = bank.with_skill(skill("new"), tick=20)
    assert [each.name for each in fuller.skills] == ["insert", "update", "delete", "skip", "good", "new"]
    assert parse_skill(fuller.past["bad"][0]).name == "bad"


def test_a_young_skill_is_spared_while_an_older_one_is_there() -> None:
    bank = Bank.initial(most=6).with_skill(skill("old"), tick=0).with_skill(skill("young"), tick=15)
    bank = bank.used("old", 0.6, tick=15)
    assert bank.worst(tick=20) == "old"  # though the young one, unused, counts as 0.5
    assert bank.worst(tick=25) == "young"
    assert bank.without("old").worst(tick=20) == "young"  # no other may go


def test_a_bank_without_room_for_more_than_the_initial_skills_says_so() -> None:
    with pytest.raises(InvalidInput, match="room for 4"):
        Bank.initial(most=4).with_skill(skill())


def test_what_a_person_wrote_or_took_out_is_left_alone() -> None:
    bank = Bank.initial(most=6).edited(skill("mine")).with_skill(skill("evolved")).withdrawn("delete")
    assert {name: bank.may_change(name) for name in ("mine", "evolved", "delete", "insert", "new")} == {
        "mine": False, "evolved": True, "delete": False, "insert": False, "new": True,
    }  # fmt: skip
    assert bank.by_hand == ("mine", "delete")
    full = bank.used("mine", 0.0, tick=1).used("evolved", 1.0, tick=1).with_skill(skill("new"))
    assert full.worst(tick=50) == "new"
    assert full.with_skill(skill("newer"), tick=50).find("mine") is not None
    assert bank.edited(skill("delete")).removed == ()
    assert Bank.from_files(bank.to_files(), most=6) == bank


def test_a_bank_full_of_what_a_person_wrote_has_no_room() -> None:
    bank = Bank.initial(most=5).with_skill(skill("evolved"))
    assert bank.has_room
    assert Bank.initial(most=5).has_room
    assert not bank.edited(skill("evolved", instruction="Mine.")).has_room


def test_a_trained_bank_takes_over_what_a_person_did_meanwhile() -> None:
    began = Bank.initial().edited(skill("mine")).edited(skill("dropped"))
    trained = began.with_skill(skill("evolved")).with_skill(skill("twice")).used("mine", 0.5, tick=3)
    now = began.edited(skill("mine", instruction="Otherwise.")).withdrawn("dropped").withdrawn("skip")
    now = now.edited(skill("twice", instruction="By hand."))
    kept = trained.keeping(now)
    assert [each.name for each in kept.skills] == ["insert", "update", "delete", "mine", "evolved", "twice"]
    texts = {each.name: each.instruction for each in kept.skills}
    assert (texts["mine"], texts["twice"]) == ("Otherwise.", "By hand.")
    assert (set(kept.by_hand), kept.removed) == ({"mine", "twice", "dropped", "skip"}, ("dropped", "skip"))
    assert kept.keeping(now).skills[3].instruction == "Otherwise."


def test_what_a_person_took_back_is_not_brought_back_by_a_bank_that_was_trained_with_it() -> None:
    other = skill("insert", instruction="Mine.")
    trained = Bank.initial().edited(skill("mine")).edited(other).with_skill(skill("evolved"))
    kept = trained.keeping(Bank.initial())  # reset while the run went on
    assert [each.name for each in kept.skills] == ["insert", "update", "delete", "skip", "evolved"]
    assert (kept.skills[0].instruction, kept.by_hand) == (INITIAL[0].instruction, ())
    assert kept.records["insert"].initial


def test_uses_and_rewards_are_noted() -> None:
    bank = Bank.initial().used("insert", 0.5, tick=3).used("insert", 1.0, tick=4, times=2)
    record = bank.records["insert"]
    assert (record.usage, record.last_used) == (3, 4)
    assert record.reward == pytest.approx(0.55)  # 0.5 + 0.1 * (1.0 - 0.5)


def test_a_bank_is_the_same_after_it_was_written_and_read() -> None:
    bank = Bank.initial().with_skill(skill("keep"), 2).with_skill(skill("keep", instruction="Lakes."), 3)
    bank = bank.used("keep", 0.3, tick=4)
    assert Bank.from_files(bank.to_files()) == bank


def test_a_person_may_add_and_remove_files() -> None:
    files = Bank.initial().to_files()
    del files["delete.md"]
    bank = Bank.from_files({**files, "keep-trips.md": FILE})
    assert [each.name for each in bank.skills] == ["insert", "update", "skip", "keep-trips"]
    assert not bank.records["keep-trips"].initial
    assert bank.records["insert"].initial


def test_one_file_of_a_person_is_a_bank() -> None:
    bank = Bank.from_files({"keep-trips.md": FILE})
    assert ([each.name for each in bank.skills], bank.version, bank.removed) == (["keep-trips"], 1, ())
    with pytest.raises(InvalidInput, match="5 memory skills, 1 to 4 are allowed"):
        Bank.from_files({**Bank.initial().to_files(), "keep-trips.md": FILE}, most=4)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"other.md": FILE}, "other.md: it names the skill 'keep-trips'"),
        ({"keep-trips.md": FILE, "bank.json": "{"}, "bank.json"),
        ({"keep-trips.md": FILE, "bank.json": '{"more": ' + "[" * 9_000 + "]" * 9_000 + "}"}, "bank.json"),
        ({}, "0 memory skills"),
    ],
)
def test_files_that_make_no_bank_are_refused(files: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Bank.from_files(files)
