"""Commands where the surroundings are poor: closed or full streams, other encodings, empty paths, a damaged catalog."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from clikit import Command
from rich.console import Console

from prowess.server.cli.terminal import table
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

SECONDS = 60.0
OLD_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def ended(home: Path, words: str, redirect: str = "", **environ: str) -> subprocess.CompletedProcess[bytes]:
    """``prowess WORDS`` in a process of its own, with a shell's redirections."""
    program = f'exec "{sys.executable}" -m prowess.server {words} --store "{home}" {redirect}'
    environment = {**os.environ, "PROWESS_EMBEDDER": "none", **environ}
    return subprocess.run(["sh", "-c", program], env=environment, capture_output=True, timeout=SECONDS, cwd=home.parent)


@pytest.fixture
def snowman(home: Path) -> Path:
    async def fill() -> None:
        async with Store.open(home) as store:
            await store.track(Where(task_id="é☃\U0001f600"), [NewStep(action="é☃")], origin=Origin())

    anyio.run(fill)
    return home


def test_what_the_terminal_cannot_show_is_escaped(snowman: Path) -> None:
    done = ended(snowman, "episodes list", **OLD_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\xe9\\u2603\\U0001f600" in done.stdout


def test_json_is_json_in_any_encoding(snowman: Path) -> None:
    done = ended(snowman, "episodes list --json", **OLD_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    [episode] = json.loads(done.stdout)
    assert (episode["task_id"], episode["steps"][0]["action"]) == ("é☃\U0001f600", "é☃")


def on_a_terminal(columns: int, *words: str) -> str:
    """What ``prowess WORDS`` writes to a terminal so wide, which a person may copy from there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-I", "-m", "prowess.server", *words]
    environment = {**os.environ, "PROWESS_EMBEDDER": "none", "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    subprocess.run(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, timeout=SECONDS, check=False)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # how Linux ends a terminal that nobody has open
        while part := os.read(ours, 65536):
            written += part
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80])
def test_ids_stay_whole_however_narrow_the_terminal(filled: str, home: Path, columns: int) -> None:
    row = on_a_terminal(columns, "episodes", "list", "--store", str(home)).splitlines()[1]
    assert row.split()[:3] == [filled, "2", "success"]


def test_a_narrow_terminal_shows_the_tasks_words_before_the_ids_that_clients_give(filled: str, home: Path) -> None:
    heading, row, *_ = on_a_terminal(80, "episodes", "list", "--store", str(home)).splitlines()
    assert heading.split() == ["EPISODE", "STEPS", "OUTCOME", "ABOUT"]
    assert row.startswith(f"{filled}  2      success  Return")
    assert max(map(len, (heading, row))) <= 80
    wide = on_a_terminal(240, "episodes", "list", "--store", str(home)).splitlines()[1]
    assert wide.split()[:3] == [filled, "shop/1", "shop"]


def test_where_there_is_room_long_text_is_wrapped_in_its_column() -> None:
    written = io.StringIO()
    rows = [("an-id-of-some-letters", "one two three four five six seven eight")]
    Console(file=written, width=45).print(table(("ID", "TEXT"), rows), soft_wrap=True)
    assert written.getvalue().splitlines() == [
        "ID                     TEXT",
        "an-id-of-some-letters  one two three four",
        "                       five six seven eight",
    ]


def test_paths_and_changes_are_written_to_a_terminal_as_they_are(home: Path) -> None:
    missing = home / "a folder whose path is longer than a line of forty columns"
    assert f"error: there is no store at {missing}\n" in on_a_terminal(40, "stats", "--store", str(missing))
    told = on_a_terminal(40, "install", "cursor", "--dry-run", "--store", str(missing))
    assert f'+        "{missing}"\n' in told


@pytest.mark.parametrize("words", ["stats", "stats --json"])
def test_closed_streams_are_no_error(snowman: Path, words: str) -> None:
    done = ended(snowman, words, ">&- <&-")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", ["stats", "stats --json", "episodes list"])
def test_a_result_that_cannot_be_written_is_told_without_a_traceback(snowman: Path, words: str) -> None:
    done = ended(snowman, words, ">/dev/full")
    assert (done.returncode, done.stderr) == (
        6,
        b"error: the result could not be written: No space left on device\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("episodes", "list", "--limit", "0"), "Invalid value for '--limit': 0 is not in the range 1<=x<=1000000."),
        (("find",), "Missing argument 'QUERY'."),
        (("stats", "--bogus"), "No such option '--bogus'."),
        (("backup", ""), "Invalid value for 'TARGET': the path is empty"),
    ],
)
def test_a_wrong_command_line_is_one_document_as_json(
    prowess: Command, filled: str, words: tuple[str, ...], told: str
) -> None:
    done = prowess(*words, "--json")
    assert done.code == 2
    assert (done.json["error"]["message"], done.json["error"]["exit_code"]) == (told, 2)


def test_a_variable_that_is_not_set_does_not_mean_the_working_directory(
    prowess: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = prowess("import", "jsonl", os.devnull, "--store", "", store=False)
    assert done.code == 2
    assert "the path is empty" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["foreign", "pages", "empty", "deleted"])
def test_rebuild_mends_a_catalog_whatever_is_wrong_with_it(
    prowess: Command, filled: str, home: Path, damage: str
) -> None:
    before = prowess("episodes", "list", "--json").json
    for leftover in ("catalog.db-wal", "catalog.db-shm"):
        (home / leftover).unlink(missing_ok=True)
    catalog = home / "catalog.db"
    content = catalog.read_bytes()
    match damage:
        case "foreign":
            catalog.write_bytes(b"not a database at all" * 300)
        case "pages":
            catalog.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
        case "empty":
            catalog.write_bytes(b"")
        case "deleted":
            catalog.unlink()
    done = prowess("rebuild", "--json")
    assert (done.code, done.json) == (0, {"episodes": 2, "steps": 3}), done.err
    assert prowess("episodes", "list", "--json").json == before
