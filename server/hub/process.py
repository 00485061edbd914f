"""The hub's process: one per store, by a lock that it holds for life; detached, quiet, and told by files how it is."""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prowess import __version__
from prowess.server.hub import lock
from prowess.server.hub.logs import start_logging
from prowess.server.settings import BadSetting, Settings, of_hub
from prowess.server.shim import places
from prowess.server.shim.stream import PROTOCOL

__all__ = ["OWNED", "main"]

OWNED = 3  # the exit code of a hub that found another one
BACKLOG = 128
_NO_SOCKETS = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK, errno.EAFNOSUPPORT)

_log = logging.getLogger("prowess.server.hub")


class _CannotStartError(Exception):
    """Why there is no hub; ``local`` when here only a store without one can work."""

    def __init__(self, reason: str, hint: str, *, local: bool = False) -> None:
        super().__init__(reason)
        self.hint = hint
        self.local = local


def main(arguments: Sequence[str]) -> int:
    """Be the hub of a store until there is a reason to leave. Returns the exit code."""
    home = _home(arguments)
    os.umask(0o077)
    try:
        return _own(home)
    except _CannotStartError as error:
        sys.stderr.write(f"prowess: {error}\nhint: {error.hint}\n")
        with suppress(OSError):
            _write_state(home, {"failure": _told(error)})
        return 1


def _home(arguments: Sequence[str]) -> Path:
    parser = argparse.ArgumentParser(prog="prowess.server.hub", description="The hub of one store.")
    parser.add_argument("--home", required=True, metavar="DIR", help="The store's folder.")
    return Path(parser.parse_args(arguments).home).absolute()


def _told(error: _CannotStartError) -> dict[str, Any]:
    kind = "socket" if error.local else "start"
    return {"pid": os.getpid(), "reason": str(error), "hint": error.hint, "kind": kind}


def _own(home: Path) -> int:
    if not hasattr(socket, "AF_UNIX"):
        raise _CannotStartError("no Unix sockets here", "Use `prowess serve --in-process`.", local=True)
    try:
        folder = places.make_run_folder(home)
        taken = lock.take(home)
    except places.PlaceError as error:
        raise _CannotStartError(str(error), error.hint) from error
    except OSError as error:
        raise _failed("the store's folder cannot be used", error) from error
    if taken is None:
        return OWNED
    os.chdir(folder)
    _start_logging(home)
    path = Path(places.socket_path(home))
    with _listen(path) as listener:
        try:
            return _run(home, path, listener)
        finally:
            path.unlink(missing_ok=True)  # nobody else makes one while we have the lock


def _start_logging(home: Path) -> None:
    try:
        start_logging(Path(places.log_file(home)), _setting(home, "log_level"))
    except OSError as error:
        raise _failed("the log cannot be written", error) from error


def _setting(home: Path, name: str) -> Any:
    """One setting; its default where the settings make no sense, which every call tells."""
    try:
        return getattr(of_hub(home), name)
    except BadSetting:
        return getattr(Settings(home=home), name)


def _listen(path: Path) -> socket.socket:
    """The bound socket: connections wait in its queue while the rest of the program loads."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)  # the lock is ours, so whoever made this one is gone
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _failed("the hub's socket cannot be made", error) from error
    listener.setblocking(False)
    return listener


def _failed(what: str, error: OSError) -> _CannotStartError:
    reason = f"{what}: {error.filename or ''} {error.strerror or error}"
    hint = "Give a folder that you may write to with --store or PROWESS_HOME, and see `prowess doctor`."
    return _CannotStartError(" ".join(reason.split()), hint, local=error.errno in _NO_SOCKETS)


def _run(home: Path, path: Path, listener: socket.socket) -> int:
    # From here on the program is heavy; whoever connects waits in the socket's queue meanwhile.
    import anyio

    from prowess.server.hub.hub import Hub
    from prowess.server.hub.projects import project_by
    from prowess.server.hub.schema import schema
    from prowess.server.hub.watchdog import watched
    from prowess.storage.log.lock import HUB, called

    told = schema()

    def ready() -> None:
        _tell_state(home, _state(home, path, told))
        _log.info("hub %s serves %s", __version__, home)
        _leave_stderr()

    async def serve() -> None:
        hub = Hub(
            lambda: of_hub(home),
            home=home,
            path=path,
            schema=told,
            idle_seconds=_setting(home, "hub_idle_minutes") * 60,
            project_of=project_by(lambda: str(_setting(home, "project"))),
        )
        with watched():
            await hub.run(listener, ready)

    try:
        with called(HUB):
            anyio.run(serve)
    except BaseException:
        _log.exception("the hub broke down")
        raise
    _log.info("hub left")
    return 0


def _state(home: Path, path: Path, schema: dict[str, int]) -> dict[str, Any]:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    told: dict[str, Any] = {"pid": os.getpid(), "version": __version__, "protocol": PROTOCOL, "schema": schema}
    return {**told, "socket": str(path), "folder": places.folder_mark(home), "started": started}


def _tell_state(home: Path, state: dict[str, Any]) -> None:
    """A full disk must not keep the hub from answering: what is stored can still be read."""
    try:
        _write_state(home, state)
    except OSError as error:
        _log.warning("%s cannot be written: %s", places.state_file(home), error.strerror)
        with suppress(OSError):
            Path(places.state_file(home)).unlink()  # it tells of a hub that is gone


def _write_state(home: Path, state: dict[str, Any]) -> None:
    target = Path(places.state_file(home))
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        fresh.write_text(json.dumps(state), encoding="utf-8")
        fresh.replace(target)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _leave_stderr() -> None:
    """What may be said from now on belongs into the log; a library that prints must not fill a file for ever."""
    if os.isatty(2):
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)
    os.close(nothing)
