"""A hook's process: whatever it is given and whatever is wrong around it, it ends with 0 and says JSON or nothing."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hookkit import SECONDS, events, run, sample

from prowess.server.doctor.spool import look_at_spool
from prowess.server.hooks import losses, spool, texts
from prowess.server.hooks.events import command, program
from prowess.server.shim import places

CONSOLE = [sys.executable, "-I", "-m", "prowess.server", "hook"]
SECRET = "sk-ant-api03-" + ("Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 3)[:93] + "AA"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def silent(home: Path) -> Iterator[socket.socket]:
    """A hub that takes connections and never answers; its lock is held, so that no other is started."""
    import fcntl

    places.make_run_folder(home)
    lock = os.open(places.hub_lock(home), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(places.socket_path(home))
        listener.listen(64)
        yield listener
    os.close(lock)


STEP = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "make"}, "tool_response": {"stdout": "ok"}}


def step(**changes: Any) -> dict[str, Any]:
    return {"session_id": "s1", "cwd": "/", **STEP, **changes}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"null",
        b"[1, 2]",
        b"{" * 100_000,
        b'{"session_id": "s1"',
        b"\xff\xfe\x00garbage",
        b'{"session_id": 7, "tool_name": {}}',
        json.dumps({"session_id": "s1"}).encode(),
        json.dumps(step(tool_input=3, tool_response=[1, "a", None])).encode(),
        json.dumps(step(tool_use_id=None, duration_ms=-1, cwd=5)).encode(),
        json.dumps(step(tool_input={"a": "\ud800"}, tool_response="\udfff")).encode(),
    ],
    ids=str,
)
@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_nonsense_is_taken_in_silence(home: Path, client: str, data: bytes) -> None:
    event = "postToolUse" if client == "cursor" else "PostToolUse"
    assert run(home, client, event, data) == ""


@pytest.mark.parametrize(("client", "event"), [("vim", "PostToolUse"), ("codex", "Invented"), ("", "")])
def test_an_unknown_client_or_event_is_no_error(home: Path, client: str, event: str) -> None:
    arguments = [sys.executable, "-I", "-S", program(), client, event, "--store", str(home)]
    ended = subprocess.run(arguments, input=b"{}", capture_output=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_ten_megabytes_leave_a_bounded_event_with_both_ends(home: Path, silent: socket.socket) -> None:
    said = "begin " + "x" * 10_000_000 + " the end"
    run(home, "claude-code", "PostToolUse", step(tool_response={"stdout": said}, tool_input={"command": said}))
    (event,) = events(home)
    assert len(json.dumps(event)) < 200_000
    assert event["observation"].startswith("begin xxx")
    assert event["observation"].endswith("xxx the end")
    assert "characters left out" in event["observation"]


def test_bytes_that_are_no_utf8_are_replaced(home: Path, silent: socket.socket) -> None:
    data = json.dumps(step(tool_response={"stdout": "MARK"})).encode().replace(b"MARK", b"caf\xe9")
    run(home, "claude-code", "PostToolUse", data)
    assert [event["observation"] for event in events(home)] == ["caf\ufffd"]


def test_a_mark_at_the_start_of_the_input_is_passed_over(home: Path, silent: socket.socket) -> None:
    run(home, "claude-code", "PostToolUse", b"\xef\xbb\xbf" + json.dumps(step()).encode())
    assert len(events(home)) == 1


@pytest.mark.parametrize(
    "given",
    [
        step(tool_response={"stdout": f"key: {SECRET}"}),
        step(tool_input={"command": f"curl -H 'x-api-key: {SECRET}'"}),
        step(tool_input={"env": {"password": "hunter2-hunter2"}, "key": SECRET}),
        step(tool_response={"stdout": "x " * 23_975 + SECRET + " y" * 50_000}),
        step(tool_response={"stdout": "x " * 50_000 + SECRET + " y" * 7_975}),
        step(tool_input={"x " * 75 + SECRET: 1, "long": "y" * 70_000}),
    ],
)
def test_secrets_are_masked_before_anything_is_written(
    home: Path, silent: socket.socket, given: dict[str, Any]
) -> None:
    run(home, "claude-code", "PostToolUse", given)
    (event,) = events(home)
    written = json.dumps(event)
    assert not any(SECRET[at : at + 12] in written for at in range(len(SECRET) - 12))
    assert "hunter2" not in written


@pytest.mark.parametrize("behind", [13_000, 14_500, 15_250, 15_900])
def test_no_line_of_a_private_key_is_left_where_a_result_is_cut(behind: int) -> None:
    lines = [f"{number:03d}" + "Qx7" * 20 + "A" for number in range(50)]  # as long as the key of RSA 4096
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    kept = texts.safe("x " * 50_000 + key + " y" * (behind // 2) + " the end", texts.MAX_OBSERVATION)
    assert not any(line in kept for line in lines)
    assert kept.endswith(" y the end")


def test_a_text_that_is_hardly_too_long_loses_hardly_anything() -> None:
    kept = texts.safe("a" * 3_000 + "b" * 100 + "c" * 1_000, 4_000)
    assert (kept.count("a") >= 3_000, kept.count("c") >= 1_000) == (True, True)


def test_an_event_is_private_and_whole(home: Path, silent: socket.socket) -> None:
    run(home, "codex", "PostToolUse", sample("codex", "PostToolUse"))
    folder = Path(spool.folder(str(home)))
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert json.loads(file.read_bytes())["call"] == "call_000000000000000000000004"


def test_a_store_that_cannot_be_written_costs_the_event_and_not_the_agent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert run(tmp_path / "file" / "store", "claude-code", "PostToolUse", step()) == ""


@pytest.mark.parametrize(("files", "bytes_each"), [(spool.MAX_WAITING, 0), (spool.SURELY_FIT + 1, 2_600_000)])
def test_a_full_spool_takes_no_more_and_says_so(home: Path, silent: socket.socket, files: int, bytes_each: int) -> None:
    folder = Path(spool.folder(str(home)))
    folder.mkdir(parents=True)
    for number in range(files):
        with (folder / f"{number:020d}-1-a.json").open("wb") as file:
            file.truncate(bytes_each)
    assert run(home, "claude-code", "PostToolUse", step()) == ""
    assert len(list(folder.iterdir())) == files
    assert "the spool is full" in spool.newest_error(str(home))
    said = run(home, "claude-code", "SessionStart", sample("claude-code", "SessionStart"))
    assert json.loads(said).keys() == {"systemMessage"}
    assert "not recorded (the spool is full" in json.loads(said)["systemMessage"]
    assert run(home, "claude-code", "UserPromptSubmit", sample("claude-code", "UserPromptSubmit")) == ""
    next(folder.iterdir()).unlink()
    run(home, "claude-code", "PostToolUse", step())
    assert len(list(folder.iterdir())) == files


def test_a_session_of_which_nothing_can_be_kept_is_told_so_at_its_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    said = run(tmp_path / "file" / "store", "claude-code", "SessionStart", sample("claude-code", "SessionStart"))
    assert json.loads(said) == {
        "systemMessage": "Prowess: this session is not recorded (Not a directory). `prowess doctor` tells what helps."
    }
    given = {"conversation_id": "c1", "hook_event_name": "beforeSubmitPrompt", "prompt": "go"}
    assert json.loads(run(tmp_path / "file" / "store", "cursor", "beforeSubmitPrompt", given)) == {"continue": True}


def test_what_kept_a_hook_from_its_work_is_noted_for_the_doctor(home: Path) -> None:
    home.mkdir()
    (home / "spool").write_text("no folder")
    run(home, "claude-code", "PostToolUse", step())
    assert "FileExistsError" in spool.newest_error(str(home))
    assert "make" not in spool.newest_error(str(home))


def on_a_full_disk(home: Path, times: int) -> list[int]:
    """Exit codes of so many hooks at once that cannot write a byte."""
    limited = (
        "import os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", limited, *command("claude-code", "PostToolUse", store=str(home))]
    hooks = [subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(times)]
    for hook in hooks:
        assert hook.communicate(json.dumps(step()).encode(), SECONDS)[1] == b""
    return [hook.returncode for hook in hooks]


def test_events_that_no_disk_takes_are_counted_and_told_until_a_week_later(home: Path) -> None:
    assert on_a_full_disk(home, 1) + on_a_full_disk(home, 4) == [0] * 5
    assert events(home) == []
    now = time.time()
    told = losses.told(str(home), now)
    assert told is not None
    assert (told[0], told[1] <= told[2] <= now + 1) == (5, True)
    run(home, "claude-code", "PostToolUse", step())
    found = look_at_spool(home)
    assert (found.state, len(events(home))) == ("warn", 1)
    assert found.said.startswith("5 events of hooks could not be kept, since 20")
    assert "prowess import" in found.mend
    assert look_at_spool(home, now + losses.KEPT_SECONDS).state != "ok"  # by then no hub takes the one that waits
    assert losses.told(str(home), now + losses.KEPT_SECONDS + 60) is None


def test_losses_are_counted_where_times_are_set_by_name_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = os.utime

    def utime(path: object, **times: Any) -> None:  # as Windows has it
        if isinstance(path, int):
            raise TypeError("utime: path should be string, bytes or os.PathLike, not int")
        by_name(str(path), **times)

    monkeypatch.setattr(os, "utime", utime)
    for _ in range(2):
        losses.note(str(home))
    told = losses.told(str(home), time.time())
    assert told is not None
    assert told[0] == 2


def test_an_event_is_kept_where_losses_could_not_be_counted(home: Path) -> None:
    home.mkdir()
    (home / "logs").write_text("no folder")
    run(home, "claude-code", "PostToolUse", step())
    assert len(events(home)) == 1


def test_why_a_hook_failed_is_written_over_the_last_reason(home: Path) -> None:
    """On a full disk a file that was emptied first would stay empty."""
    (home / "logs").mkdir(parents=True)
    for words in ("a long reason " * 20, "short"):
        spool.note_error(str(home), words)
    assert spool.newest_error(str(home)).endswith("Z short")


def test_a_hub_that_does_not_answer_is_not_waited_for(home: Path, silent: socket.socket) -> None:
    for name in ("UserPromptSubmit", "SessionStart"):
        said = run(home, "claude-code", name, sample("claude-code", name))
        assert bool(said) == (name == "SessionStart")  # what is told then needs no hub
    assert [event["kind"] for event in events(home)] == ["prompt", "start"]


def commands(hub: socket.socket) -> list[str]:
    """What the hooks that connected wanted, in order."""
    hub.setblocking(False)
    found = []
    while True:
        try:
            connection, _ = hub.accept()
        except BlockingIOError:
            return found
        with connection, connection.makefile("rb") as lines:
            found.append(json.loads(lines.readline())["prowess"]["command"])


@pytest.mark.parametrize(
    ("client", "event", "given", "asks"),
    [
        ("claude-code", "PostToolUseFailure", {"tool_input": {"command": "make"}}, True),
        ("claude-code", "PostToolUseFailure", {"tool_input": {"file_path": "a"}, "tool_name": "Read"}, False),
        ("claude-code", "PostToolUse", {"tool_response": {"stdout": "ok"}}, False),
        ("cursor", "postToolUseFailure", {"error_message": "no"}, False),
        ("codex", "PostToolUse", {"tool_response": "no"}, False),
    ],
)
def test_a_hub_is_asked_after_a_tool_use_only_where_a_command_failed(
    home: Path, silent: socket.socket, client: str, event: str, given: dict[str, Any], asks: bool
) -> None:
    assert run(home, client, event, {**STEP, "session_id": "s1", "cwd": "/", "error": "Exit code 1", **given}) == ""
    assert commands(silent) == (["spool", "context"] if asks else ["spool"])


def test_a_hub_that_is_away_is_not_waited_for_when_a_command_failed(home: Path) -> None:
    assert run(home, "claude-code", "PostToolUseFailure", {**step(), "error": "Exit code 1\nno disk"}) == ""
    assert not Path(places.run_folder(home)).exists()
    assert [event["kind"] for event in events(home)] == ["step"]


@pytest.mark.parametrize(
    ("version", "takes"),
    [
        ("2.6.11", False),
        ("3.19.9", False),
        ("3.20.17", True),
        ("4", True),
        ("2026.07.22-a1", False),
        ("2026.07.23-a1", True),
        ("", False),
        ("3.x", False),
    ],
)
def test_nothing_is_asked_for_a_prompt_that_takes_no_context(
    home: Path, silent: socket.socket, version: str, takes: bool
) -> None:
    given = {"conversation_id": "c1", "prompt": "Mend the till", "cursor_version": version, "workspace_roots": ["/"]}
    assert json.loads(run(home, "cursor", "beforeSubmitPrompt", given)) == {"continue": True}
    assert commands(silent) == (["spool", "context"] if takes else ["spool"])


def test_a_client_that_never_closes_the_pipe_is_not_waited_for(home: Path) -> None:
    with subprocess.Popen(
        command("claude-code", "PostToolUse", store=str(home)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as hook:
        assert hook.stdin is not None
        hook.stdin.write(b'{"session_id": ')
        hook.stdin.flush()
        assert hook.wait(SECONDS) == 0
        assert hook.stdout is not None
        assert hook.stdout.read() == b""


@pytest.mark.parametrize("program", [[*command("claude-code", "SessionStart")[:-2]], CONSOLE])
def test_a_client_that_reads_no_answer_gets_no_complaint(home: Path, silent: socket.socket, program: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = subprocess.run(
            [*program, "claude-code", "SessionStart", "--store", str(home)],
            input=json.dumps(sample("claude-code", "SessionStart")).encode(),
            stdout=gone,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "BrokenPipeError" in spool.newest_error(str(home))
    assert len(events(home)) == 1


def test_a_tool_use_starts_no_hub(home: Path) -> None:
    run(home, "claude-code", "PostToolUse", step())
    assert not Path(places.error_file(home)).exists()


def test_the_command_of_an_unknown_event_is_refused() -> None:
    with pytest.raises(KeyError):
        command("codex", "PostToolUseFailure")


def test_the_console_script_takes_hooks_too(home: Path, silent: socket.socket) -> None:
    program = [*CONSOLE, "codex", "PostToolUse", "--store", str(home)]
    data = json.dumps(sample("codex", "PostToolUse")).encode()
    ended = subprocess.run(program, input=data, capture_output=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert len(events(home)) == 1


def test_the_store_is_known_however_its_option_is_written(home: Path, silent: socket.socket) -> None:
    data = json.dumps(sample("codex", "PostToolUse")).encode()
    for words in (["codex", "PostToolUse", f"--store={home}"], ["--store", str(home), "codex", "PostToolUse"]):
        ended = subprocess.run(
            [sys.executable, "-I", "-S", program(), *words],
            input=data,
            capture_output=True,
            env={"HOME": str(home.parent / "other")},
            timeout=SECONDS,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
    assert len(events(home)) == 2


def test_a_hook_needs_nothing_but_the_standard_library(home: Path) -> None:
    code = (
        "import sys, runpy\n"
        f"sys.argv[1:] = ['codex', 'PostToolUse', '--store', {str(home)!r}]\n"
        "import os; os._exit = lambda code: None\n"
        f"runpy.run_path({program()!r}, run_name='__main__')\n"
        "outside = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names\n"
        "print(sorted(outside - {'__main__', 'prowess'}))\n"
    )
    data = json.dumps(step(tool_response=f"key: {SECRET}")).encode()
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=data, capture_output=True, timeout=SECONDS)
    assert ended.stdout.decode().strip() == "[]", ended.stderr
    assert len(events(home)) == 1
