"""The child process that computes: ``python -I -m prowess.server.worker``.

Mining and synthesis hold a processor for seconds; here they hold neither the server's event loop nor its GIL. The
parent side is ``prowess.server.compute``.

Protocol: the line ``READY`` and then one answer per request, both ways as frames of a 4-byte big-endian length and that
many bytes of msgpack. A request is ``[job, arguments]``, an answer ``[result, failure]`` with ``failure`` None or
``[type, message, hint]``. The end of the input pipe ends the process at once, also in the middle of a job, so that a
parent that was killed leaves no orphan; so does ``--idle SECONDS`` without a request.
"""

from __future__ import annotations

import functools
import gc
import os
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from prowess.storage.errors import StoreError
from prowess.storage.models import Skill, Trajectory

if TYPE_CHECKING:
    from prowess.server.corpora import Corpora

__all__ = ["JOBS", "READY", "main", "pack", "unpack_size"]

READY = b"READY\n"
_SIZE = struct.Struct(">I")

Job = Callable[[dict[str, Any]], Any]


def pack(message: object) -> bytes:
    """One frame."""
    body = msgspec.msgpack.encode(message)
    return _SIZE.pack(len(body)) + body


def unpack_size(head: bytes) -> int:
    """How many bytes follow the frame's first four."""
    return int(_SIZE.unpack(head)[0])


def mine(arguments: dict[str, Any]) -> Any:
    """Patterns over the trajectories that the catalog file has.

    What is asked about whole projects is kept for the next time; a part of one is counted for this time.
    """
    gc.disable()  # it makes no cycles, and looking for some in all that it reads takes a tenth of its time
    try:
        return _mined(Path(arguments["catalog"]), arguments["wanted"], arguments["options"])
    finally:
        gc.enable()


def _mined(catalog: Path, wanted: dict[str, Any], options: dict[str, Any]) -> Any:
    if not (wanted["since"] or wanted["task_id"]):
        return _corpora().find(catalog, wanted["project"], options)
    from prowess.learning.mining.patterns import mine as mine_once
    from prowess.storage.catalog import read_trajectories

    return mine_once(read_trajectories(catalog, **wanted), **options)


@functools.cache
def _corpora() -> Corpora:
    from prowess.server.corpora import Corpora

    return Corpora()


def propose(arguments: dict[str, Any]) -> Any:
    """Skill drafts from successful trajectories."""
    from prowess.learning.synthesis.drafts import propose as draft

    existing = msgspec.convert(arguments["existing"], tuple[Skill, ...])
    trajectories = msgspec.convert(arguments["trajectories"], tuple[Trajectory, ...])
    return draft(trajectories, existing=existing, **arguments["options"])


JOBS: dict[str, Job] = {"mine": mine, "propose": propose}


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The parent's pipes under private descriptors, and the standard ones pointed away.

    Whatever prints in this process, in Python or in a C library, then cannot get between the frames.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return requests, answers


def _read(requests: BinaryIO, queue: SimpleQueue[bytes]) -> None:
    """Hand every request on; leave with the process when the parent is gone."""
    try:
        while len(head := requests.read(_SIZE.size)) == _SIZE.size:
            queue.put(requests.read(unpack_size(head)))
    finally:
        os._exit(0)


def _answer(body: bytes) -> bytes:
    try:
        job, arguments = msgspec.msgpack.decode(body)
        return pack([JOBS[job](arguments), None])
    except Exception as error:  # the process serves on; the parent raises what is sent here
        return pack([None, _failure(error)])


def _failure(error: Exception) -> list[str]:
    ours = isinstance(error, StoreError)
    message = str(error) if hasattr(error, "hint") else f"{type(error).__name__}: {error}"
    return [type(error).__name__ if ours else "", message, getattr(error, "hint", "")]


def _serve(requests: SimpleQueue[bytes], answers: BinaryIO, idle: float | None) -> None:
    while True:
        try:
            body = requests.get(timeout=idle)
        except Empty:
            return
        answers.write(_answer(body))
        answers.flush()
        _settle()


def _settle() -> None:
    """Look for garbage while nobody waits, and in what is kept never again: in a job that would take longer than
    reading what is new. What is kept has no cycles, so that it is freed when it is dropped all the same."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve until the pipe ends or nothing was asked for ``--idle`` seconds."""
    idle = float(sys.argv[2]) if sys.argv[1:2] == ["--idle"] else None
    pipe, answers = _take_pipes()
    answers.write(READY)
    answers.flush()
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(pipe, requests), daemon=True).start()
    try:
        _serve(requests, answers, idle)
    finally:
        os._exit(0)  # the reader is blocked in a read that holds its buffer's lock: a normal exit would wait for it


if __name__ == "__main__":
    main()
