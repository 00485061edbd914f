"""What a queued write is: a request that decides and writes inside the writer's batch, and the answer it waits for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from prowess.storage.log.batch import Batch
from prowess.storage.log.codec import pack
from prowess.storage.models import Receipt

__all__ = ["Command", "Job"]

A = TypeVar("A", bound=Receipt)


class Command(ABC, Generic[A]):
    """One write that may be sent again. ``key`` is its idempotency key; ``request`` what must be equal then."""

    operation: ClassVar[str]
    answer_type: type[A]

    def __init__(self, key: str | None, request: Any) -> None:
        self.key = key
        self.request = blake2b(pack(request), digest_size=16).digest() if key is not None else b""

    @abstractmethod
    def apply(self, batch: Batch) -> A:
        """Decide first (raising InvalidInput with nothing written), then write."""

    def run(self, batch: Batch) -> A:
        """``apply``, or the first answer where this key was answered before."""
        if self.key is None:
            return self.apply(batch)
        known = batch.recall(self.operation, self.key, self.request)
        if known is not None:
            return msgspec.msgpack.decode(known, type=self.answer_type)
        answer = self.apply(batch)
        batch.remember(self.operation, self.key, self.request, answer)
        return answer


class Job:
    """A command on its way through the writer's queue. ``done`` is called once, in the writer's thread."""

    def __init__(self, work: Callable[..., Any], done: Callable[[], None], *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        self._done = done
        self._answer: Any = None
        self._error: BaseException | None = None

    def succeed(self, answer: Any) -> None:
        self._answer = answer

    def fail(self, error: BaseException) -> None:
        self._error = error

    @property
    def failed(self) -> bool:
        return self._error is not None

    def tell(self) -> None:
        self._done()

    def result(self) -> Any:
        """The answer, or the error raised; only after ``done``."""
        if self._error is not None:
            raise self._error
        return self._answer
