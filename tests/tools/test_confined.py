"""A caller who is let into one project alone; over HTTP it is tried with each tool (tests/server/http)."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.errors import Unknown, UnknownSkill
from prowess.storage.events import ControllerAdopted, SkillSaved
from prowess.storage.models import Skill, SkillStep
from prowess.tools.confined import confined, own_skill
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio


class _Runs:
    """A trainer with runs of two projects; that of ``going_on`` is the one that status without an id tells."""

    def __init__(self, going_on: str) -> None:
        self.projects = {"s2": "shop", "b1": "bank", "s1": "shop"}
        self.going_on = going_on
        self.did: list[tuple[str, str | None]] = []

    async def start(self, settings: Any, *, project: str = "", run_id: str | None = None) -> str:
        self.did.append((project, run_id))
        return run_id or "s2"

    async def status(self, run_id: str | None = None) -> dict[str, Any]:
        found = run_id or self.going_on
        if found not in self.projects:
            raise Unknown("there is no such run", hint="The newest runs: b1.")
        told = {"run_id": found, "status": "running", "project": self.projects[found]}
        return told if run_id else {**told, "runs": dict.fromkeys(self.projects, "running")}

    async def cancel(self, run_id: str | None = None) -> dict[str, Any]:
        self.did.append(("cancel", run_id))
        return await self.status(run_id)


def within(agent: Agent, project: str, going_on: str) -> tuple[Agent, _Runs]:
    runs = _Runs(going_on)
    return Agent(confined(agent.having(trainer=runs).context, project)), runs


@pytest.mark.parametrize("mode", ["status", "cancel", "train"])
@pytest.mark.parametrize("run_id", ["b1", "none"])
async def test_a_run_of_another_project_is_as_one_that_is_not(agent: Agent, mode: str, run_id: str) -> None:
    shop, runs = within(agent, "shop", "b1")
    with pytest.raises(ToolError, match=f"there is no run '{run_id}'") as caught:
        await shop("evolve_skills", mode=mode, run_id=run_id)
    assert "b1" not in caught.value.hint
    assert runs.did == []


async def test_its_own_runs_are_told_resumed_and_cancelled(agent: Agent) -> None:
    shop, runs = within(agent, "shop", "s2")
    for asked, told in (({}, "s2"), ({"run_id": "s1"}, "s1")):
        status = (await shop("evolve_skills", mode="status", **asked)).status["training"]
        assert status == {"run_id": told, "status": "running", "project": "shop"}
    await shop("evolve_skills", mode="train")
    await shop("evolve_skills", mode="train", run_id="s1")
    await shop("evolve_skills", mode="cancel")
    await shop("evolve_skills", mode="cancel", run_id="s1")
    assert runs.did == [("shop", None), ("shop", "s1"), ("cancel", None), ("cancel", "s1")]


async def test_a_run_of_another_project_that_goes_on_is_not_cancelled(agent: Agent) -> None:
    shop, runs = within(agent, "shop", "b1")
    with pytest.raises(ToolError, match="no run is going on"):
        await shop("evolve_skills", mode="cancel")
    assert runs.did == []
    # The newest of its own, behind that of the other one; where it has none, none.
    assert (await shop("evolve_skills", mode="status")).status["training"]["run_id"] == "s2"
    ops, _ = within(agent, "ops", "b1")
    assert (await ops("evolve_skills", mode="status")).status["training"] == {"status": "none yet"}


async def test_where_no_run_was_and_where_none_can_be_that_is_told(agent: Agent) -> None:
    class NoRuns(_Runs):
        async def status(self, run_id: str | None = None) -> dict[str, Any]:
            return {"status": "none yet", "runs": {}} if run_id is None else await super().status(run_id)

    shop = Agent(confined(agent.having(trainer=NoRuns("none")).context, "shop"))
    assert (await shop("evolve_skills", mode="status")).status["training"] == {"status": "none yet"}
    assert confined(agent.context, "shop").trainer is None


async def test_only_a_caller_of_all_projects_may_name_another(agent: Agent) -> None:
    shop, _ = within(agent, "shop", "b1")
    with pytest.raises(ToolError, match="your token is for project 'shop' alone") as caught:
        await shop("track_execution", task_id="t", action="a", project="bank")
    assert caught.value.hint.startswith("Nothing was done")
    assert len(await agent.store.episodes()) == 0
    assert (await shop("track_execution", task_id="t", action="a", project="shop")).step == 1
    assert (await agent.having(project="shop")("track_execution", task_id="t", action="a", project="bank")).step == 1


async def test_a_skill_of_another_project_is_as_one_that_is_not(agent: Agent) -> None:
    for project in ("", "shop", "bank"):
        name = f"{project or 'common'}-skill"
        made = Skill(id=name, name=name, description=name, steps=(SkillStep(tool="x"),), project=project)
        await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    shop, _ = within(agent, "shop", "b1")
    for name in ("common-skill", "shop-skill"):
        assert (await own_skill(name, "shop", shop.context)).id == name
    for name in ("bank-skill", "bank-skil"):
        with pytest.raises(UnknownSkill, match=f"no skill has the id or name '{name}'"):
            await own_skill(name, "shop", shop.context)
    assert (await own_skill("bank-skill", "", agent.context)).id == "bank-skill"
    with pytest.raises(UnknownSkill, match="bank-skill"):  # a likely one is named where all may be
        await own_skill("bank-skil", "", agent.context)


async def test_the_names_of_other_projects_are_not_told(agent: Agent) -> None:
    adopted = ControllerAdopted(project="bank", at="2026-11-29T12:00:00.000Z", bank="b", skills=("insert",))
    await agent.store.append([adopted], origin=agent.context.origin)
    shop, _ = within(agent, "shop", "b1")
    status = await shop("evolve_skills", mode="status")
    assert status.status["memory_skills"] == "none in use; mode train makes them"
    assert "bank" not in status.text()
