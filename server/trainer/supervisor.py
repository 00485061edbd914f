"""The supervisor of the trainer process: one run at a time, bounded, and ended with the server.

The child is ``python -I -m prowess.training --batch DIR --out DIR --settings FILE [--resume CHECKPOINT]``. It prints
one JSON object per line, and leaves when its input ends or on SIGTERM. docs/background.md has the protocol.
"""

from __future__ import annotations

import importlib.util
import logging
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import Process, TaskGroup

from prowess.server.identity import identity_of
from prowess.server.origins import now
from prowess.server.trainer.events import Events, keep_errors
from prowess.server.trainer.process import environment, exited, how_it_ended, kill, limit
from prowess.server.trainer.runs import Run, RunFolder, Status, adopt_strays, read_runs, runs_now
from prowess.storage.errors import StoreError, StoreUnavailable, Unknown
from prowess.storage.ids import new_id

__all__ = ["NEEDS", "Export", "Trainer", "TrainingRefused", "check_installed", "trainer_command"]

GRACE_SECONDS = 10.0  # from SIGTERM to SIGKILL: time for a last checkpoint
REST_SECONDS = 5.0  # for what an ended trainer said last; its own children may hold the pipe open
READY_SECONDS = 25.0  # a trainer of a killed server may have to be ended first, which takes two graces at most
NEEDS = ("torch", "matplotlib")  # of the trainer's own process; what `pip install 'prowess[train]'` brings
SCORE_HINT = 'score some with score_reward first; project "" trains on those of all projects'
MAX_SETTINGS = 64 * 1024  # bytes as JSON
LISTED = 5  # runs that a status without a run's id tells
_log = logging.getLogger(__name__)

Export = Callable[[Path, str, Sequence[str] | None], Awaitable[list[str]]]
"""Writes the batch of a project (of these episodes, where given) into a folder; the ids of its episodes."""


class TrainingRefused(StoreError):
    """The run that was asked for cannot be started, told of or cancelled."""


def trainer_command() -> list[str] | None:
    """How the trainer is started; None where this build has none."""
    if importlib.util.find_spec("prowess.training") is None:
        return None
    return [sys.executable, "-I", "-m", "prowess.training"]


def check_installed(needs: Sequence[str] = NEEDS) -> None:
    """Raises TrainingRefused where the trainer's own process would lack something."""
    lacking = [name for name in needs if importlib.util.find_spec(name) is None]
    if lacking:
        raise TrainingRefused(
            f"training needs {' and '.join(lacking)}, not installed here; all else works without",
            hint=f"Install it once with {_installing('prowess[train]')}, then send this again.",
        )


def _installing(what: str) -> str:
    """The command that brings ``what`` into this environment. One that uv made has no pip of its own."""
    if importlib.util.find_spec("pip") is None:
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, what])
    return shlex.join([sys.executable, "-m", "pip", "install", what])


@dataclass(slots=True)
class _Current:
    """The run that goes on."""

    run: Run
    files: RunFolder
    process: Process
    wanted_end: Status | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)


class Trainer:
    """Starts, watches and ends trainers. ``run`` has to run in a task; when that is cancelled, the trainer is ended."""

    def __init__(
        self,
        home: Path,
        export: Export,
        command: Sequence[str],
        *,
        threads: int = 1,
        memory_mb: int = 0,
        grace: float = GRACE_SECONDS,
        needs: Sequence[str] = (),
        extra: Callable[[Path, str], Mapping[str, str]] | None = None,
    ) -> None:
        """``extra`` tells what more the environment of a run's trainer has, by the folder of runs and the run's id."""
        self._folder = home.absolute() / "runs"
        self._export = export
        self._command = list(command)
        self._needs = list(needs)
        self._extra = extra
        self._threads = threads
        self._memory = memory_mb * 1_000_000
        self._grace = grace
        self._turn = anyio.Lock()
        self._ready = anyio.Event()
        self._leaving = False
        self._current: _Current | None = None
        self._starting = False
        self._tasks: TaskGroup | None = None
        self.concluded = 0
        """How many runs have ended; whoever adopts results looks again when it changes."""

    # ---- for the server

    def folder_of(self, run_id: str) -> RunFolder:
        """The files of a run."""
        return RunFolder(self._folder / run_id)

    async def undecided(self) -> list[Run]:
        """Runs that are done, the oldest first, of whose results nobody has decided yet whether to adopt them."""
        runs = await anyio.to_thread.run_sync(read_runs, self._folder)
        return [run for run in reversed(runs) if run.status == "done" and not run.verdict]

    async def decide(self, run: Run, verdict: str) -> None:
        """Keep whether the run's result was adopted, and why."""
        decided = msgspec.structs.replace(run, verdict=verdict)
        with _translated(self._folder / run.id):
            await anyio.to_thread.run_sync(self.folder_of(run.id).save, decided)

    def working(self) -> list[str]:
        """What goes on, a few words each."""
        if self._current is not None:
            return [f"training {self._current.run.id}"]
        return ["preparing a training run"] if self._starting else []

    async def run(self) -> None:
        """Tidy up after a server that was killed, then watch over trainers until cancelled."""
        await anyio.to_thread.run_sync(adopt_strays, self._folder, now(), self._grace)
        async with anyio.create_task_group() as self._tasks:
            self._ready.set()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await self.leave()

    async def leave(self) -> None:
        """Start nothing more, and end the trainer that runs; a later run goes on from its last checkpoint."""
        self._leaving = True
        with anyio.move_on_after(self._grace):
            async with self._turn:
                pass  # one that is being started has begun, or is refused now
        if self._current is not None:
            await self._end(self._current, "interrupted")

    # ---- for the tools

    async def start(self, settings: Mapping[str, Any], *, project: str = "", run_id: str | None = None) -> str:
        """Start a run, or go on with one that was interrupted; its id.

        Without ``run_id`` the newest interrupted run of the project is resumed that has a checkpoint and the same
        settings (or any, where none are given); ``{"resume": false}`` begins anew. Raises TrainingRefused and the
        store's errors.
        """
        check_installed(self._needs)
        _check_size(settings)
        with anyio.move_on_after(READY_SECONDS):
            await self._ready.wait()
        async with self._turn:
            self._check_free()
            self._starting = True
            try:
                return await self._start(dict(settings), project, run_id)
            finally:
                self._starting = False

    def _check_free(self) -> None:
        if self._leaving or not self._ready.is_set():
            raise TrainingRefused("the server is not ready to train", hint="try again in a moment")
        if self._current is not None:
            raise TrainingRefused(
                f"run {self._current.run.id} is going on, and there is one at a time",
                hint="mode status tells how far it is, mode cancel ends it",
            )

    async def status(self, run_id: str | None = None) -> dict[str, Any]:
        """How a run is; without ``run_id`` the one that goes on or was the last, and the ids of the newest."""
        current = self._current
        runs = await anyio.to_thread.run_sync(runs_now, self._folder)
        if current is not None:  # also where its folder is gone
            runs = [current.run, *(run for run in runs if run.id != current.run.id)]
        if run_id is None:
            if not runs:
                return {"status": "none yet"}
            return {**_told(runs[0]), "runs": {run.id: run.status for run in runs[:LISTED]}}
        return _told(_named(run_id, runs))

    async def cancel(self, run_id: str | None = None) -> dict[str, Any]:
        """End the run that goes on; how it is then. Raises TrainingRefused where another one is meant."""
        current = self._current
        if current is None or run_id not in (None, current.run.id):
            raise TrainingRefused(
                f"run {run_id} is not going on" if run_id else "no run is going on",
                hint="mode status tells which one is, if any",
            )
        with anyio.CancelScope(shield=True):
            await self._end(current, "cancelled")
        return _told(current.run)

    # ---- one run

    async def _start(self, settings: dict[str, Any], project: str, run_id: str | None) -> str:
        anew = settings.pop("resume", True) is False
        found = None if anew and run_id is None else await self._to_resume(settings, project, run_id)
        run = found or Run(id=new_id(), started=now(), project=project, settings=settings)
        files = RunFolder(self._folder / run.id)
        try:
            await self._fill(run, files, resumed=found is not None)
            self._check_free()
            process = await self._spawn(run, files)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(files.drop_batch if found else files.remove)
            raise
        self._current = _Current(run, files, process)
        assert self._tasks is not None
        self._tasks.start_soon(self._watch, self._current)
        return run.id

    async def _to_resume(self, settings: Mapping[str, Any], project: str, run_id: str | None) -> Run | None:
        runs = await anyio.to_thread.run_sync(read_runs, self._folder)
        if run_id is not None:
            run = _named(run_id, runs)
            if run.status == "done" or not self._checkpoint(run):
                raise TrainingRefused(
                    f"run {run_id} cannot be resumed: it is {run.status}, or has no checkpoint",
                    hint="leave run_id out to begin a new one",
                )
            if settings and settings != run.settings:
                raise TrainingRefused(
                    f"run {run_id} has other settings", hint="leave settings out to go on with its own"
                )
            return run
        for run in runs:
            same = run.project == project and (not settings or run.settings == settings)
            if run.status == "interrupted" and same and self._checkpoint(run):
                return run
        return None

    def _checkpoint(self, run: Run) -> Path | None:
        return RunFolder(self._folder / run.id).checkpoint(run.checkpoint)

    async def _fill(self, run: Run, files: RunFolder, *, resumed: bool) -> None:
        """Everything that the trainer reads."""
        with _translated(files.path):
            await anyio.to_thread.run_sync(files.make)
            wanted = await anyio.to_thread.run_sync(files.episodes) if resumed else None
        episodes = await self._export(files.batch, run.project, wanted)
        if not episodes:
            whose = f" in project {run.project!r}" if run.project else ""
            raise TrainingRefused(f"there is no scored episode to learn from{whose}", hint=SCORE_HINT)
        run.status, run.ended, run.reason, run.result = "running", None, "", None
        known = await anyio.to_thread.run_sync(read_runs, self._folder)
        run.order = 1 + max((each.order for each in known), default=0)
        run.episodes, run.starts = len(episodes), run.starts + 1
        with _translated(files.path):
            await anyio.to_thread.run_sync(files.save_input, run.settings, episodes)

    async def _spawn(self, run: Run, files: RunFolder) -> Process:
        command = [*self._command, "--batch", str(files.batch), "--out", str(files.out)]
        command += ["--settings", str(files.settings)]
        if (checkpoint := files.checkpoint(run.checkpoint)) is not None:
            command += ["--resume", str(checkpoint)]
        variables = environment(self._threads)
        with _translated(files.path):
            if self._extra is not None:
                variables |= await anyio.to_thread.run_sync(self._extra, self._folder, run.id)
            process = await anyio.open_process(command, cwd=files.path, env=variables, start_new_session=True)
        try:
            limit(process.pid, self._memory)
            run.pid, run.process = process.pid, identity_of(process.pid)
            with _translated(files.path):
                await anyio.to_thread.run_sync(files.save, run)
        except BaseException:
            process.kill()
            with anyio.CancelScope(shield=True):
                await process.aclose()
            raise
        _log.info("training run %s started (process %d)", run.id, process.pid)
        return process

    async def _watch(self, current: _Current) -> None:
        """Listen to the trainer until it has left. Cancelling does not end this; ``leave`` does, within its bounds."""
        process, files = current.process, current.files
        assert process.stdout is not None
        assert process.stderr is not None
        with anyio.CancelScope(shield=True):
            events = Events(current.run, files)
            async with anyio.create_task_group() as listening:
                listening.start_soon(events.listen, process.stdout)
                listening.start_soon(keep_errors, process.stderr, files.errors)
                await exited(process)
                events.hurry()
                listening.cancel_scope.deadline = anyio.current_time() + REST_SECONDS
            await process.aclose()
            concluded = await anyio.to_thread.run_sync(_concluded, current)
            await anyio.to_thread.run_sync(_tidy, current.files, concluded)
            current.run, self._current = concluded, None
            self.concluded += 1
            current.ended.set()
        _log.info("training run %s is %s", current.run.id, current.run.status)

    async def _end(self, current: _Current, status: Status) -> None:
        """SIGTERM, a grace, SIGKILL."""
        current.wanted_end = current.wanted_end or status
        with suppress(ProcessLookupError):
            current.process.terminate()
        with anyio.move_on_after(self._grace):
            await current.ended.wait()
            return
        _log.warning("the trainer did not leave within %g seconds and is killed", self._grace)
        kill(current.process)
        with anyio.move_on_after(2 * REST_SECONDS):
            await current.ended.wait()


def _check_size(settings: Mapping[str, Any]) -> None:
    try:
        size = len(msgspec.json.encode(settings))
    except RecursionError as error:
        raise TrainingRefused("the settings are nested too deep", hint="docs/memskill.md lists them") from error
    if size > MAX_SETTINGS:
        raise TrainingRefused(f"the settings are longer than {MAX_SETTINGS} bytes", hint="name files, not content")


def _concluded(current: _Current) -> Run:
    """The run as it is now that its trainer has left."""
    code, run = current.process.returncode, current.run
    status: Status = "done" if code == 0 and run.result is not None else current.wanted_end or "failed"
    told = [run.reason or (how_it_ended(code, current.files.errors) if status == "failed" else "")]
    if status in ("cancelled", "failed") and current.files.checkpoint(run.checkpoint) is not None:
        told.append("mode train with this run_id goes on from the checkpoint")
    reason = "; ".join(filter(None, told))
    return msgspec.structs.replace(run, status=status, reason=reason, ended=now(), pid=0, process="")


def _tidy(files: RunFolder, run: Run) -> None:
    files.drop_batch()
    try:
        files.save(run)
    except OSError as error:  # at the next start it is found as interrupted
        _log.warning("the end of a training run was not recorded: %s", error.strerror)


def _named(run_id: str, runs: Sequence[Run]) -> Run:
    for run in runs:
        if run.id == run_id:
            return run
    known = ", ".join([run.id for run in runs[:LISTED]] + ["…"] * (len(runs) > LISTED)) or "none"
    raise Unknown(f"there is no run {run_id[:100]!r}", hint=f"The newest runs: {known}.")


def _told(run: Run) -> dict[str, Any]:
    """A run as a status tells it; what is empty is left out."""
    facts = {
        "run_id": run.id,
        "status": run.status,
        "project": run.project,
        "started": run.started,
        "ended": run.ended,
        "episodes": run.episodes,
        "resumed": run.starts - 1,
        "settings": run.settings,
        "progress": run.progress,
        "checkpoint": run.checkpoint,
        "result": run.result,
        "verdict": run.verdict,
        "reason": run.reason,
        "malformed_lines": run.malformed,
        "dropped_events": run.dropped,
    }
    return {name: value for name, value in facts.items() if value not in (None, "", 0, {})}


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"{folder}: {error}", hint="see that the disk is not full; prowess doctor") from error
