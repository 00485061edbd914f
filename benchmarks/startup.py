"""From spawn to an answered ``initialize``: the shim to a running hub, and with none; beside bare Pythons and peers.

All in turns within one run, so that a busy moment hits everyone. The peers are installed under ``build/`` when they are
missing: ``@modelcontextprotocol/server-memory`` from npm and ``skillmem`` from PyPI, each in a folder of its own. One
that cannot be had is reported as null with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, ended, percentile, scratch, script

from prowess.server import shim
from prowess.server.shim import places

BUILD = Path(__file__).parents[1] / "build"
TURNS = 20
SLOW_EVERY = 2  # turns, for what takes a second or more
ANSWER_SECONDS = 120.0
INSTALL_SECONDS = 600.0
NPM_PEER, PYPI_PEER = "@modelcontextprotocol/server-memory", "skillmem"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "startup", "version": "1"}}
INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"


def answered(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Seconds from spawn to the answer of ``initialize``."""
    begin = perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, cwd="/"
    ) as server:
        late = threading.Timer(ANSWER_SECONDS, server.kill)
        late.start()
        try:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(INITIALIZE)
            server.stdin.flush()
            answer = server.stdout.readline()
            seconds = perf_counter() - begin
            assert "result" in json.loads(answer or b"{}"), answer
            server.stdin.close()
            server.wait()
        finally:
            server.kill()
            late.cancel()
    return seconds


def end_hub(home: Path) -> None:
    """End the hub of ``home`` where there is one, and wait until it is gone."""
    import fcntl

    pid = places.read_state(home).get("pid")
    if not isinstance(pid, int):
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    descriptor = os.open(places.hub_lock(home), os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # it holds the lock for life, and leaves within a bound
    os.close(descriptor)
    Path(places.state_file(home)).unlink()


def install_npm_peer() -> list[str]:
    """The command of npm's peer. Raises OSError or subprocess.SubprocessError."""
    folder = BUILD / "npm-bench"
    program = folder / "node_modules" / ".bin" / "mcp-server-memory"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise OSError("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        install([npm, "install", "--prefix", str(folder), "--no-package-lock", "--no-audit", "--no-fund", NPM_PEER])
    return [str(program)]


def install_pypi_peer() -> list[str]:
    """The command of PyPI's peer. Raises OSError or subprocess.SubprocessError."""
    folder = BUILD / "peer-skillmem"
    program = folder / "bin" / "skillmem-mcp"
    if not program.exists():
        venv.create(folder, with_pip=True, clear=True)
        install([str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", PYPI_PEER])
    return [str(program)]


def install(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, timeout=INSTALL_SECONDS, capture_output=True)


def peers(folder: Path) -> tuple[dict[str, Callable[[], float]], dict[str, str]]:
    """What measures each peer that can be had, and why the others cannot."""
    # Their data goes into the scratch folder as well.
    told = {"MEMORY_FILE_PATH": "memory.json", "SKILLMEM_DB": "skillmem.db", "HOME": "home", "XDG_DATA_HOME": "data"}
    environ = {**os.environ, **{name: str(folder / value) for name, value in told.items()}, "HF_HUB_OFFLINE": "1"}
    found: dict[str, Callable[[], float]] = {}
    missing: dict[str, str] = {}
    for name, command_of in ((NPM_PEER, install_npm_peer), (PYPI_PEER, install_pypi_peer)):
        try:
            command = command_of()
            answered(command, environ)  # the first start makes its files
        except (OSError, subprocess.SubprocessError, AssertionError, ValueError) as error:
            missing[name] = f"{type(error).__name__}: {error}"[:300]
        else:
            found[name] = lambda command=command: answered(command, environ)  # type: ignore[misc]
    return found, missing


def shims(home: Path) -> tuple[dict[str, Callable[[], float]], Callable[[], float]]:
    """What measures the ways to start a shim with its hub running, and the one with none."""
    path = str(Path(shim.__file__).with_name("__main__.py"))
    store = ["--store", str(home)]
    installed = [sys.executable, "-I", "-S", path, *store]
    script = [str(Path(sys.executable).with_name("prowess")), "serve", *store]
    module = [sys.executable, "-I", "-m", "prowess.server", "serve", *store]

    def cold() -> float:
        end_hub(home)
        return answered(installed, os.environ)

    warm = {"shim": installed, "shim_by_module": module, "shim_by_script": script}
    return {
        name: lambda command=command: answered(command, os.environ)  # type: ignore[misc]
        for name, command in warm.items()
    }, cold


def measure(folder: Path) -> dict[str, Any]:
    home = folder / "store"
    warm, cold = shims(home)
    others, missing = peers(folder)
    quick: dict[str, Callable[[], float]] = {
        "python_bare": lambda: ended([sys.executable, "-I", "-S", "-c", "pass"]),
        "python": lambda: ended([sys.executable, "-c", "pass"]),
        **warm,
    }
    slow = {"mcp_import": lambda: ended([sys.executable, "-I", "-c", "import mcp"]), **others}
    seconds: dict[str, list[float]] = {name: [] for name in (*quick, *slow, "shim_cold")}
    try:
        for turn in range(TURNS):
            if turn % SLOW_EVERY == 0:
                seconds["shim_cold"].append(cold())
                for name, call in slow.items():
                    seconds[name].append(call())
            for name, call in quick.items():
                seconds[name].append(call())
    finally:
        end_hub(home)
    return report(seconds, missing)


def report(seconds: Mapping[str, Sequence[float]], missing: Mapping[str, str]) -> dict[str, Any]:
    results: dict[str, Any] = {
        name: {"ms_p50": percentile(found, 0.5), "ms_p95": percentile(found, 0.95), "runs": len(found)}
        for name, found in seconds.items()
    }
    budgets = {
        "shim": round(2 * results["python_bare"]["ms_p50"] + 30, 3),
        "shim_cold": round(results["mcp_import"]["ms_p50"] + 1000, 3),
    }
    return {
        **results,
        **dict.fromkeys(missing),
        "missing": dict(missing),
        "budget_ms_p50": budgets,
        "within_budget": {name: results[name]["ms_p50"] <= budget for name, budget in budgets.items()},
    }


def main() -> None:
    with scratch() as folder:
        emit("startup", measure(folder))


if __name__ == "__main__":
    script(main)
