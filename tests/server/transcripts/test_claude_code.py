"""``prowess import claude-code``: what becomes of real and of damaged transcripts."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clikit import Command
from transcriptkit import SAMPLES, call, episode_of, queued, result, said, shell, user, write

from prowess.server.transcripts import reading

REAL = SAMPLES / "claude-code" / "projects"
NOVEL = {"type": "novelty", "uuid": "n1"}
SESSION = "755ec461-27ba-4636-adc4-27c77c9964d2"


def told(prowess: Command, path: Path) -> dict[str, object]:
    ended = prowess("import", "claude-code", path, "--json")
    assert ended.code == 0, ended.err
    return {name: ended.json[name] for name in ("sessions", "episodes", "steps", "known", "failures")}


def test_a_real_session_becomes_two_episodes(prowess: Command) -> None:
    assert told(prowess, REAL) == {"sessions": 1, "episodes": 2, "steps": 11, "known": 0, "failures": 3}

    mended = episode_of(prowess, "The test of add fails. Mend it and commit.")
    assert mended["task"] == "The test of add fails. Mend it and commit.\n\nyes"
    assert (mended["agent"], mended["session"]) == ("claude-code 2.1.197", SESSION)
    assert [(step["tool"], step["outcome"]) for step in mended["steps"]] == [
        ("Bash", "failure"),
        ("Agent", "unknown"),
        ("Read", "success"),
        ("Bash", "failure"),
        ("Read", "success"),
        ("Bash", "success"),
        ("Edit", "success"),
        ("Bash", "success"),
        ("Bash", "success"),
        ("Bash", "success"),
    ]
    # 1 of 1 tests passed (10, weight 6) and a commit (6, weight 3): (60 + 18) / 9
    assert (round(mended["reward"], 3), mended["outcome"]) == (8.667, "success")
    assert mended["closed_at"]

    other = episode_of(prowess, "Now show me")
    assert [(step["action"], step["outcome"]) for step in other["steps"]] == [("Bash: exit 3", "failure")]
    assert (other["reward"], other["outcome"]) == (None, "unknown")


def test_a_step_has_all_that_the_transcript_says_of_it(prowess: Command) -> None:
    told(prowess, REAL)
    first = episode_of(prowess, "The test of add")["steps"][0]
    assert first["args"] == {"command": "python3 -m unittest -q", "description": "Run tests"}
    assert first["observation"].startswith("Exit code 1\n")
    assert first["error"] == first["observation"]
    assert first["context"] == "I run the tests."
    assert (first["at"], first["duration_ms"]) == ("2026-11-29T15:20:14.025Z", 329.0)
    assert first["external_id"] == f"claude-code:{SESSION}:toolu_a1"


def test_a_subagents_work_stands_behind_the_call_that_started_it(prowess: Command) -> None:
    told(prowess, REAL)
    steps = episode_of(prowess, "The test of add")["steps"]
    ids = [step["external_id"].rpartition(":")[2] for step in steps]
    assert ids[:5] == ["toolu_a1", "toolu_a2", "toolu_s1", "toolu_s2", "toolu_a3"]


def test_a_subagents_file_beside_the_session_is_found_as_older_versions_left_it(
    tmp_path: Path, prowess: Command
) -> None:
    write(
        tmp_path / "p" / "s1.jsonl",
        [
            user(0, "Look at the shop"),
            call(1, "t1", "Task", {"prompt": "look"}),
            result(
                9, "t1", [{"type": "text", "text": "seen"}], toolUseResult={"agentId": "ab12", "totalDurationMs": 7000}
            ),
            *shell(10, "t3", "ls", "shop.py"),
        ],
    )
    write(
        tmp_path / "p" / "agent-ab12.jsonl",
        [
            user(2, "look", isSidechain=True, agentId="ab12", uuid="x2"),
            call(3, "t2", "Grep", {"pattern": "x"}, isSidechain=True, uuid="x3"),
            result(4, "t2", "No matches found", isSidechain=True, uuid="x4"),
        ],
    )
    assert told(prowess, tmp_path / "p" / "s1.jsonl")["steps"] == 3
    steps = episode_of(prowess, "Look at the shop")["steps"]
    assert [step["action"] for step in steps] == ["Task", "Grep: x", "Bash: ls"]
    assert [step["duration_ms"] for step in steps] == [7000.0, 1000.0, 1000.0]


def test_a_subagent_that_was_given_the_whole_conversation_adds_nothing_of_it(tmp_path: Path, prowess: Command) -> None:
    first = [
        user(0, "Mend the till"),
        *shell(1, "t1", "pytest -q", "3 passed in 0.1s"),
        *shell(3, "t2", "git push", ""),
    ]
    second = [user(10, "Paint all doors green"), *shell(11, "t3", "paint doors", "ok"), *shell(15, "t4", "look", "ok")]
    write(tmp_path / "s1.jsonl", [*first, *second])
    # What compaction is given: the same calls under other names of their records, and later.
    again = [*shell(10, "t1", "pytest -q", "3 passed in 0.1s"), *shell(12, "t3", "paint doors", "ok")]
    copies = [{**record, "uuid": f"copy-{number}", "isSidechain": True} for number, record in enumerate(again)]
    write(tmp_path / "s1" / "subagents" / "agent-acompact-1.jsonl", copies)
    assert told(prowess, tmp_path) == {"sessions": 1, "episodes": 2, "steps": 4, "known": 0, "failures": 0}
    for words, actions in (("Mend", ["pytest -q", "git push"]), ("Paint", ["paint doors", "look"])):
        assert [step["action"] for step in episode_of(prowess, words)["steps"]] == [f"Bash: {each}" for each in actions]


def test_a_mark_at_the_start_costs_no_record(tmp_path: Path, prowess: Command) -> None:
    file = write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), *shell(1, "t1", "make", "done")])
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert told(prowess, file) == {"sessions": 1, "episodes": 1, "steps": 1, "known": 0, "failures": 0}
    assert episode_of(prowess, "Mend the till")["task_id"] == "claude-code:s1:user-0"


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_that_is_too_long_is_told_also_at_the_end(
    tmp_path: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 1_000)
    file = write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), *shell(1, "t1", "make", "done")])
    with file.open("a") as more:
        more.write(json.dumps(user(9, "x" * 5_000)) + "\n" + json.dumps(user(10, "y" * 5_000)) + end)
    ended = prowess("import", "claude-code", file, "--json")
    reason = "the line is longer than 1,000 bytes"
    assert [(broken["line"], broken["reason"]) for broken in ended.json["broken"]] == [(4, reason), (5, reason)]
    assert (ended.code, ended.json["steps"]) == (1, 1)


def test_a_second_import_stores_nothing(prowess: Command) -> None:
    told(prowess, REAL)
    before = prowess("stats", "--json").json
    assert told(prowess, REAL) == {"sessions": 1, "episodes": 0, "steps": 0, "known": 2, "failures": 3}
    after = prowess("stats", "--json").json
    assert {k: after[k] for k in ("episodes", "steps", "rewards")} == {
        k: before[k] for k in ("episodes", "steps", "rewards")
    }


def test_what_a_fork_copied_is_stored_once(tmp_path: Path, prowess: Command) -> None:
    both = tmp_path / "projects"
    for source in (*REAL.rglob("*.jsonl"), *(SAMPLES / "claude-code-fork").rglob("*.jsonl")):
        parts = source.parts
        target = both.joinpath(*parts[parts.index("projects") + 1 :])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    # The fork's file holds 10 calls of the first session (its subagent's are not copied) and 7 of its own.
    assert told(prowess, both) == {"sessions": 2, "episodes": 3, "steps": 18, "known": 0, "failures": 5}


def test_a_session_that_goes_on_is_taken_up_where_it_ended(tmp_path: Path, prowess: Command) -> None:
    now = datetime.now(UTC).isoformat()
    first = [
        user(0, "Mend the till"),
        *shell(1, "t1", "make", "ok"),
        call(3, "t2", "Bash", {"command": "pytest -q"}, timestamp=now),
    ]
    path = write(tmp_path / "s1.jsonl", first)
    assert told(prowess, path)["steps"] == 1
    assert episode_of(prowess, "Mend the till")["closed_at"] is None

    later = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    write(path, [*first, result(5, "t2", "3 passed in 0.1s", timestamp=later)])
    assert told(prowess, path)["steps"] == 1
    episode = episode_of(prowess, "Mend the till")
    assert ([step["action"] for step in episode["steps"]], episode["reward"]) == (
        ["Bash: make", "Bash: pytest -q"],
        10.0,
    )
    assert told(prowess, path)["known"] == 1
    assert len(episode_of(prowess, "Mend the till")["rewards"]) == 1


def test_what_clients_write_in_the_users_name_is_no_task(tmp_path: Path, prowess: Command) -> None:
    meta = [
        user(1, "Caveat: hidden", isMeta=True),
        user(2, "<command-name>/clear</command-name>\n<command-args></command-args>"),
        user(3, "<local-command-stdout>ok</local-command-stdout>"),
        user(4, "<bash-input>git status</bash-input>"),
        user(5, "[Request interrupted by user]"),
        user(6, "This session is being continued from a previous conversation that ran out of context."),
        user(7, "summary", isCompactSummary=True),
        user(8, "<system-reminder>be brief</system-reminder>"),
        user(8, '<teammate-message teammate_id="lead">go on</teammate-message>', uuid="u1"),
        user(8, '<agent-message from="ab12">done</agent-message>', uuid="u2"),
        user(8, '<channel source="chat">hello</channel>', uuid="u3"),
        user(8, "Go on with it", origin={"kind": "peer"}, uuid="u4"),
        queued(8, "<task-notification>built</task-notification>", uuid="u5"),
        queued(8, "Go on with it", origin={"kind": "coordinator"}, uuid="u6"),
        queued(8, "Go on with it", commandMode="task-notification", uuid="u7"),
        queued(8, "Go on with it", isMeta=True, uuid="u8"),
    ]
    words = "<system-reminder>be brief</system-reminder>Count the orders"
    path = write(tmp_path / "s1.jsonl", [*meta, user(9, words), *shell(10, "t1", "wc -l orders", "42 orders")])
    assert told(prowess, path)["episodes"] == 1
    assert episode_of(prowess, "Count")["task"] == "Count the orders"


def test_what_was_typed_while_the_agent_worked_steers_it(tmp_path: Path, prowess: Command) -> None:
    work = [*shell(1, "t1", "look", "ok"), queued(3, "Paint all doors green as well", origin={"kind": "human"})]
    work += [*shell(4, "t2", "paint", "ok"), queued(6, [{"type": "text", "text": "this is wrong"}, {"type": "image"}])]
    path = write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), *work, *shell(7, "t3", "undo", "ok")])
    assert told(prowess, path)["episodes"] == 1
    episode = episode_of(prowess, "Mend the till")
    assert episode["task"] == "Mend the till\n\nPaint all doors green as well\n\nthis is wrong"
    assert [reward["source"] for reward in episode["rewards"]] == ["user"]


def test_a_slash_command_that_starts_work_is_a_task(tmp_path: Path, prowess: Command) -> None:
    words = (
        "<command-message>review</command-message><command-name>/review</command-name><command-args>17</command-args>"
    )
    expanded = user(1, "Review the pull request as follows …", isMeta=True)
    path = write(tmp_path / "s1.jsonl", [user(0, words), expanded, *shell(2, "t1", "gh pr view 17", "…")])
    assert told(prowess, path)["episodes"] == 1
    assert episode_of(prowess, "/review")["task"] == "/review 17"


def test_broken_lines_are_told_and_the_others_stored(tmp_path: Path, prowess: Command) -> None:
    lines = [
        json.dumps(r) for r in (user(0, "Count the orders"), *shell(1, "t1", "ls", "orders"), NOVEL, {"type": "state"})
    ]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([lines[0], '{"type": "user", ', "[1]", *lines[1:], '{"type": "assist']))
    ended = prowess("import", "claude-code", path, "--json")
    assert (ended.code, ended.json["steps"]) == (1, 1)
    assert [(b["line"], b["reason"][:7]) for b in ended.json["broken"]] == [(2, "no JSON"), (3, "no JSON")]
    assert ended.json["unknown_records"] == {"novelty": 1}  # the other is no part of the conversation
    assert f"{path}:2: no JSON" in ended.err


def test_a_transcript_whose_beginning_is_lost_keeps_its_work(tmp_path: Path, prowess: Command) -> None:
    path = write(tmp_path / "s1.jsonl", [result(0, "gone", "text"), *shell(1, "t1", "ls", "orders"), said(3, "Done.")])
    assert told(prowess, path) == {"sessions": 1, "episodes": 1, "steps": 1, "known": 0, "failures": 0}


def test_a_call_that_never_got_an_answer_is_a_step_of_unknown_outcome(tmp_path: Path, prowess: Command) -> None:
    path = write(tmp_path / "s1.jsonl", [user(0, "Count the orders"), call(1, "t1", "Bash", {"command": "sleep 9"})])
    told(prowess, path)
    (step,) = episode_of(prowess, "Count")["steps"]
    assert (step["outcome"], step.get("observation"), step.get("duration_ms")) == ("unknown", None, None)


def test_calls_of_our_own_tools_are_no_steps(tmp_path: Path, prowess: Command) -> None:
    own = [call(1, "t1", "mcp__prowess__find_skill", {"query": "count"}), result(2, "t1", "none")]
    own += [call(1, "t3", "mcp__prowess-shared__reflect", {}, uuid="x1"), result(2, "t3", "none", uuid="x2")]
    path = write(tmp_path / "s1.jsonl", [user(0, "Count the orders"), *own, *shell(3, "t2", "ls", "orders")])
    assert told(prowess, path)["steps"] == 1


def test_the_session_is_the_one_that_the_file_goes_on_with(tmp_path: Path, prowess: Command) -> None:
    copied = [user(0, "Count the orders", sessionId="older"), *shell(1, "t1", "ls", "orders")]
    path = write(tmp_path / "s1.jsonl", copied)
    told(prowess, path)
    assert episode_of(prowess, "Count")["session"] == "s1"


def test_secrets_are_masked(tmp_path: Path, prowess: Command) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    records = [user(0, f"Use {token} to push"), *shell(1, "t1", f"push {token}", f"used {token}")]
    path = write(tmp_path / "s1.jsonl", records)
    ended = prowess("import", "claude-code", path, "--json")
    assert token not in ended.out
    assert token not in json.dumps(episode_of(prowess, "Use"))


def test_without_a_path_the_clients_own_folder_is_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prowess: Command
) -> None:
    ended = prowess("import", "claude-code")
    assert ended.code == 4
    assert "there are no transcripts of claude-code at" in ended.err
    write(home / ".claude" / "projects" / "-a" / "s1.jsonl", [user(0, "At home"), *shell(1, "t1", "ls", "")])
    write(tmp_path / "c" / "projects" / "-b" / "s2.jsonl", [user(0, "Elsewhere"), *shell(1, "t1", "ls", "")])
    assert prowess("import", "claude-code", "--dry-run", "--json").json["tasks"][0]["task"] == "At home"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    assert prowess("import", "claude-code", "--dry-run", "--json").json["tasks"][0]["task"] == "Elsewhere"


def test_a_dry_run_stores_nothing(tmp_path: Path, prowess: Command) -> None:
    ended = prowess("import", "claude-code", REAL, "--dry-run")
    assert "2 episodes with 11 steps would be imported; 1 session read" in ended.out
    assert not (tmp_path / "store").exists()


def test_the_folder_tells_the_project_and_an_option_overrides_it(tmp_path: Path, prowess: Command) -> None:
    (tmp_path / "shop").mkdir()
    records = [user(0, "Count the orders"), call(1, "t1", "Bash", {"command": "ls"}), result(2, "t1", "orders")]
    path = write(tmp_path / "s1.jsonl", [{**record, "cwd": str(tmp_path / "shop")} for record in records])
    (task,) = prowess("import", "claude-code", path, "--dry-run", "--json").json["tasks"]
    assert task["project"].startswith("shop-")
    (task,) = prowess("import", "claude-code", path, "--dry-run", "--json", "--project", "till").json["tasks"]
    assert task["project"] == "till"


def test_mutated_lines_crash_nothing(tmp_path: Path, prowess: Command) -> None:
    chance = random.Random(4)
    lines = [line for file in REAL.rglob("*.jsonl") for line in file.read_text().splitlines()]
    lines += [
        line for file in (SAMPLES / "claude-code-fork").rglob("*.jsonl") for line in file.read_text().splitlines()
    ]
    mutated = [_mutated(chance, chance.choice(lines)) for _ in range(1000)]
    (tmp_path / "s1.jsonl").write_bytes(b"\n".join(mutated))
    ended = prowess("import", "claude-code", tmp_path / "s1.jsonl", "--json")
    assert ended.code in (0, 1)
    assert "error" not in ended.json
    assert ended.json["steps"] > 0


def _mutated(chance: random.Random, line: str) -> bytes:
    """A line with values of other types, with bytes turned over, or cut off."""
    kind = chance.randrange(3)
    if kind == 0:
        return json.dumps(_other(chance, json.loads(line))).encode()
    data = bytearray(line.encode())
    if kind == 1:
        for _ in range(4):
            data[chance.randrange(len(data))] = chance.randrange(32, 256)
        return bytes(data)
    return bytes(data[: chance.randrange(len(data))])


def _other(chance: random.Random, value: object) -> object:
    if chance.random() < 0.05:
        return chance.choice([None, True, -1, 1e308, 10**30, "", "\x00\ud800", [], {}, [[]], {"type": "text"}])
    if isinstance(value, dict):
        return {key: _other(chance, item) for key, item in value.items()}
    return [_other(chance, item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_folder_without_a_transcript_is_not_taken_for_an_empty_past(
    prowess: Command, tmp_path: Path, client: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "notes.txt").write_text("not a session")
    ended = prowess("import", client, tmp_path, *more)
    assert ended.code == 4
    assert f"there are no transcripts of {client} at {tmp_path}" in ended.err
    assert f"`prowess import {client} FOLDER`" in ended.err


def test_transcripts_of_one_name_are_all_read(tmp_path: Path, prowess: Command) -> None:
    for place in ("one", "two"):
        of_it = {"sessionId": place}
        records = [user(0, f"Mend till {place}"), *shell(1, f"t-{place}", "make", "done")]
        write(
            tmp_path / place / "full.jsonl",
            [{**record, **of_it, "uuid": f"{place}-{n}"} for n, record in enumerate(records)],
        )
    assert told(prowess, tmp_path) == {"sessions": 2, "episodes": 2, "steps": 2, "known": 0, "failures": 0}


def test_what_lies_beside_subagents_is_no_session(tmp_path: Path, prowess: Command) -> None:
    write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), *shell(1, "t1", "make", "done")])
    below = tmp_path / "s1" / "subagents" / "workflows" / "wf-1"
    write(below / "agent-a.jsonl", [{**record, "isSidechain": True} for record in shell(2, "t2", "look", "ok")])
    write(below / "journal.jsonl", [{"type": "started", "key": "k", "agentId": "a"}])
    write(tmp_path / "s1" / "notes" / "journal.jsonl", [{"type": "user", "message": {"content": "no session"}}])
    assert told(prowess, tmp_path) == {"sessions": 1, "episodes": 1, "steps": 2, "known": 0, "failures": 0}


def test_a_file_of_something_else_is_told(tmp_path: Path, prowess: Command) -> None:
    write(tmp_path / "a.jsonl", [{"type": "session.start", "data": {}}, {"type": "mode", "mode": "normal"}])
    assert prowess("import", "claude-code", tmp_path, "--json").json["unknown_records"] == {"session.start": 1}


def test_a_subagent_belongs_to_its_session_of_another_folder(tmp_path: Path, prowess: Command) -> None:
    write(tmp_path / "a" / "s1.jsonl", [user(0, "Mend the till"), *shell(1, "t1", "make", "done")])
    write(
        tmp_path / "b" / "agent-a.jsonl", [{**record, "isSidechain": True} for record in shell(2, "t2", "look", "ok")]
    )
    assert told(prowess, tmp_path) == {"sessions": 1, "episodes": 1, "steps": 2, "known": 0, "failures": 0}


def test_what_the_client_says_is_neither_the_agents_word_nor_a_tools(tmp_path: Path, prowess: Command) -> None:
    refused = {**said(1, "API Error: 529 overloaded"), "isApiErrorMessage": True}
    reminder = "\n\n<system-reminder>\nthe list is empty\n</system-reminder>"
    answers = ["done" + reminder + reminder + "\n", reminder.strip(), "<system-reminder>x</system-reminder> is a tag"]
    answers += ["done\nShell cwd was reset to /nowhere/shop", "Shell cwd was reset to /a\ndone"]
    work = [record for n, answer in enumerate(answers) for record in shell(2 * n + 2, f"t{n}", f"make {n}", answer)]
    told(prowess, write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), refused, *work]))
    steps = episode_of(prowess, "Mend")["steps"]
    assert "context" not in steps[0]
    assert [step["observation"] for step in steps] == ["done", *answers[1:3], "done", answers[4]]


def test_a_commit_that_only_the_client_tells_of_is_evidence(tmp_path: Path, prowess: Command) -> None:
    made, answer = shell(1, "t1", "git commit -qm x", "")
    answer["toolUseResult"] = {"stdout": "", "gitOperation": {"commit": {"sha": "1a2b3c4", "kind": "committed"}}}
    path = write(tmp_path / "s1.jsonl", [user(0, "Mend the till"), made, answer])
    (task,) = prowess("import", "claude-code", path, "--dry-run", "--json").json["tasks"]
    assert task["evidence"] == {"commit": {"sha": "1a2b3c4", "reverted": False}}
    answer["toolUseResult"]["gitOperation"]["commit"]["sha"] = "unknown"
    write(path, [user(0, "Mend the till"), made, answer])
    assert prowess("import", "claude-code", path, "--dry-run", "--json").json["tasks"][0]["evidence"] == {}
