"""What the shim loads, which is what an agent waits for. A list, since it is stable where times are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from shimkit import SECONDS, SHIM_PARENT, Hub

import prowess
from prowess.server.settings import TABLE
from prowess.server.shim import places, wire

MODULES = (
    "command",
    "lean",
    "link",
    "notes",
    "ordinary",
    "places",
    "relay",
    "session",
    "spawn",
    "starter",
    "stream",
    "wire",
)
ALLOWED = {"shim", *(f"shim.{name}" for name in MODULES)}
ALLOWED |= {"__future__", "_collections", "_json", "_socket", "errno", "select", "time"}

LIST = "import os, sys; sys.stderr.write(' '.join(sys.modules))"
SERVE = f"import sys; sys.path.append({SHIM_PARENT!r}); import shim; shim.main(['--store', sys.argv[1]]); {LIST}"


def _loaded(code: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )
    return set(done.stderr.decode().split())


def test_a_session_with_a_running_hub_loads_these_modules_and_no_others(tmp_path: Path) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}\n'
    with Hub(tmp_path) as hub:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SERVE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.flush()
        link = hub.accept()
        link.receive()
        link.answer(1)
        out, err = process.communicate(timeout=SECONDS)
    assert b'"id": 1' in out
    assert set(err.decode().split()) - _loaded(LIST) <= ALLOWED


def test_the_package_alone_loads_nothing_else() -> None:
    code = f"import sys; sys.path.append({SHIM_PARENT!r}); import shim.places; {LIST}"
    assert _loaded(code) - _loaded(LIST) == {"shim", "shim.places", "shim.ordinary", "errno", "__future__"}


def test_the_version_is_the_programs() -> None:
    assert prowess.__version__ == wire.VERSION


def test_the_names_of_the_settings_are_the_tables() -> None:
    assert set(places.SETTING_NAMES) == {row.env for row in TABLE} - {"PROWESS_HOME"}


@pytest.mark.parametrize("start", [("-S", f"{SHIM_PARENT}/shim/__main__.py"), ("-m", "prowess.server.shim")])
def test_it_starts_by_path_and_by_name(start: tuple[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", *start, "--wrong"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: prowess serve" in done.stderr


@pytest.mark.parametrize("options", [["--store"], ["x"], ["--store=a", "-v"]])
def test_wrong_options_are_told_on_stderr(options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "prowess.server", "serve", *options],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout) == (2, "")


def test_where_there_are_no_unix_sockets_the_store_is_opened_in_the_process(tmp_path: Path) -> None:
    start = f"sys.path.append({SHIM_PARENT!r}); import shim; shim.main(sys.argv[1:])"
    code = f"import _socket, sys; del _socket.AF_UNIX; {start}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "--store", str(tmp_path)],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert b"prowess: warning: no Unix sockets here" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("options", "environ"), [(["--in-process"], {}), ([], {"PROWESS_IN_PROCESS": "1"})])
@pytest.mark.parametrize("start", [("-S", f"{SHIM_PARENT}/shim/__main__.py"), ("-m", "prowess.server", "serve")])
def test_a_store_in_the_process_can_be_asked_for(
    start: tuple[str, ...], options: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-I", *start, f"--store={tmp_path}", *options],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        timeout=SECONDS,
        check=True,
        env={**os.environ, **environ},
    )
    assert json.loads(done.stdout)["id"] == 1
    assert done.stderr == b""
    assert not (tmp_path / "run").exists()
