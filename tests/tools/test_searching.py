"""What find_skill looks at: every sentence of the question, and skills whatever is known of them yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.learning.rendering import count_tokens
from prowess.storage.events import MemorySaved, SkillSaved
from prowess.storage.models import Memory, Parameter, Skill, SkillStep
from prowess.tools.text import to_json

pytestmark = pytest.mark.anyio


class _Directions:
    """An index in which a text points where its last known word does, and nowhere in particular without one."""

    state = "ready"

    def __init__(self, *known: str) -> None:
        self._known = known
        self.asked: list[str] = []

    async def queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        found = [place for place, word in enumerate(self._known) if word in text.lower()]
        vector = np.full(len(self._known) + 1, 0.01, np.float32)
        vector[found or [-1]] = 1.0
        return vector / np.linalg.norm(vector)

    async def refresh(self, *, wait: bool = True) -> None:
        return None


def _skill(key: str, description: str, *tools: str) -> Skill:
    steps = tuple(SkillStep(tool=tool) for tool in tools or (key,))
    return Skill(id=key, name=key, description=description, steps=steps, status="active")


async def _save(agent: Agent, *skills: Skill) -> None:
    events = [SkillSaved(skill=skill, change="create") for skill in skills]
    await agent.store.append(events, origin=agent.context.origin)


async def test_the_skill_for_each_sentence_is_found_by_meaning(agent: Agent) -> None:
    await _save(agent, _skill("undo", "Reverse a purchase"), _skill("tell", "Write to somebody"))
    matrix = np.eye(3, dtype=np.float32)[:2]
    await agent.store.save_embeddings("skill", "m", ["undo", "tell"], matrix)
    index = _Directions("refund", "letter")
    query = "The customer demands a refund for the lamp. Compose a polite letter about that."
    answer = await agent.having(index=index)("find_skill", query=query)
    assert {shown.name for shown in answer.skills} == {"undo", "tell"}
    assert index.asked == [query, "The customer demands a refund for the lamp.", "Compose a polite letter about that."]


async def test_the_skill_for_each_sentence_is_found_by_words(agent: Agent) -> None:
    await _save(agent, _skill("refund-order", "Refund an order"), _skill("send-letter", "Send a letter"))
    answer = await agent("find_skill", query="They want to refund the order. Then send a letter to them.")
    assert {shown.name for shown in answer.skills} == {"refund-order", "send-letter"}


async def test_a_skill_without_a_vector_yet_is_found_by_its_words(agent: Agent) -> None:
    await _save(agent, _skill("refund-order", "Refund an order"), _skill("bake", "Bake a cake"))
    await agent.store.save_embeddings("skill", "m", ["bake"], np.array([[0.0, 1.0]], np.float32))
    answer = await agent.having(index=_Directions("lamp"))("find_skill", query="refund the order of a lamp")
    assert answer.mode == "hybrid"
    assert [shown.name for shown in answer.skills] == ["refund-order"]


async def test_notes_have_room_too_where_there_is_no_other(agent: Agent) -> None:
    await _save(agent, _skill("refund-order", "Refund an order. " + "word " * 60))
    asking = agent.having(index=_Directions("lamp"))
    for most in range(200, 290):
        answer = await asking("find_skill", query="refund the order", max_tokens=most, quary=1, limitt=2)
        assert count_tokens(to_json(answer.structured())) <= most
        assert (answer.advice is None) is (not answer.skills)
    assert answer.skills


async def test_vectors_of_another_length_are_left_out(agent: Agent) -> None:
    await _save(agent, _skill("refund-order", "Refund an order"))
    await agent.store.save_embeddings("skill", "m", ["refund-order"], np.array([[0.0, 1.0, 0.0]], np.float32))
    answer = await agent.having(index=_Directions("lamp"))("find_skill", query="refund the order")
    assert [shown.name for shown in answer.skills] == ["refund-order"]


async def test_the_parameters_of_a_skill_are_searched(agent: Agent) -> None:
    needs = (Parameter(name="passport_number", description="of the traveller"),)
    await _save(agent, replace(_skill("look-up", "Look something up"), parameters=needs))
    found = await agent.store.lexical("skill", "traveller's passport", limit=5)
    assert [key for key, _ in found] == ["look-up"]


async def test_skills_that_are_all_but_the_same_do_not_fill_the_answer(agent: Agent) -> None:
    same = "Refund the order of a customer who is not content with it"
    await _save(agent, *(_skill(f"refund-{key}", same, "find", "refund") for key in ("one", "two", "three")))
    await _save(agent, _skill("cancel", "Cancel the order of a customer", "find", "cancel"))
    answer = await agent("find_skill", query="refund the order of a customer", limit=2)
    first, second = [shown.name for shown in answer.skills]
    assert first.startswith("refund-")
    assert second == "cancel"


async def test_how_frequent_words_are_is_told_by_the_word_that_was_asked(agent: Agent) -> None:
    await _save(agent, _skill("a", "Cancel orders"), _skill("b", "Cancel a trip"))
    counts, total = await agent.store.frequencies("skill", ["cancel", "order", "cancelOrder", "zebra"])
    assert counts == {"cancel": 2, "order": 1, "cancelOrder": 2, "zebra": 0}
    assert total == 2


async def test_cosines_are_told_for_those_that_have_a_vector(agent: Agent) -> None:
    await _save(agent, _skill("a", "A"), _skill("b", "B"))
    asked = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    assert await agent.store.skills_by_meaning(asked, [1, 1], also=["a"]) is None
    await agent.store.save_embeddings("skill", "m", ["a"], np.array([[1.0, 0.0]], np.float32))
    found = await agent.store.skills_by_meaning(asked, [1, 1], also=["b"])
    assert found is not None
    assert list(found.skills) == ["b", "a"]
    assert np.isnan(found.cosines[:, 0]).all()
    assert found.cosines[:, 1] == pytest.approx([1.0, 0.6])


async def test_what_went_wrong_with_a_task_like_this_comes_as_a_warning(agent: Agent) -> None:
    steps = [{"tool": "refund", "outcome": "failure", "error": "the order was shipped already"}]
    for number in range(2):
        await agent.worked(f"t{number}", steps, reward=-8, task="refund the order of a lamp")
    await agent("reflect")
    answer = await agent("find_skill", query="refund the order of a chair")
    assert any("shipped already" in warning for warning in answer.warnings)


async def test_the_first_memory_is_told_to_who_asked_before_there_was_one(agent: Agent) -> None:
    await _save(agent, _skill("refund-order", "Refund an order"))
    assert not (await agent("find_skill", query="refund the order")).lessons
    lesson = Memory(id="m1", kind="lesson", text="Ask before you refund an order", at="2026-01-01T00:00:00.000Z")
    await agent.store.append([MemorySaved(memory=lesson)], origin=agent.context.origin)
    assert (await agent("find_skill", query="refund the order")).lessons == ["Ask before you refund an order"]
