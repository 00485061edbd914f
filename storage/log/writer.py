"""The one thread that writes: it takes what is queued, commits it together, and only then answers.

After an I/O error, and where redb broke off, the log is opened again from what is on disk and the whole batch is told
that its fate is uncertain; the same idempotency key makes repeating safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue

import redb

from prowess.storage.errors import StoreDefect, StoreError, StoreUnavailable, WriteUncertain
from prowess.storage.log.batch import Batch, head_of
from prowess.storage.log.codec import GENESIS, Head
from prowess.storage.log.command import Job
from prowess.storage.log.file import LogFile

__all__ = ["Writer"]

# Commands of one commit: enough for every agent at once; more would only delay the first.
GROUP = 256
# Between looks at a file that could not be opened again, for those who only read.
AGAIN_S = 5.0


class _SpoiledError(Exception):
    """A command failed after it had begun to write."""

    def __init__(self, job: Job) -> None:
        self.job = job


class _NothingError(Exception):
    """No command of the batch wrote anything."""


class Writer:
    """Owns the write side of ``file``. ``committed`` is called in the writer's thread after its jobs were told."""

    def __init__(self, file: LogFile, clock: Callable[[], datetime], committed: Callable[[], None]) -> None:
        self.file = file
        self.clock = clock
        self._committed = committed
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="prowess-log", daemon=True)
        self.head = Head(0, GENESIS)
        self.telling = 0
        """Number of an event after which none changes what a search finds."""
        self._behind = False  # the head may be, since the file could not be read after an error

    def refresh(self) -> None:
        """Take the head over from the file: at the start, and after what was written around the queue."""
        with self.file.read() as view:
            self.head = head_of(view)
        self.telling = self.head.seq
        self._behind = False

    def start(self) -> None:
        self.refresh()
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._queue.put(job)

    def stop(self) -> None:
        """No more work; what is queued is still committed, then the log is closed. See ``join``."""
        self._queue.put(None)

    def join(self, seconds: float) -> bool:
        """Whether all is committed and the log closed, after waiting at most that long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            # Here, so that a disk that answers late still gets the log closed.
            with suppress(StoreError):
                self.file.close()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if job.alone:
                self._serve_alone(job)
                continue
            group, rest = self._gather(job)
            self._serve(group)
            if rest is not None:
                self._serve_alone(rest)
            if self._ended:
                return

    def _next(self) -> Job | None:
        """What to do next. Until then the head is read anew where it may be behind what is on disk."""
        while self._behind:
            try:
                return self._queue.get(timeout=AGAIN_S)
            except Empty:
                with suppress(StoreError):
                    self._ready()
                    self._committed()
        return self._queue.get()

    def _gather(self, first: Job) -> tuple[list[Job], Job | None]:
        """Jobs for one commit, and one taken from the queue that must run alone after it."""
        group = [first]
        while len(group) < GROUP:
            try:
                job = self._queue.get_nowait()
            except Empty:
                break
            if job is None:
                self._ended = True
                break
            if job.alone:
                return group, job
            group.append(job)
        return group, None

    def _serve_alone(self, job: Job) -> None:
        try:
            self._ready()
            job.succeed(job.work())
        except StoreError as error:
            job.fail(error)
            if self._is_broken_by(error):
                self._start_over()
        except Exception as error:
            job.fail(_defect(error))
        self._finish([job])

    def _serve(self, jobs: list[Job]) -> None:
        waiting = list(jobs)
        try:
            self._ready()
            waiting = self._commit_all(waiting)
        except StoreError as error:
            if self._is_broken_by(error):
                self._give_up(waiting, error)
            else:
                _fail_all(waiting, error)
        except Exception as error:
            _fail_all(waiting, _defect(error))
        self._finish(jobs)

    def _is_broken_by(self, error: StoreError) -> bool:
        return isinstance(error, StoreUnavailable) or bool(self.file.damage)

    def _ready(self) -> None:
        """Try again to open the log where that failed before; where it is damaged, the file does that in its time."""
        if not self.file.is_open and not self.file.damage:
            self.file.reopen()
            self._behind = True
        if self._behind:
            self.refresh()

    def _commit_all(self, waiting: list[Job]) -> list[Job]:
        while True:
            try:
                self._commit(waiting)
            except _SpoiledError as spoiled:
                waiting.remove(spoiled.job)
            else:
                return []

    def _commit(self, jobs: list[Job]) -> None:
        head, telling = self.head, self.telling
        try:
            with self.file.write() as transaction:
                batch = Batch(transaction, self.clock())
                for job in jobs:
                    _attempt(job, batch)
                _finish_batch(batch)
                head, telling = batch.head, batch.telling or telling
        except _NothingError:
            return
        self.head, self.telling = head, telling

    def _give_up(self, jobs: list[Job], cause: StoreError) -> None:
        _fail_all(jobs, WriteUncertain(f"the write may not be on disk: {cause}", hint=cause.hint))
        self._start_over()

    def _start_over(self) -> None:
        """What an I/O error or a damaged page left in memory cannot be trusted."""
        try:
            if not self.file.damage:
                self.file.reopen()
            self.refresh()
        except StoreError:
            # Told to whoever writes next: each batch tries to open and read the log first.
            self._behind = True

    def _finish(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.tell()
        self._committed()


def _attempt(job: Job, batch: Batch) -> None:
    before = batch.writes
    try:
        job.succeed(job.work(batch))
    except (StoreUnavailable, redb.RedbError):
        raise
    except Exception as error:
        job.fail(error if isinstance(error, StoreError) else _defect(error))
        if batch.writes != before:
            raise _SpoiledError(job) from error


def _finish_batch(batch: Batch) -> None:
    """Leave the transaction by an exception if it has nothing to commit: no answer then needs the disk."""
    if not batch.writes:
        raise _NothingError
    batch.sweep()


def _fail_all(jobs: list[Job], error: StoreError) -> None:
    for job in jobs:
        if not job.failed:
            job.fail(error)


def _defect(error: Exception) -> StoreDefect:
    defect = StoreDefect(f"the log's writer failed: {error!r}", hint="please report this")
    defect.__cause__ = error
    return defect
