"""Threads of their own: what is asked takes turns, and nobody waits for what another gave up."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from prowess.storage.errors import StoreClosed
from prowess.storage.turns import Turns

pytestmark = pytest.mark.anyio

SECONDS = 180.0  # a busy machine, and then some


class Gate:
    """Work that waits inside its thread until it is let through."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._reached = threading.Event()
        self.begun = 0

    def __call__(self) -> str:
        self.begun += 1
        self._reached.set()
        assert self._open.wait(SECONDS)
        return "through"

    async def reached(self) -> None:
        await anyio.to_thread.run_sync(self._reached.wait, SECONDS)

    def let_through(self) -> None:
        self._open.set()


async def test_work_takes_turns_in_the_order_of_its_asking() -> None:
    turns, gate, done = Turns("test"), Gate(), list[int]()
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.run, gate)
            await gate.reached()
            for number in range(3):
                tasks.start_soon(turns.run, lambda number=number: done.append(number))
            await anyio.wait_all_tasks_blocked()
            assert done == []
            gate.let_through()
    assert done == [0, 1, 2]
    turns.end()


async def test_as_much_is_done_at_once_as_there_are_threads() -> None:
    turns, gates = Turns("test", 2), (Gate(), Gate())
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for gate in gates:
                tasks.start_soon(turns.run, gate)
            for gate in gates:
                await gate.reached()
            for gate in gates:
                gate.let_through()
    turns.end()


async def test_who_is_cancelled_in_the_queue_never_begins() -> None:
    turns, first, second = Turns("test"), Gate(), Gate()
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.run, first)
            await first.reached()
            with anyio.move_on_after(0) as scope:
                await turns.run(second)
            assert scope.cancelled_caught
            first.let_through()
    assert await turns.run(lambda: "next") == "next"
    assert second.begun == 0
    turns.end()


async def test_what_has_begun_is_waited_for_by_who_is_cancelled() -> None:
    turns, gate, left = Turns("test"), Gate(), list[int]()

    async def ask() -> None:
        try:
            await turns.run(gate)
            await anyio.lowlevel.checkpoint()
        finally:
            left.append(gate.begun)

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await gate.reached()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                assert left == []
                gate.let_through()
    assert left == [1]
    turns.end()


async def test_an_error_comes_out_as_it_is() -> None:
    turns = Turns("test")
    with pytest.raises(ZeroDivisionError):
        await turns.run(lambda: 1 // 0)
    turns.end()


async def test_after_the_end_no_work_is_taken() -> None:
    turns = Turns("test")
    assert await turns.run(lambda: 1) == 1
    turns.end()
    with pytest.raises(StoreClosed):
        await turns.run(lambda: 2)
