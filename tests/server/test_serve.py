"""The server in one process: it leaves when it is told to, whatever its client does."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a pipe holds is asked of Linux")

SECONDS = 180.0  # a cold Python on a busy machine, and then some
HELD = 60_000  # bytes in a pipe that has no room for another answer


def _waiting(descriptor: int) -> int:
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _request(number: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}).encode() + b"\n"


def test_a_server_whose_client_reads_nothing_leaves_when_it_is_told_to(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--in-process", "--store", str(tmp_path)]
    environment = {**os.environ, "PROWESS_EMBEDDER": "none"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            initialize = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "a", "version": "1"},
            }
            server.stdin.write(
                json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize}).encode() + b"\n"
            )
            server.stdin.write(b"".join(map(_request, range(1, 60))))
            server.stdin.flush()
            deadline = time.monotonic() + SECONDS
            while _waiting(server.stdout.fileno()) < HELD:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            server.send_signal(signal.SIGTERM)
            assert server.wait(SECONDS) == 0
        finally:
            server.kill()
