"""What hooks leave in the spool becomes episodes: each call once, in the task it belongs to, with its worth."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import anyio
import pytest
from capturekit import TRACK, Client, call, put, waiting
from hubkit import connected, hub_in

from prowess.server.capture.reader import Capture
from prowess.server.capture.sessions import MAX_HAPPENINGS
from prowess.server.hooks import spool
from prowess.server.hub.client import open_calls
from prowess.server.hub.hub import Hub
from prowess.server.hub.projects import project_by
from prowess.storage.models import Origin

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


async def test_a_call_becomes_a_step_under_the_identity_that_imports_use(agent: Client, home: Path) -> None:
    agent.prompt("Mend the till of the shop")
    agent.shell("pytest -q", "1 failed in 0.1s", call="toolu_1", failed=True)
    (step,) = await agent.steps()
    (episode,) = await agent.episodes()
    assert (step.external_id, step.tool, step.outcome) == ("claude-code:s1:toolu_1", "Bash", "failure")
    assert (step.action, step.error) == ("Bash: pytest -q", "Exit code 1\n1 failed in 0.1s")
    assert (episode.task_id, episode.task, episode.session) == (
        "claude-code:s1:p1",
        "Mend the till of the shop",
        "s1",
    )
    assert spool.names(str(home)) == []


async def test_a_command_of_which_only_success_is_told_has_worked(agent: Client) -> None:
    agent.prompt("Build it")
    agent.shell("make", "nothing to be done")
    agent.leave("PostToolUse", tool_name="Edit", tool_use_id="e", tool_input={}, tool_response={"filePath": "/a.py"})
    agent.leave(
        "PostToolUse", tool_name="Read", tool_use_id="r", tool_input={}, tool_response={"file": {"content": "x"}}
    )
    started = {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}
    command = {"command": "make watch"}
    agent.leave("PostToolUse", tool_name="Bash", tool_use_id="b", tool_input=command, tool_response=started)
    nothing = {"stdout": "", "stderr": "", "returnCodeInterpretation": "No matches found"}
    search = {"command": "ls | grep till"}
    agent.leave("PostToolUse", tool_name="Bash", tool_use_id="g", tool_input=search, tool_response=nothing)
    assert [(step.tool, step.outcome) for step in await agent.steps()] == [
        ("Bash", "success"),
        ("Edit", "success"),
        ("Read", "success"),
        ("Bash", "unknown"),
        ("Bash", "unknown"),
    ]


async def test_an_event_that_is_read_again_is_stored_once(agent: Client, home: Path) -> None:
    agent.prompt("Mend the till")
    agent.shell("make")
    files = waiting(home)
    assert len(await agent.steps()) == 1
    put(home, files)
    assert len(await agent.steps()) == 1
    assert len(await agent.episodes()) == 1


async def test_events_are_known_again_by_the_next_hub(home: Path) -> None:
    async with hub_in(home) as hub:
        first = Client(hub, home)
        first.prompt("Mend the till of the shop")
        first.shell("make", call="a")
        files = waiting(home)
        assert len(await first.steps()) == 1
    put(home, files)
    async with hub_in(home) as hub:
        second = Client(hub, home)
        second.shell("make install", call="b")
        assert [step.action for step in await second.steps()] == ["Bash: make", "Bash: make install"]
        assert len(await second.episodes()) == 1


async def test_a_prompt_about_something_else_starts_a_task_and_closes_the_one_before(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.prompt("Write a poem concerning autumn leaves and distant rivers")
    agent.shell("vim poem.txt")
    first, second = await agent.episodes()
    assert (first.task_id, second.task_id) == ("claude-code:s1:p1", "claude-code:s1:p2")
    assert first.closed_at is not None
    assert second.closed_at is None


async def test_a_prompt_that_goes_on_talking_steers(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.prompt("and also run the linter")
    agent.shell("ruff check")
    (episode,) = await agent.episodes()
    assert episode.task == "Mend the failing till of the shop\n\nand also run the linter"
    assert episode.steps == 2


async def test_work_before_any_prompt_is_a_task_of_its_own(agent: Client) -> None:
    agent.shell("make")
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make install")
    assert [episode.task_id for episode in await agent.episodes()] == ["claude-code:s1:start", "claude-code:s1:p1"]


async def test_a_slash_command_is_a_task_if_work_follows_it(agent: Client) -> None:
    agent.prompt("/review the till")
    agent.shell("git diff")
    (episode,) = await agent.episodes()
    assert (episode.task_id, episode.task) == ("claude-code:s1:p1", "/review the till")


async def test_what_the_client_writes_in_the_users_name_is_no_task(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.prompt("<task-notification>the build of another thing ended</task-notification>")
    agent.shell("make install")
    (episode,) = await agent.episodes()
    assert episode.task == "Mend the failing till of the shop"


async def test_a_long_output_is_read_where_claude_code_has_saved_it(agent: Client, home: Path) -> None:
    file = home.parent / "s1" / "tool-results" / "b1.txt"
    file.parent.mkdir(parents=True)
    file.write_text("x\n" * 50_000 + "2 failed, 1 passed in 0.1s")
    agent.prompt("Mend the till of the shop")
    told = {"tool_name": "Bash", "tool_input": {"command": "pytest || true"}, "tool_use_id": "a"}
    answer = {"stdout": "", "stderr": "", "interrupted": False, "persistedOutputPath": f"/elsewhere/{file}"}
    agent.leave("PostToolUse", **told, tool_response=answer, transcript_path=str(home.parent / "s1.jsonl"))
    (step,) = await agent.steps()
    assert str(step.observation).endswith("x\n2 failed, 1 passed in 0.1s")


async def test_subagents_work_is_their_parents(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("ls", agent_id="a1")
    agent.shell("make")
    assert [step.action for step in await agent.steps()] == ["Bash: ls", "Bash: make"]


async def test_a_turn_that_ends_tells_its_tests_and_the_sessions_end_closes(agent: Client) -> None:
    agent.prompt("Mend the till")
    agent.shell("pytest", "2 failed, 1 passed in 0.2s", failed=True)
    agent.leave("Stop", last_assistant_message="It fails.")
    assert await agent.evidence() == {"tests": pytest.approx(-5.333)}
    agent.shell("pytest", "3 passed in 0.2s")
    agent.leave("Stop", last_assistant_message="Done.")
    assert (await agent.evidence())["tests"] == 10.0
    (episode,) = await agent.episodes()
    assert (episode.closed_at, episode.outcome) == (None, "success")
    agent.leave("SessionEnd", reason="other")
    (episode,) = await agent.episodes()
    assert episode.closed_at is not None


async def test_the_users_next_words_judge_what_was_done(agent: Client) -> None:
    agent.prompt("Mend the till")
    agent.shell("vim till.py")
    agent.leave("Stop")
    agent.prompt("thanks, works great")
    agent.leave("Stop")
    assert await agent.evidence() == {}
    agent.leave("SessionEnd")
    assert await agent.evidence() == {"user": 8.0}


async def test_a_check_without_counts_tells_by_its_exit_code_once_the_task_is_over(agent: Client) -> None:
    agent.prompt("Mend the till")
    agent.shell("pytest -qq", "", failed=True)
    agent.leave("Stop")
    assert await agent.evidence() == {}
    agent.shell("pytest -qq", "....")
    agent.leave("Stop")
    agent.leave("SessionEnd")
    assert await agent.evidence() == {"exit_code": 3.0}


async def test_a_task_of_which_nothing_is_known_stays_unknown(agent: Client) -> None:
    agent.prompt("Look at the till")
    agent.shell("cat till.py", "till = 1")
    agent.leave("Stop")
    agent.leave("SessionEnd")
    (episode,) = await agent.episodes()
    assert (episode.reward, episode.outcome) == (None, "unknown")
    assert episode.closed_at is not None


async def test_a_secret_under_its_name_is_masked_before_it_lies_in_the_spool(agent: Client, home: Path) -> None:
    secret = "k9Qz7Lm2Xw4Rt8Vb"
    agent.shell(f"curl -H 'Authorization: Bearer {secret}{secret}' /", f"password = '{secret}'")
    (name,) = spool.names(str(home))
    assert secret not in json.dumps(spool.read(str(home), name))


async def test_a_secret_is_masked_wherever_a_client_may_have_it_from(agent: Client, home: Path) -> None:
    secret = "sk-ant-api03-" + ("Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 3)[:93] + "AA"
    shown = {"stdout": secret, "stderr": secret, "file": {"content": secret}}
    agent.leave("SessionStart", source=f"key {secret}")
    agent.prompt(f"Mend the till with {secret}")
    agent.leave("PreToolUse", tool_name="mcp__prowess__find_skill", tool_input={"task_id": f"till {secret}"})
    args = {"command": f"x {secret}", secret: 1, "l": [[{secret: secret}]]}
    agent.leave("PostToolUse", tool_name="Bash", tool_use_id="a", tool_input=args, tool_response=shown)
    agent.leave(
        "PostToolUse", tool_name=f"t {secret}", tool_use_id="b", tool_input=secret, tool_response=[{"text": secret}]
    )
    agent.leave("PostToolUseFailure", tool_name="Bash", tool_use_id="c", tool_input={}, error=f"Exit code 1\n{secret}")
    agent.leave("Stop", last_assistant_message=f"The key is {secret}")
    agent.leave("SessionEnd", reason=f"key {secret}")
    assert len(waiting(home)) == 8
    assert not any(secret[:30].encode() in data for data in waiting(home).values())
    assert len(await agent.steps()) == 3
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]  # noqa: ASYNC240
    assert not any(secret[:30].encode() in data for data in kept)


async def test_a_file_that_holds_no_event_keeps_nothing_up(agent: Client, home: Path) -> None:
    put(home, {"00000000000000000001-x.json": b'{"format": 1, "client"'})
    put(home, {"00000000000000000002-x.json": b'{"format": 1, "kind": "step", "client": 3}'})
    agent.shell("make")
    assert [step.action for step in await agent.steps()] == ["Bash: make"]
    assert spool.names(str(home)) == []
    assert sorted(waiting(home)) == ["00000000000000000001-x.bad", "00000000000000000002-x.bad"]


async def test_an_event_that_cannot_be_filed_keeps_up_neither_what_comes_after_it_nor_calls(
    agent: Client, home: Path
) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    await agent.store()
    told = {"format": 1, "client": "claude-code", "session": "s1", "kind": "step", "tool": "Bash", "at": "?"}
    put(home, {"00000000000000000001-x.json": json.dumps(told).encode()})
    agent.prompt("and test it")
    agent.shell("make test")
    assert [step.action for step in await agent.steps()] == ["Bash: make", "Bash: make test"]
    assert list(waiting(home)) == ["00000000000000000001-x.bad"]
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
    assert len(await agent.steps()) == 3


async def test_what_is_no_file_is_set_aside(agent: Client, home: Path, tmp_path: Path) -> None:
    folder = Path(spool.folder(str(home)))
    (folder / "00000000000000000001-folder.json").mkdir(parents=True)
    os.mkfifo(folder / "00000000000000000002-pipe.json")
    (tmp_path / "elsewhere").write_text('{"format": 1}')
    (folder / "00000000000000000003-link.json").symlink_to(tmp_path / "elsewhere")
    agent.shell("make")
    assert len(await agent.steps()) == 1
    assert {name.rpartition(".")[2] for name in os.listdir(folder)} == {"bad"}  # noqa: PTH208
    assert (tmp_path / "elsewhere").read_text() == '{"format": 1}'


async def test_what_was_set_aside_goes_after_a_week_or_when_words_are_forgotten(
    agent: Client, hub: Hub, home: Path
) -> None:
    put(home, {"00000000000000000001-x.json": b"zebra"})
    await agent.store()
    await hub.capture.settle(time.time() + 6 * 24 * 3600)
    assert list(waiting(home)) == ["00000000000000000001-x.bad"]
    await hub.capture.settle(time.time() + 8 * 24 * 3600)
    assert waiting(home) == {}
    put(home, {"00000000000000000002-x.json": b"zebra"})
    await agent.store()
    await hub.capture.forget()
    assert waiting(home) == {}


async def test_a_folder_in_the_spool_does_not_keep_sessions_open(agent: Client, hub: Hub, home: Path) -> None:
    agent.shell("make")
    await agent.store()
    (Path(spool.folder(str(home))) / ".hidden").mkdir()
    await hub.capture.settle(time.time() + 2 * 24 * 3600)
    assert [bool(episode.closed_at) for episode in await agent.episodes()] == [True]


async def test_a_session_in_a_folder_that_nobody_can_look_at_keeps_nothing_up(hub: Hub, home: Path) -> None:
    agent = Client(hub, home, cwd="/" + "a" * 3000)  # longer than a name may be, as a refused folder is an OSError
    agent.shell("make")
    agent.leave("Stop")
    assert len(await agent.steps()) == 1
    assert spool.names(str(home)) == []


async def test_what_no_store_can_hold_is_made_fit(agent: Client) -> None:
    nested: object = "deep"
    for _ in range(90):
        nested = [nested]
    agent.prompt("Mend the \ud800 till of the shop")
    agent.leave("PostToolUse", tool_name="Bash", tool_use_id="a", tool_input={"x": nested}, tool_response="a\x00\udfff")
    (step,) = await agent.steps()
    assert step.observation == "a\ufffd\ufffd"
    assert step.args is not None
    assert "deep" in step.args["input"]
    assert [episode.task for episode in await agent.episodes()] == ["Mend the \ufffd till of the shop"]


async def test_what_a_killed_hook_had_begun_to_write_is_tidied_away(hub: Hub, home: Path) -> None:
    put(home, {".0001-begun": b'{"form'})
    await hub.capture.settle(time.time())
    assert list(waiting(home)) == [".0001-begun"]
    await hub.capture.settle(time.time() + 4000)
    assert waiting(home) == {}


async def test_an_event_of_a_newer_hook_is_left_for_a_newer_hub(agent: Client, home: Path) -> None:
    put(home, {"00000000000000000001-x.json": b'{"format": 99}'})
    agent.shell("make")
    assert len(await agent.steps()) == 1
    assert spool.names(str(home)) == ["00000000000000000001-x"]


async def test_many_events_of_a_newer_hook_keep_nothing_up(agent: Client, home: Path) -> None:
    newer = {f"{number:020d}-x.json": b'{"format": 99}' for number in range(120)}
    put(home, newer)
    agent.shell("make")
    assert len(await agent.steps()) == 1
    assert waiting(home) == newer


async def test_what_was_forgotten_is_not_stored_again(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make", call="a")
    (episode,) = await agent.episodes()
    store = await agent.store()
    await store.forget(episode_ids=[episode.id], origin=Origin(actor="person"))
    agent.shell("make", call="a")
    agent.leave("Stop")
    assert await agent.episodes() == []


async def test_a_forgotten_task_leaves_no_words_beside_the_store(agent: Client, home: Path) -> None:
    agent.prompt("Mend the zebra of the shop")
    agent.shell("make zebra")
    await agent.episodes()
    assert any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())
    await agent._hub.capture.forget()
    assert not any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())


async def test_what_waits_in_the_spool_is_forgotten_with_the_rest(agent: Client, hub: Hub, home: Path) -> None:
    agent.prompt("Mend the zebra of the shop")
    agent.shell("make", call="a")
    (episode,) = await agent.episodes()
    async with open_calls(home) as store:
        agent.shell("make zebra", call="b")
        await store.forget(task_id=episode.task_id, project=episode.project, origin=Origin(actor="person"))
    assert waiting(home) == {}
    assert await agent.episodes() == []


async def test_all_that_waits_in_the_spool_is_forgotten_however_long_it_takes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.capture.reader.CALL_SECONDS", 0.0)  # which a call waits that may depend on it
    monkeypatch.setattr(Capture, "run", lambda capture: anyio.sleep_forever())
    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the zebra of the shop")
        agent.shell("make", call="a")
        (episode,) = await agent.episodes()
        agent.shell("make zebra", call="b")
        async with open_calls(home) as store:
            await store.forget(task_id=episode.task_id, project=episode.project, origin=Origin(actor="person"))
        assert waiting(home) == {}
        assert await agent.episodes() == []


async def test_a_hub_that_just_started_forgets_the_words_that_an_earlier_one_kept(
    agent: Client, hub: Hub, home: Path
) -> None:
    agent.prompt("Mend the zebra of the shop")
    await agent.store()
    later = Capture(hub.opening, home, project_by(lambda: ""))
    await later.forget()
    assert not any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())


async def test_a_session_made_up_by_the_doctor_is_gone_at_its_end(hub: Hub, home: Path) -> None:
    doctor = Client(hub, home, session="prowess-doctor-1")
    doctor.shell("make")
    doctor.leave("Stop")
    doctor.leave("SessionEnd")
    (episode,) = await doctor.episodes()
    assert episode.session == "prowess-doctor-1"
    assert [file.name for file in (home / "sessions").iterdir() if file.suffix == ".json"] == []


async def test_what_the_doctor_made_up_is_forgotten_without_the_words_of_sessions_that_go_on(
    agent: Client, hub: Hub, home: Path
) -> None:
    agent.prompt("Mend the zebra of the shop")
    agent.shell("make")
    (episode,) = await agent.episodes()
    async with open_calls(home) as store:
        await store.forget(project="prowess-doctor-1", origin=Origin(actor="person"))
        assert any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())
        await store.forget(project="other", origin=Origin(actor="person"))
        assert not any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())
    assert [each.id for each in await agent.episodes()] == [episode.id]


async def test_what_a_client_left_without_a_word_is_closed_after_a_day(agent: Client, hub: Hub) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest", "3 passed in 0.2s")
    (episode,) = await agent.episodes()
    await hub.capture.settle(time.time() + 23 * 3600)
    assert (await agent.episodes())[0].closed_at is None
    await hub.capture.settle(time.time() + 25 * 3600)
    (episode,) = await agent.episodes()
    assert (episode.closed_at is not None, episode.outcome) == (True, "success")


async def test_a_commit_made_by_hand_is_evidence_too(hub: Hub, home: Path, tmp_path: Path) -> None:
    logs = tmp_path / ".git" / "logs"
    logs.mkdir(parents=True)
    agent = Client(hub, home, cwd=str(tmp_path))
    agent.prompt("Mend the failing till of the shop")
    agent.shell("vim till.py")
    made = f"{'a' * 40} {'b' * 40} Me <me@example.com> {int(time.time()) + 1} +0000\tcommit: mend\n"
    await anyio.Path(logs / "HEAD").write_text(made)
    agent.leave("Stop")
    assert await agent.evidence() == {"commit": 6.0}


async def test_a_commit_in_a_worktree_that_the_agent_entered_is_evidence(hub: Hub, home: Path, tmp_path: Path) -> None:
    git = tmp_path / "shop" / ".git"
    own, tree = git / "worktrees" / "w", tmp_path / "w"
    for folder in (git / "objects", own / "logs", tree):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "HEAD").write_text("ref: refs/heads/w\n")
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    agent = Client(hub, home, cwd=str(tmp_path / "shop"))
    agent.prompt("mend it")
    agent.shell("make -q")
    agent.shell("./commit-quietly", cwd=str(tree))
    made = f"{'a' * 40} {'b' * 40} Me <me@example.com> {int(time.time()) + 1} +0000\tcommit: mend\n"
    (own / "logs" / "HEAD").write_text(made)
    agent.leave("Stop")
    assert await agent.evidence() == {"commit": 6.0}


async def test_a_command_of_codex_has_the_exit_code_that_its_transcript_tells(
    hub: Hub, home: Path, tmp_path: Path
) -> None:
    call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "false"}', "call_id": "call_1"}
    ended = {"type": "item_completed", "item": {"type": "CommandExecution", "id": "call_1", "exit_code": 1}}
    records = [
        {"timestamp": "2026-11-29T10:00:00Z", "type": "response_item", "payload": call},
        {"timestamp": "2026-11-29T10:00:01Z", "type": "event_msg", "payload": ended},
    ]
    rollout = tmp_path / "rollout.jsonl"
    await anyio.Path(rollout).write_text("".join(json.dumps(record) + "\n" for record in records))
    agent = Client(hub, home, name="codex")
    agent.prompt("Mend the failing till of the shop", turn_id="t1", prompt_id=None)
    told = {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": "false"}, "tool_response": ""}
    agent.leave("PostToolUse", **told, transcript_path=str(rollout))
    agent.leave("PostToolUse", **{**told, "tool_use_id": "call_2"}, transcript_path=str(tmp_path / "gone"))
    told_steps = [(step.tool, step.args, step.outcome, step.external_id) for step in await agent.steps()]
    assert sorted(told_steps, key=lambda step: str(step[3])) == [
        ("exec_command", {"cmd": "false"}, "failure", "codex:s1:call_1"),
        ("Bash", {"command": "false"}, "unknown", "codex:s1:call_2"),
    ]
    assert [episode.task_id for episode in await agent.episodes()] == ["codex:s1:t1"]


async def test_the_words_of_a_task_stay_the_same_however_long_it_goes_on(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.prompt("great, it works now")
    for _ in range(MAX_HAPPENINGS):
        agent.shell("make")
    agent.prompt("and the drawer of the till")
    agent.shell("make")
    (episode,) = await agent.episodes()
    assert episode.task == "Mend the failing till of the shop\n\nand the drawer of the till"
