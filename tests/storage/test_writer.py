"""The writer's thread where things fail: what each waiting caller is told, and what is on disk afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from storekit import AT, ORIGIN, Clock, memory

from prowess.storage.errors import InvalidInput, StoreDefect, StoreError, StoreUnavailable, WriteUncertain
from prowess.storage.log.batch import Batch
from prowess.storage.log.command import Job
from prowess.storage.log.file import LogFile
from prowess.storage.log.writer import Writer

WAIT_S = 20.0


class Bench:
    """A writer whose queue is filled before it starts, so that all jobs share one commit."""

    def __init__(self, file: LogFile) -> None:
        self.file = file
        self.commits = 0
        self.heard = threading.Event()
        self._started = False
        self.writer = Writer(file, Clock(), self._committed)

    def _committed(self) -> None:
        self.commits += 1
        self.heard.set()

    def run(self, *works: Callable[..., Any], alone: bool = False) -> list[Any]:
        """Each job's answer or error."""
        done = [threading.Event() for _ in works]
        jobs = [Job(work, event.set, alone=alone) for work, event in zip(works, done, strict=True)]
        for job in jobs:
            self.writer.submit(job)
        if not self._started:
            self._started = True
            self.writer.start()
        assert all(event.wait(WAIT_S) for event in done)
        return [_outcome(job) for job in jobs]

    def stop(self) -> None:
        self.writer.stop()
        assert self.writer.join(WAIT_S)
        self.file.close()


def _outcome(job: Job) -> Any:
    try:
        return job.result()
    except StoreError as error:
        return error


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    made = Bench(LogFile(tmp_path / "log.redb", AT))
    yield made
    made.stop()


def write(batch: Batch) -> int:
    return batch.record(memory("a"), ORIGIN)


def refuse(batch: Batch) -> None:
    raise InvalidInput("no", hint="-")


def spoil(batch: Batch) -> None:
    write(batch)
    raise InvalidInput("too late", hint="-")


def stumble(batch: Batch) -> None:
    write(batch)
    raise KeyError("a bug")


def test_what_is_queued_together_is_committed_together(bench: Bench) -> None:
    assert bench.run(write, write, write) == [1, 2, 3]
    assert (bench.commits, bench.writer.head.seq) == (1, 3)


def test_a_refusal_is_told_to_its_caller_only(bench: Bench) -> None:
    first, refused, second = bench.run(write, refuse, write)
    assert (first, second) == (1, 2)
    assert isinstance(refused, InvalidInput)


def test_a_command_that_fails_after_writing_leaves_nothing_behind(bench: Bench) -> None:
    first, spoiled, stumbled, last = bench.run(write, spoil, stumble, write)
    assert (first, last) == (1, 2)
    assert isinstance(spoiled, InvalidInput)
    assert isinstance(stumbled, StoreDefect)
    assert isinstance(stumbled.__cause__, KeyError)
    assert bench.writer.head.seq == 2


def test_an_error_of_the_disk_is_uncertain_for_all_and_the_writer_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(batch: Batch) -> None:
        raise StoreUnavailable("I/O error", hint="check the disk")

    outcomes = bench.run(write, fail, refuse)
    assert [type(outcome) for outcome in outcomes[:2]] == [WriteUncertain, WriteUncertain]
    assert outcomes[0].hint == "check the disk"
    assert bench.run(write) == [1]


def test_a_log_that_cannot_be_opened_again_is_tried_with_each_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StoreUnavailable("no such device", hint="-")

    with monkeypatch.context() as patch:
        patch.setattr(LogFile, "_open", fail)
        assert isinstance(bench.run(fail)[0], WriteUncertain)
        assert isinstance(bench.run(write)[0], StoreUnavailable)
        with pytest.raises(StoreUnavailable), bench.file.read():
            pass
    assert bench.run(write) == [1]


def test_what_landed_is_known_once_the_log_can_be_opened_though_nobody_writes_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.storage.log.writer.AGAIN_S", 0.01)
    real = LogFile.write

    @contextmanager
    def landing(file: LogFile) -> Iterator[Any]:
        with real(file) as transaction:
            yield transaction
        raise StoreUnavailable("I/O error", hint="-")

    def fail(_: LogFile) -> None:
        raise StoreUnavailable("no such device", hint="-")

    with monkeypatch.context() as patch:
        patch.setattr(LogFile, "write", landing)
        patch.setattr(LogFile, "_open", fail)
        assert isinstance(bench.run(write)[0], WriteUncertain)
        assert bench.writer.head.seq == 0
        bench.heard.clear()
    assert bench.heard.wait(WAIT_S)
    assert bench.writer.head.seq == 1


def test_work_alone_runs_between_commits(bench: Bench) -> None:
    assert bench.run(write) == [1]
    assert bench.run(lambda: bench.writer.head.seq, alone=True) == [1]
    assert isinstance(bench.run(lambda: 1 / 0, alone=True)[0], StoreDefect)
    assert bench.run(write) == [2]


def test_after_an_error_of_the_disk_in_work_alone_the_next_finds_the_file_opened_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreUnavailable("I/O error", hint="check the disk")

    opened = list[LogFile]()
    monkeypatch.setattr(LogFile, "reopen", lambda file: opened.append(file))
    [error] = bench.run(fail, alone=True)
    assert isinstance(error, StoreUnavailable)
    assert opened == [bench.file]


def test_stopping_commits_the_queue_first(tmp_path: Path) -> None:
    bench = Bench(LogFile(tmp_path / "log.redb", AT))
    jobs = [Job(write, lambda: None) for _ in range(600)]
    for job in jobs:
        bench.writer.submit(job)
    bench.writer.stop()
    bench.writer.start()
    assert bench.writer.join(WAIT_S)
    assert [job.result() for job in jobs] == list(range(1, 601))
    bench.file.close()
