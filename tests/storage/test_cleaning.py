from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.redaction.masking import mask_fields
from prowess.storage.errors import InvalidInput
from prowess.storage.events import PatternsReflected, SkillSaved
from prowess.storage.log.cleaning import KNOWN, Cleaner, weight
from prowess.storage.log.codec import pack
from prowess.storage.log.limits import MAX_DEPTH, MAX_NAME, MAX_TEXT
from prowess.storage.models import NewReward, NewStep, Origin, Parameter, Pattern, Skill, SkillStep

PLAIN = Cleaner()
MASKED = Cleaner(lambda texts: [text.replace("hunter2", "[masked]") for text in texts])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert PLAIN.text("a\ud800b", "x") == "a\ufffdb"


def test_surrogates_that_are_a_pair_become_their_character() -> None:
    assert PLAIN.text("\ud83d\ude00", "x") == "\N{GRINNING FACE}"


def test_nul_becomes_its_symbol() -> None:
    assert PLAIN.text("a\0b", "x") == "a\N{SYMBOL FOR NULL}b"


def test_secrets_are_masked_in_values_and_keys_at_any_depth() -> None:
    value = {"a": ["hunter2", {"hunter2": 1}]}
    assert MASKED.json(value, "x") == {"a": ["[masked]", {"[masked]": 1}]}


def test_identifiers_of_our_own_are_never_masked() -> None:
    assert MASKED.struct(Origin(machine="hunter2"), "origin").machine == "hunter2"


def test_names_that_others_chose_are_masked_and_short() -> None:
    clean = MASKED.struct(Origin(client="hunter2", session="by hunter2"), "origin")
    assert (clean.client, clean.session) == ("[masked]", "by [masked]")
    with pytest.raises(InvalidInput, match="1,025 characters"):
        MASKED.struct(Origin(client="c" * 1025), "origin")


def test_every_text_of_a_step_is_masked() -> None:
    secret = "hunter2"
    told = NewStep(action=secret, tool=secret, context=secret, observation=secret, error=secret, args={"p": secret})
    clean = MASKED.struct(told, "step")
    assert {clean.action, clean.tool, clean.context, clean.observation, clean.error} == {"[masked]"}
    assert clean.args == {"p": "[masked]"}


PASSWORD = "correct-" + "horse7"  # no rule knows it but by its field
GUARDED = Cleaner(None, mask_fields)
MARK = "[masked:secret-field]"


def test_what_stands_under_a_secrets_name_is_masked_in_arguments_and_evidence_at_any_depth() -> None:
    told = {"user": "bob", "login": [{"db_password": PASSWORD, "pin": 7}], "passwords": [PASSWORD, PASSWORD]}
    kept = {"user": "bob", "login": [{"db_password": MARK, "pin": 7}], "passwords": [MARK, MARK]}
    assert GUARDED.struct(NewStep(action="a", args=told), "step").args == kept
    assert GUARDED.struct(NewReward(value=1.0, evidence=told), "reward").evidence == kept
    assert GUARDED.ready_for(told).json(told, "x") == kept


def test_what_stands_under_a_secrets_name_is_masked_in_patterns_and_skills() -> None:
    pattern = Pattern(id="p", kind="failure", statement="s", support=2, detail={"changed": {"password": PASSWORD}})
    event = PatternsReflected(reflection_id="r", project="", at="t", patterns=(pattern,))
    assert GUARDED.struct(event, "patterns").patterns[0].detail == {"changed": {"password": MARK}}

    step = SkillStep(tool="login", args_template={"user": "{user}", "password": PASSWORD, "token": "{token}"})
    parameters = (Parameter(name="password", examples=(PASSWORD, 1234)), Parameter(name="user", examples=("bob", [1])))
    skill = Skill(id="i", name="n", description="d", steps=(step,), parameters=parameters)
    saved = GUARDED.struct(SkillSaved(skill=skill, change="made"), "skill").skill
    assert saved.steps[0].args_template == {"user": "{user}", "password": MARK, "token": "{token}"}
    assert [parameter.examples for parameter in saved.parameters] == [(MARK, MARK), ("bob", [1])]


def test_a_cleaner_that_hides_nothing_keeps_what_stands_under_a_secrets_name() -> None:
    parameter = Parameter(name="password", examples=(PASSWORD,))
    assert PLAIN.struct(parameter, "parameter") == parameter
    assert PLAIN.json({"password": PASSWORD}, "x") == {"password": PASSWORD}


def test_texts_that_are_known_beforehand_are_masked_together_and_once() -> None:
    asked: list[list[str]] = []

    def mask_many(texts: Sequence[str]) -> list[str]:
        asked.append(list(texts))
        return [text.replace("hunter2", "[masked]") for text in texts]

    step = NewStep(action="hunter2\0", tool="bash", args={"hunter2\0": ["bash", "hunter2"]})
    clean = Cleaner(mask_many).ready_for([step, step]).struct(step, "step")
    assert clean.args == {"[masked]\N{SYMBOL FOR NULL}": ["bash", "[masked]"]}
    assert [sorted(texts) for texts in asked] == [["bash", "hunter2", "hunter2\N{SYMBOL FOR NULL}"]]


def test_numbers_that_do_not_fit_become_text() -> None:
    assert PLAIN.json([2**63 - 1, 2**63, float("nan"), float("-inf")], "x") == [2**63 - 1, str(2**63), "nan", "-inf"]


def test_a_number_in_a_field_must_fit() -> None:
    with pytest.raises(InvalidInput, match=r"step\.duration_ms"):
        PLAIN.struct(NewStep(action="a", duration_ms=float("inf")), "step")


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidInput, match="set"):
        PLAIN.struct(NewReward(value=1.0, evidence={"a": {1}}), "reward")


def test_nesting_has_an_end() -> None:
    value: list[object] = []
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(InvalidInput, match="nested"):
        PLAIN.json(value, "args")


def test_texts_and_names_have_limits() -> None:
    with pytest.raises(InvalidInput, match="2,097,153"):
        PLAIN.text("x" * (MAX_TEXT + 1), "observation")
    with pytest.raises(InvalidInput, match="1,025"):
        PLAIN.name("x" * (MAX_NAME + 1), "task_id")


def test_masks_that_are_longer_than_what_they_hide_keep_to_the_limits() -> None:
    name, text = "n" * (MAX_NAME - 7) + "hunter2", "t" * (MAX_TEXT - 7) + "hunter2"
    step = NewStep(action=text, external_id=name)
    for cleaner in (MASKED, MASKED.ready_for(step)):
        clean = cleaner.struct(step, "step")
        assert (clean.external_id, clean.action) == (name[:-7] + "[masked", text[:-7] + "[masked")
        assert cleaner.struct(clean, "step") == clean  # another machine takes it


@given(JSON)
def test_whatever_comes_can_be_written_and_read(value: object) -> None:
    clean = PLAIN.json(value, "x")
    assert msgspec.msgpack.decode(pack(clean)) == clean


def test_weighing_stops_when_it_is_enough() -> None:
    assert weight([NewStep(action="x" * 100)], 50) >= 50
    assert weight({"k" * 100: 1}, 50) >= 50
    assert weight([], 50) < 50


def test_a_text_found_without_secrets_is_not_looked_through_again_and_one_with_a_secret_is() -> None:
    asked: list[set[str]] = []

    def mask_many(texts: Sequence[str]) -> list[str]:
        asked.append(set(texts))
        return [text.replace("hunter2", "[masked]") for text in texts]

    cleaner, long = Cleaner(mask_many), "x" * 1_000
    first = Pattern(id="p", kind="failure", statement="seen 2 times", support=2, detail={"verb": "bash", "said": long})
    after = Pattern(id="p", kind="failure", statement="hunter2", support=2, detail={"verb": "bash", "said": long})
    for pattern in (first, after, after):
        clean = cleaner.ready_for(pattern).struct(pattern, "pattern")
    assert clean.statement == "[masked]"
    assert clean.detail == {"verb": "bash", "said": long}
    names = {"verb", "said", ""}  # "" is the pattern's project
    assert asked == [{"seen 2 times", "bash", long} | names, {"hunter2", long}, {"hunter2", long}]


def test_texts_that_were_not_met_for_long_are_looked_through_again() -> None:
    asked: list[int] = []

    def mask_many(texts: Sequence[str]) -> list[str]:
        asked.append(len(texts))
        return list(texts)

    cleaner = Cleaner(mask_many)
    for told in (["old", "kept"], [f"{n} of the first" for n in range(KNOWN)], ["kept"], [*map(str, range(KNOWN))]):
        cleaner.ready_for(told)
    cleaner.ready_for(["kept"])
    cleaner.ready_for(["old"])
    assert asked == [2, KNOWN, 0, KNOWN, 0, 1]


def test_a_text_is_looked_through_again_once_anything_was_forgotten() -> None:
    seen: list[str] = []

    def mask_many(texts: Sequence[str]) -> list[str]:
        seen.extend(texts)
        return [*texts]

    cleaner = Cleaner(mask_many)
    for _ in range(2):
        cleaner.ready_for(["told"])
    assert seen == ["told"]
    cleaner.let_go()
    cleaner.ready_for(["told"])
    assert seen == ["told", "told"]
