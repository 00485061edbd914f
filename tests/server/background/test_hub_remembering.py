"""Memory skills at work in an open store: what is adopted, and what finished episodes then leave behind."""

from __future__ import annotations

import hashlib
import importlib.util
import shlex
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from backgroundkit import Server, serving
from msgspec.structs import replace
from runskit import AT, KEEP_PORTS, controller, write_run

from prowess.learning.memskill import Bank, MemorySkill
from prowess.server.background.remembering import Remembering
from prowess.server.memskill_files import keep_bank, load_bank, load_controller
from prowess.server.trainer.batch import Batches
from prowess.server.trainer.runs import Run, read_runs
from prowess.server.trainer.supervisor import Trainer, TrainingRefused, check_installed
from prowess.storage.errors import StoreDamaged
from prowess.storage.events import ControllerAdopted, MemorySaved
from prowess.storage.models import Memory, Origin
from prowess.tools.registry import call, find

pytestmark = pytest.mark.anyio


async def finish(server: Server, task: str, *observations: str, project: str = "shop") -> None:
    context = server.runtime.context(client="agent", session="s", project=project)
    steps = [{"tool": "shell", "args": {"command": f"look {seen}"}, "observation": seen} for seen in observations]
    await call(find("track_execution"), {"task_id": task, "steps": steps, "task": task}, context)
    await call(find("score_reward"), {"task_id": task, "reward": 5, "final": True}, context)


async def made(server: Server) -> list[Memory]:
    return [memory for memory in await server.runtime.store.memories() if memory.made_by]


async def verdicts(server: Server) -> dict[str, str]:
    trainer = server.runtime.trainer
    assert trainer is not None
    status = [await trainer.status(run_id) for run_id in (await trainer.status())["runs"]]
    return {told["run_id"]: told.get("verdict", "") for told in status}


async def test_without_a_controller_no_memory_skill_remembers(tmp_path: Path) -> None:
    async with serving(tmp_path, [Remembering()]) as server:
        await finish(server, "t1", "the gateway restarts on port 7005")
        await server.looks_when_quiet()
        assert await made(server) == []
        status = (await call(find("evolve_skills"), {"mode": "status"}, server.runtime.context())).status
    assert status["memory_skills"] == "none in use; mode train makes them"


async def test_a_better_run_is_adopted_and_the_next_finished_episode_remembered_by_it(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        (adopted,) = await server.runtime.store.adopted()
        assert (adopted.project, adopted.run_id, adopted.reward, adopted.before) == ("shop", "run-1", 0.5, 0.1)
        assert adopted.skills == ("insert", "update", "delete", "skip", "keep-ports")
        assert await verdicts(server) == {"run-1": "adopted: 0.5000 on held-back episodes, 0.1000 without training"}
        await finish(server, "t1", "the gateway restarts on port 7005", "nothing of interest")
        await server.looks_when_quiet()
        memories = await made(server)
        (memory,) = [each for each in memories if "the gateway restarts on port 7005" in each.text]
        assert (memory.made_by, memory.project) == (("insert",), "shop")
        assert (await server.runtime.store.episode(memory.episode_id or "")).task == "t1"
        found = await call(
            find("find_skill"), {"query": "gateway port restarts"}, server.runtime.context(project="shop")
        )
        assert any("port 7005" in line for line in found.lessons)
        status = (
            await call(find("evolve_skills"), {"mode": "status", "project": "shop"}, server.runtime.context())
        ).status
        assert status["memory_skills"]["controller"] == adopted.weights[:12]
        await server.looks_when_quiet()
        assert await made(server) == memories
        await server.runtime.store.rebuild()
        assert await server.runtime.store.adopted() == (adopted,)
        assert [each.text for each in await made(server)] == [each.text for each in memories]


async def test_a_run_that_is_no_better_is_not_adopted(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    write_run(tmp_path, "run-2", reward=0.5)
    write_run(tmp_path, "run-3", reward=0.05)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        told = await verdicts(server)
        (adopted,) = await server.runtime.store.adopted()
    assert adopted.run_id == "run-1"
    assert told["run-2"] == "not adopted: 0.5000 on held-back episodes is no better than the 0.5000 in use"
    assert told["run-3"] == "not adopted: 0.0500 on held-back episodes is no better than 0.1000 without training"


ZEROS = hashlib.sha256(controller()[0]).hexdigest()


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"reward_in_use": 0.1, "in_use_error": 0.05}, "adopted: 0.3000"),  # though that one told 0.5 of its own
        ({"reward_in_use": 0.26, "in_use_error": 0.05}, "not adopted: 0.3000 on held-back episodes is no better than"),
        ({"reward_in_use": 0.1, "before_error": 0.2}, "not adopted: 0.3000 on held-back episodes is no better than"),
        ({"reward_in_use": 0.1, "in_use_sha256": "0" * 64}, "not adopted: 0.3000 on held-back episodes is no better"),
    ],
)
async def test_what_is_in_use_is_beaten_on_the_same_episodes_by_more_than_chance(
    tmp_path: Path, told: dict[str, Any], verdict: str
) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    write_run(tmp_path, "run-2", reward=0.3, told={"in_use_sha256": ZEROS, **told})
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        assert (await verdicts(server))["run-2"].startswith(verdict)


async def test_an_adoption_that_was_cut_short_is_noted_as_one(tmp_path: Path) -> None:
    files = write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        files.save(
            Run(id="run-1", started=AT, status="done", project="shop", result=read_runs(tmp_path / "runs")[0].result)
        )
        adopted = await server.runtime.store.adopted()
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        assert (await verdicts(server))["run-1"].startswith("adopted: 0.5000")
        assert await server.runtime.store.adopted() == adopted


async def _use(server: Server, bank: Bank, project: str = "shop") -> None:
    event = ControllerAdopted(project=project, at=AT, bank=keep_bank(server.home, bank), reason="by hand")
    await server.runtime.store.append([event], origin=Origin(actor="person"))


@pytest.mark.parametrize("project", ["shop", ""])
async def test_what_a_person_did_to_the_skills_outlives_an_adoption_and_is_told(tmp_path: Path, project: str) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    mine = MemorySkill(name="insert", description="Mine.", action="insert", instruction="Above all ports.")
    async with serving(tmp_path, [Remembering()]) as server:
        await _use(server, Bank.initial().edited(mine).withdrawn("delete"), project)
        await server.looks_when_quiet()
        adopted = {each.project: each for each in await server.runtime.store.adopted()}["shop"]
        assert adopted.skills == ("insert", "update", "skip", "keep-ports")
        assert adopted.reason == "better on held-back episodes; as a person left it: insert, delete"
        assert (await verdicts(server))["run-1"].endswith("without training; as a person left it: insert, delete")
    bank = load_bank(tmp_path, adopted.bank)
    assert (bank.skills[0].instruction, bank.by_hand) == ("Above all ports.", ("insert", "delete"))


async def test_a_bank_that_cannot_be_read_is_replaced_and_that_is_told(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await _use(server, Bank.initial())
        (folder,) = (tmp_path / "memskill/banks").iterdir()
        (folder / "insert.md").unlink()
        await server.looks_when_quiet()
        assert "what a person may have edited before could not be read" in (await verdicts(server))["run-1"]


async def test_an_episode_without_its_steps_is_neither_remembered_nor_trained_on(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        store = server.runtime.store
        await finish(server, "t1", "the gateway restarts on port 7005")
        await store.trim(days=None, max_bytes=0, origin=Origin())
        await finish(server, "t2", "the gateway answers on port 7006")
        await server.looks_when_quiet()
        assert {(await store.episode(memory.episode_id or "")).task_id for memory in await made(server)} == {"t2"}
        (tmp_path / "batch").mkdir()
        (written,) = await Batches(store, tmp_path).export(tmp_path / "batch", "shop")
        assert (await store.episode(written)).task_id == "t2"


async def test_training_begins_with_the_skills_in_use(tmp_path: Path) -> None:
    async with serving(tmp_path, []) as server:
        await finish(server, "t1", "the gateway restarts on port 7005")
        batches = Batches(server.runtime.store, tmp_path)
        for place in ("before", "all", "own", "damaged"):
            (tmp_path / place).mkdir()
        await batches.export(tmp_path / "before", "shop")
        assert not (tmp_path / "before" / "bank").exists()
        await _use(server, Bank.initial().edited(KEEP_PORTS), "")
        await batches.export(tmp_path / "all", "shop")
        assert _bank_in(tmp_path / "all").by_hand == ("keep-ports",)
        own = Bank.initial().withdrawn("skip")
        await _use(server, own)
        await batches.export(tmp_path / "own", "shop")
        assert _bank_in(tmp_path / "own") == own
        for file in (tmp_path / "memskill/banks").glob("*/insert.md"):
            file.write_text("no longer what was adopted")
        await batches.export(tmp_path / "damaged", "shop")
        assert not (tmp_path / "damaged" / "bank").exists()


def _bank_in(batch: Path) -> Bank:
    return Bank.from_files({path.name: path.read_text() for path in (batch / "bank").iterdir()})


async def test_a_damaged_export_is_not_adopted(tmp_path: Path) -> None:
    files = write_run(tmp_path, "run-1", reward=0.5)
    (files.out / "best" / "controller.safetensors").write_bytes(b"x" * 40)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        assert await server.runtime.store.adopted() == ()
        assert (await verdicts(server))["run-1"].startswith("not adopted: the controller's weights are not those")


async def test_weights_that_were_changed_later_are_not_used(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        (adopted,) = await server.runtime.store.adopted()
        (tmp_path / "memskill/controllers" / adopted.weights / "controller.safetensors").write_bytes(b"other")
        with pytest.raises(StoreDamaged, match="are not those that were adopted"):
            load_controller(tmp_path, adopted.weights)
        await finish(server, "t1", "the gateway restarts on port 7005")
        await server.looks_when_quiet()
        assert await made(server) == []


async def test_what_finished_while_the_files_were_damaged_is_made_up_for(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    chore = Remembering()
    async with serving(tmp_path, [chore]) as server:
        await server.looks_when_quiet()
        (adopted,) = await server.runtime.store.adopted()
        weights = tmp_path / "memskill/controllers" / adopted.weights / "controller.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(b"other")
        await finish(server, "t1", "the gateway restarts on port 7005")
        await finish(server, "t2", "the proxy listens on port 7006")
        await server.looks_when_quiet()
        assert (await made(server), await chore.due(server.runtime)) == ([], False)
        await finish(server, "t3", "port 7007 is elsewhere", project="other")
        assert await chore.due(server.runtime)
        await server.looks_when_quiet()
        assert (await made(server), await chore.due(server.runtime)) == ([], False)
        weights.write_bytes(whole)
        await finish(server, "t4", "port 7008 is elsewhere", project="other")
        await server.looks_when_quiet()
        texts = sorted(memory.text for memory in await made(server))
        assert [port for port in ("7005", "7006", "7007", "7008") if port in " ".join(texts)] == ["7005", "7006"]
        assert not await chore.due(server.runtime)
        await server.looks_when_quiet()
        assert sorted(memory.text for memory in await made(server)) == texts


async def test_going_back_to_the_plain_rules_makes_up_for_it_as_well(tmp_path: Path) -> None:
    write_run(tmp_path, "run-1", reward=0.5)
    async with serving(tmp_path, [Remembering()]) as server:
        await server.looks_when_quiet()
        (adopted,) = await server.runtime.store.adopted()
        (tmp_path / "memskill/controllers" / adopted.weights / "controller.safetensors").unlink()
        await finish(server, "t1", "port 7005 was chosen on 2026-11-29")
        await server.looks_when_quiet()
        assert await made(server) == []
        reset = ControllerAdopted(project="shop", at=AT, bank=keep_bank(tmp_path, Bank.initial()), reason="reset")
        await server.runtime.store.append([reset], origin=Origin())
        await server.looks_when_quiet()
        assert any("7005" in memory.text for memory in await made(server))


async def test_a_bank_without_a_controller_is_applied_by_the_plain_rules(tmp_path: Path) -> None:
    async with serving(tmp_path, [Remembering()]) as server:
        event = ControllerAdopted(project="", at=AT, bank=keep_bank(tmp_path, Bank.initial()), reason="by hand")
        await server.runtime.store.append([event], origin=Origin())
        await finish(server, "t1", "port 7005 was chosen on 2026-11-29")
        await server.looks_when_quiet()
        memories = await made(server)
        assert {skill for memory in memories for skill in memory.made_by} <= {"insert", "update"}
        assert any("7005" in memory.text for memory in memories)
        episode = memories[0].episode_id or ""
        await server.runtime.store.forget(episode_ids=[episode], origin=Origin(actor="person"))
        assert await made(server) == []
    assert load_bank(tmp_path, event.bank) == Bank.initial()


PYTHON = "/home/Jo's disk/bin/python"


@pytest.mark.parametrize(
    ("pip", "installing"),
    [
        (True, [PYTHON, "-m", "pip", "install", "prowess[train]"]),
        (False, ["uv", "pip", "install", "--python", PYTHON, "prowess[train]"]),
    ],
    ids=["with pip", "in an environment that uv made"],
)
def test_how_training_is_installed_can_be_pasted_whatever_the_path(
    pip: bool, installing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", PYTHON)
    there = ["pip"] if pip else []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: ModuleSpec(name, None) if name in there else None)
    with pytest.raises(TrainingRefused) as refused:
        check_installed(("torch_that_is_not_there",))
    words = shlex.split(
        refused.value.hint.removeprefix("Install it once with ").removesuffix(", then send this again.")
    )
    assert words == installing


async def test_training_without_its_extra_says_how_to_install_it(tmp_path: Path) -> None:
    async def export(folder: Path, project: str, wanted: object) -> list[str]:
        raise AssertionError("nothing is exported")

    trainer = Trainer(tmp_path, export, ["trainer"], needs=("torch_that_is_not_there",))
    with pytest.raises(TrainingRefused, match="training needs torch_that_is_not_there") as refused:
        await trainer.start({})
    assert "-m pip install 'prowess[train]'" in refused.value.hint
    assert not (tmp_path / "runs").exists()


async def test_no_memory_holds_words_of_two_episodes(tmp_path: Path) -> None:
    async with serving(tmp_path, [Remembering()]) as server:
        store = server.runtime.store
        event = ControllerAdopted(project="", at=AT, bank=keep_bank(tmp_path, Bank.initial()))
        await store.append([event], origin=Origin())
        await finish(server, "t1", "the service moved to port 7005 on 2026-11-28")
        await server.looks_when_quiet()
        first = await made(server)
        await finish(server, "t2", "the service moved to port 7006 on 2026-11-29")
        await server.looks_when_quiet()
        second = await made(server)
        assert all(("7005" in memory.text) + ("7006" in memory.text) < 2 for memory in second)
        (new,) = [memory for memory in second if "7006" in memory.text]
        old = next(memory for memory in second if "7005" in memory.text)
        # Nearly the same but for the numbers: the newer stands in for the older, which is kept.
        assert (old.id in {memory.id for memory in first}, old.superseded_by) == (True, new.id)
        await store.forget(episode_ids=[new.episode_id or ""], origin=Origin(actor="person"))
        assert all("7006" not in memory.text for memory in await made(server))


async def test_what_a_stranger_left_does_not_keep_the_same_from_being_remembered_here(tmp_path: Path) -> None:
    async with serving(tmp_path, [Remembering()]) as server:
        event = ControllerAdopted(project="", at=AT, bank=keep_bank(tmp_path, Bank.initial()))
        await server.runtime.store.append([event], origin=Origin())
        for project in ("bank", "shop"):
            await finish(server, f"{project} task", "the service listens on port 7005", project=project)
            await server.looks_when_quiet()
            mine = [memory for memory in await made(server) if memory.project == project and memory.trust == "own"]
            assert any("7005" in memory.text for memory in mine)
            theirs = [replace(memory, id=f"t-{memory.id}", project="shop", trust="untrusted") for memory in mine]
            await server.runtime.store.append([MemorySaved(memory=memory) for memory in theirs], origin=Origin())


async def test_a_memory_is_more_important_once_another_episode_did_the_same(tmp_path: Path) -> None:
    again = MemorySkill(
        name="insert", description="Keep ports.", action="insert", instruction="Above all services, ports.",
        constraints="What comes again counts more.",
    )  # fmt: skip
    bank = Bank(skills=(again, *Bank.initial().skills[1:]), records=Bank.initial().records)
    async with serving(tmp_path, [Remembering()]) as server:
        event = ControllerAdopted(project="", at=AT, bank=keep_bank(tmp_path, bank))
        await server.runtime.store.append([event], origin=Origin())
        told = []
        for task in ("t1", "t2"):
            await finish(server, task, "the service listens on port 7005")
            await server.looks_when_quiet()
            told.append({memory.id: memory for memory in await made(server) if "7005" in memory.text})
        for task in ("t1", "t2"):
            context = server.runtime.context(client="agent", session="s", project="shop")
            await call(find("score_reward"), {"task_id": task, "reward": 4}, context)
        assert len(await server.runtime.store.episodes(limit=5)) == 2
        await server.looks_when_quiet()
        told.append({memory.id: memory for memory in await made(server) if "7005" in memory.text})
        first, second, third = told
        assert first.keys() == second.keys() != set()
        for key, memory in first.items():
            assert second[key].importance > memory.importance + 0.01
            assert (memory.support, second[key].support, second[key].at) == (1, 2, memory.at)
        assert third == second  # what is told of an episode later does not count again


async def test_memory_skills_keep_within_their_share_of_what_a_project_keeps(tmp_path: Path) -> None:
    async with serving(tmp_path, [Remembering()], memory_cap=5) as server:
        event = ControllerAdopted(project="", at=AT, bank=keep_bank(tmp_path, Bank.initial()))
        await server.runtime.store.append([event], origin=Origin())
        for number in range(4):
            await finish(server, f"t{number}", f"{'abcd'[number] * 5} listens on port 70{number}5 of host{number}")
        await server.looks_when_quiet()
        live = [memory for memory in await made(server) if memory.superseded_by is None]
        assert 1 <= len(live) <= 2  # two fifths of five
        assert len(await server.runtime.store.memories()) <= 5


async def test_training_for_all_projects_leaves_out_the_private_ones(tmp_path: Path) -> None:
    async with serving(tmp_path, []) as server:
        await finish(server, "t1", "the gateway restarts on port 7005")
        store = server.runtime.store
        for private, project, count in (((), "", 1), (("shop",), "", 0), (("shop",), "shop", 1)):
            (folder := tmp_path / f"{len(private)}{project}").mkdir()
            assert len(await Batches(store, tmp_path, private).export(folder, project)) == count
