"""A hub that hangs is ended, and no other."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import anyio.lowlevel
import pytest
from hubkit import SECONDS

from prowess.server.hub import watchdog

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.005)
    monkeypatch.setattr(watchdog, "LOOKS", 20)


async def test_a_loop_that_hangs_is_told_with_the_place_where_it_does(caplog: pytest.LogCaptureFixture) -> None:
    left = threading.Event()
    with watchdog.watched(left.set):
        assert left.wait(SECONDS)
    assert "the hub hangs" in caplog.text
    assert "test_a_loop_that_hangs" in caplog.text


async def test_a_log_that_cannot_be_written_does_not_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "TELL_SECONDS", 0.05)
    left, stuck = threading.Event(), threading.Event()
    monkeypatch.setattr(watchdog._log, "error", lambda *_: stuck.wait(SECONDS))
    with watchdog.watched(left.set):
        assert left.wait(SECONDS)
    stuck.set()


async def test_a_loop_that_is_only_slow_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOKS", 10_000)
    left = threading.Event()
    with watchdog.watched(left.set):
        for _ in range(10):
            time.sleep(0.02)  # noqa: ASYNC251
            await anyio.lowlevel.checkpoint()
    assert not left.is_set()


async def test_it_ends_with_what_it_watches() -> None:
    with watchdog.watched(threading.Event().set):
        watching = [thread for thread in threading.enumerate() if thread.name == "watchdog"]
    (thread,) = watching
    thread.join(SECONDS)
    assert not thread.is_alive()


HANGING = """
import anyio, time
from prowess.server.hub import watchdog

watchdog.LOOK_SECONDS, watchdog.LOOKS = 0.01, 10

async def main():
    with watchdog.watched():
        time.sleep(600)

anyio.run(main)
"""


def test_a_process_that_hangs_is_ended() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", HANGING], timeout=SECONDS, check=False, capture_output=True)
    assert done.returncode == 1
    assert b"the hub hangs" in done.stderr
