"""A language model before a loopback server, with its ledger and waits recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from messages_server import Fault, MessagesServer, Reply, serve

from prowess.providers import errors
from prowess.providers.language import LanguageModel, LanguageSettings, ModelCall
from prowess.providers.messages import Messages
from prowess.providers.spend import Spend
from prowess.storage.models import Episode, Parameter, Skill, SkillStep, Step, Trajectory

KEY = "sk-ant-test-0123456789"
WORDED = {"name": "cancel-order", "description": "Cancel a pending order and refund the payment."}
EXTRACTED = {
    **WORDED,
    "steps": [
        {"tool": "get_order", "args_template": '{"order_id": "{order_id}"}'},
        {
            "tool": "cancel_order",
            "args_template": '{"order_id": "{order_id}", "note": "by {user}", "n": [1, "{order_id}"]}',
        },
    ],
}
SKILL = Skill(
    id="s1",
    name="get-order-cancel-order",
    description="",
    steps=(SkillStep(tool="get_order", args_template={"order_id": "{order_id}"}), SkillStep(tool="cancel_order")),
    parameters=(Parameter(name="order_id"),),
)


def step(number: int, tool: str, **fields: Any) -> Step:
    return Step(
        episode_id="e", number=number, action=f"call {tool}", at="2026-11-29T13:00:00.000Z", tool=tool, **fields
    )


TRAJECTORY = Trajectory(
    episode=Episode(id="e", project="", session="", task_id="t", attempt=1, opened_at="2026-11-29T13:00:00.000Z"),
    steps=(
        step(1, "get_order", args={"order_id": "#W1"}, observation='{"status": "pending"}', outcome="success"),
        step(2, "cancel_order", args={"order_id": "#W1", "note": "by Ada"}, outcome="success"),
    ),
)


class World:
    """A model with its ledger and its waits recorded; the clock stands still but for the waits."""

    def __init__(self, server: MessagesServer, **settings: Any) -> None:
        self.server = server
        self.ledger: list[ModelCall] = []
        self.waits: list[float] = []
        self.now = 0.0
        defaults = {"api_key": KEY, "base_url": server.url}
        self.settings = LanguageSettings(**{**defaults, **settings})
        messages = Messages(
            self.settings,
            Spend(self.settings.daily_usd, self.record, self.spent),
            sleep=self.sleep,
            clock=lambda: self.now,
        )
        self.model = LanguageModel(messages)

    async def record(self, call: ModelCall) -> None:
        self.ledger.append(call)

    async def spent(self) -> float:
        return sum(call.cost_usd for call in self.ledger)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@asynccontextmanager
async def world(*replies: Reply | Fault, **settings: Any) -> AsyncIterator[World]:
    async with serve(*replies) as server:
        made = World(server, **settings)
        try:
            with anyio.fail_after(30):
                yield made
        finally:
            await made.model.aclose()


async def fails(made: World, kind: type[errors.LanguageError], match: str = ".") -> errors.LanguageError:
    with pytest.raises(kind, match=match) as caught:
        await made.model.word_skill(SKILL, ["cancel my order"])
    assert type(caught.value) is kind
    return caught.value


async def silence(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    await over.wait()
