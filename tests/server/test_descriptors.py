"""Lines over file descriptors: threads that block hold up neither the loop's end nor the process's."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from prowess.server.descriptors import AHEAD, Descriptors

pytestmark = pytest.mark.anyio

SECONDS = 180.0  # a cold Python on a busy machine, and then some
MUCH = b"x" * 4_000_000  # more than any pipe holds


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    try:
        yield read, write
    finally:
        for descriptor in (read, write):
            try:
                os.close(descriptor)
            except OSError:
                continue


async def _read_all(descriptor: int, size: int) -> bytes:
    data = b""
    with anyio.fail_after(SECONDS):
        while len(data) < size:
            data += await anyio.to_thread.run_sync(os.read, descriptor, 1 << 16)
    return data


async def test_lines_come_in_order_and_then_the_end() -> None:
    with _pipe() as (source, told), anyio.fail_after(SECONDS):
        wire = Descriptors(source, 1)
        os.write(told, b"".join(b"%d\n" % number for number in range(3 * AHEAD)))
        os.close(told)
        assert [await wire.next_line() for _ in range(3 * AHEAD)] == [b"%d" % number for number in range(3 * AHEAD)]
        for _ in range(2):
            with pytest.raises(anyio.EndOfStream):
                await wire.next_line()
        wire.close()


async def test_a_reader_that_was_given_up_loses_no_line() -> None:
    with _pipe() as (source, told), anyio.fail_after(SECONDS):
        wire = Descriptors(source, 1)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await wire.next_line()
        os.write(told, b"one\ntwo\n")
        assert [await wire.next_line(), await wire.next_line()] == [b"one", b"two"]
        wire.close()


async def test_what_was_given_up_in_the_middle_is_written_whole_before_the_next() -> None:
    with _pipe() as (source, target), anyio.fail_after(SECONDS):
        wire = Descriptors(0, target)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.write, MUCH)
            assert await anyio.to_thread.run_sync(os.read, source, 1) == b"x"
            tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.write, b"\nnext\n")
            assert await _read_all(source, len(MUCH) + 5) == MUCH[1:] + b"\nnext\n"
        wire.close()


async def test_a_client_that_is_gone_and_a_wire_that_is_closed_are_told_to_the_writer() -> None:
    with _pipe() as (source, target), anyio.fail_after(SECONDS):
        wire = Descriptors(0, target)
        os.close(source)
        with pytest.raises(BrokenPipeError):
            await wire.write(b"a\n")
        wire.close()
        with pytest.raises(anyio.ClosedResourceError):
            await wire.write(b"a\n")


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name in ("stdin", "stdout")]


def test_a_loop_that_ends_before_the_input_leaves_nothing_open_and_no_thread() -> None:
    async def serve(source: int, target: int) -> None:
        wire = Descriptors(source, target)
        with anyio.move_on_after(0):
            await wire.next_line()
        with anyio.move_on_after(0):
            await wire.write(MUCH)

    before = _threads()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _pipe() as (source, told), _pipe() as (heard, target):
            anyio.run(serve, source, target)
            started = [thread for thread in _threads() if thread not in before]
            assert all(thread.daemon for thread in started)
            os.write(told, b"too late\n")
            os.close(heard)
            for thread in started:
                thread.join(SECONDS)
                assert not thread.is_alive()
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


BLOCKED = """
import sys, anyio
from prowess.server.descriptors import Descriptors

async def main():
    wire = Descriptors(0, 1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.next_line)
        tasks.start_soon(wire.write, b"x" * 4_000_000)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

anyio.run(main)
"""


def test_a_process_leaves_while_its_client_neither_says_nor_reads_anything() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-c", BLOCKED], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        try:
            assert child.wait(SECONDS) == 0
        finally:
            child.kill()
