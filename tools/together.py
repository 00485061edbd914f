"""Two things that are waited for at the same time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

__all__ = ["at_once"]

T = TypeVar("T")
U = TypeVar("U")


async def at_once(first: Callable[[], Awaitable[T]], second: Callable[[], Awaitable[U]]) -> tuple[T, U]:
    """Both results. Where one raises, the other is cancelled and the error comes out as it is."""
    one, other = list[T](), list[U]()
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def carry_out(call: Callable[[], Awaitable[T | U]], results: list[T] | list[U]) -> None:
            try:
                results.append(await call())  # type: ignore[arg-type]
            except Exception as error:
                failures.append(error)  # kept out of the task group, which would wrap it
                tasks.cancel_scope.cancel()

        tasks.start_soon(carry_out, first, one)
        tasks.start_soon(carry_out, second, other)
    if failures:
        raise failures[0]
    return one[0], other[0]
