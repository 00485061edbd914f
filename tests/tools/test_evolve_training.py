"""Training from a tool's side: started, followed, told of and cancelled; which memory skills are in use."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.errors import StoreError
from prowess.storage.events import ControllerAdopted
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["train", "cancel"])
async def test_training_is_not_part_of_this_build(agent: Agent, mode: str) -> None:
    with pytest.raises(ToolError, match="training is not part of this build"):
        await agent("evolve_skills", mode=mode, run_id="r", settings={"epochs": 1})


async def test_status_tells_where_memory_skills_are_in_use(agent: Agent) -> None:
    adopted = ControllerAdopted(project="shop", at="2026-11-29T12:00:00.000Z", bank="b", skills=("insert",))
    await agent.context.store.append([adopted], origin=agent.context.origin)
    here = (await agent("evolve_skills", mode="status", project="shop")).status["memory_skills"]
    assert (here["controller"], here["skills"]) == ("none: update, then insert", 1)
    elsewhere = (await agent("evolve_skills", mode="status", project="ops")).status["memory_skills"]
    assert elsewhere == "none in use here, but in shop; mode train makes them"


class _Trainer:
    """Training that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def start(self, settings: Any, *, project: str = "", run_id: str | None = None) -> str:
        self.asked.append(("start", settings, project, run_id))
        return "r1"

    async def status(self, run_id: str | None = None) -> dict[str, Any]:
        return {"run_id": run_id, "status": "running"}

    async def cancel(self, run_id: str | None = None) -> dict[str, Any]:
        if run_id == "gone":
            raise StoreError("run gone is not going on", hint="look first")
        return {"run_id": run_id, "status": "cancelled"}


async def test_training_is_started_told_of_and_cancelled(agent: Agent) -> None:
    trainer = _Trainer()
    agent = agent.having(trainer=trainer, project="shop")
    started = await agent("evolve_skills", mode="train", settings='{"iterations": 1}')
    assert started.status == {"run_id": "r1", "status": "running"}
    assert started.text() == "run r1: running"
    await agent("evolve_skills", mode="train", run_id="r0", project="other")
    assert trainer.asked == [("start", {"iterations": 1}, "shop", None), ("start", {}, "other", "r0")]
    status = await agent("evolve_skills", mode="status", run_id="r1")
    assert status.status["training"] == {"run_id": "r1", "status": "running"}
    assert "\nspent usd: 0\ntraining: run r1: running\nmemory skills: none in use" in status.text()
    cancelled = await agent("evolve_skills", mode="cancel", run_id="r1")
    assert cancelled.status == {"run_id": "r1", "status": "cancelled"}


async def test_who_asks_for_progress_is_told_it_until_the_run_ends(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Running(_Trainer):
        looks = 0

        async def status(self, run_id: str | None = None) -> dict[str, Any]:
            self.looks += 1
            progress = {"iteration": min(self.looks, 2), "of": 2, "reward": 0.25}
            return {"run_id": run_id, "status": "running" if self.looks < 4 else "done", "progress": progress}

    told: list[tuple[float, float | None, str]] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    monkeypatch.setattr("prowess.tools.evolve_skills.FOLLOW_SECONDS", 0.0)
    answer = await agent.having(trainer=Running(), progress=progress)("evolve_skills", mode="train")
    assert answer.status["status"] == "done"
    assert told == [(1, 2, "iteration 1 of 2, reward 0.25"), (2, 2, "iteration 2 of 2, reward 0.25")]


async def test_a_run_that_takes_long_goes_on_after_the_call(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    async def progress(done: float, total: float | None, message: str) -> None:
        raise AssertionError("there is none yet")

    monkeypatch.setattr("prowess.tools.evolve_skills.FOLLOWED_SECONDS", 0.01)
    answer = await agent.having(trainer=_Trainer(), progress=progress)("evolve_skills", mode="train")
    assert answer.status == {"run_id": "r1", "status": "running"}


async def test_what_training_refuses_is_a_tool_error(agent: Agent) -> None:
    agent = agent.having(trainer=_Trainer())
    with pytest.raises(ToolError, match="not going on") as refused:
        await agent("evolve_skills", mode="cancel", run_id="gone")
    assert refused.value.hint == "look first"
    with pytest.raises(ToolError, match="knows no dry_run"):
        await agent("evolve_skills", mode="train", dry_run=True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"iteratons": 3}, "there is no training setting iteratons (did you mean 'iterations'?)"),
        ({"clip": 0.1}, 'there is no training setting clip (did you mean "ppo": {"clip": …}?)'),
        ({"ppo": {"epoch": 2}}, "there is no training setting ppo.epoch (did you mean 'epochs'?)"),
        ({"quack": 1}, "there is no training setting quack"),
        ({"iterations": 0}, "training setting iterations: expected `int` >= 1"),
        ({"iterations": "many"}, "training setting iterations: expected `int`, got `str`"),
        ({"ppo": 3}, "training setting ppo: expected `object`, got `int`"),
        ({"half_life": float("inf")}, "training setting half_life: expected `float` <= 1000000.0"),
        ({"memory_tokens": []}, "training setting memory_tokens: expected `array` of length >= 1"),
        ({"resume": "never"}, "training setting resume: expected `bool`, got `str`"),
    ],
)
async def test_a_setting_that_is_off_is_refused_before_a_run_begins(agent: Agent, settings: Any, told: str) -> None:
    trainer = _Trainer()
    with pytest.raises(ToolError) as refused:
        await agent.having(trainer=trainer)("evolve_skills", mode="train", settings=settings)
    assert (str(refused.value), trainer.asked) == (told, [])
    assert refused.value.hint.startswith("docs/memskill.md lists the settings")


async def test_settings_may_be_numbers_and_truths_in_words(agent: Agent) -> None:
    trainer = _Trainer()
    told = {"iterations": "30", "ppo": {"clip": "0.1"}, "resume": "false", "memory_tokens": [500]}
    await agent.having(trainer=trainer)("evolve_skills", mode="train", settings=told)
    read = {"iterations": 30, "ppo": {"clip": 0.1}, "resume": False, "memory_tokens": [500]}
    assert trainer.asked == [("start", read, "", None)]


async def test_what_the_mode_makes_nothing_of_is_told(agent: Agent) -> None:
    told = {"settings": {"iterations": 1}, "run_id": "r"}
    answer = await agent("evolve_skills", mode="prune", **told)
    assert answer.notes == ["ignored run_id: mode prune takes none", "ignored settings: mode prune takes none"]
    told = {"settings": {"iterations": 1}, "skills": ["a"]}
    told_of = ["ignored skills: mode status takes none", "ignored settings: mode status takes none"]
    assert (await agent("evolve_skills", mode="status", **told)).notes == told_of
