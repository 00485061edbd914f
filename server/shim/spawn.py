"""Starting processes that outlive this one (the hub), or that end with it (a server of our own)."""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH123

from __future__ import annotations

import os
import sys

from .ordinary import NotOrdinaryError, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["is_alive", "start_child", "start_detached"]

COULD_NOT_RUN = 127  # as a shell says it


def start_detached(command: Sequence[str], env: Mapping[str, str], folder: str, error_file: str) -> int:
    """Start ``command`` in a session of its own, in ``folder``, with its stderr in ``error_file``. Returns its pid.

    It is no child of this process: clients end a server together with all of its descendants, and the hub is not this
    client's alone. Raises OSError.
    """
    errors = _opened(error_file)
    told, telling = os.pipe()
    try:
        middle = os.fork()
        if middle == 0:
            _run_child(lambda: _start_grandchild(command, env, folder, errors, telling))
        os.waitpid(middle, 0)
        os.close(telling)
        telling = -1
        answer = os.read(told, 32)
    finally:
        for descriptor in (errors, told, telling):
            if descriptor >= 0:
                os.close(descriptor)
    if not answer:
        raise OSError("no process could be started")
    return int(answer)


def _opened(error_file: str) -> int:
    """Where it is no file, nowhere: it would only tell why the command did not start."""
    try:
        return opened(error_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    except NotOrdinaryError:
        return os.open(os.devnull, os.O_WRONLY)


def _start_grandchild(command: Sequence[str], env: Mapping[str, str], folder: str, errors: int, telling: int) -> None:
    os.setsid()
    pid = os.fork()
    if pid:
        os.write(telling, str(pid).encode())
        return
    os.umask(0o077)
    os.dup2(errors, 2)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir(folder)
    _become(command, env)


def start_child(command: Sequence[str], env: Mapping[str, str], stdio: int) -> int:
    """Start ``command`` with the descriptor ``stdio`` as its stdin and stdout. Returns its pid. Raises OSError."""
    pid = os.fork()
    if pid == 0:
        _run_child(lambda: _become_child(command, env, stdio))
    return pid


def _become_child(command: Sequence[str], env: Mapping[str, str], stdio: int) -> None:
    os.dup2(stdio, 0)
    os.dup2(stdio, 1)
    _become(command, env)


def _become(command: Sequence[str], env: Mapping[str, str]) -> None:
    os.closerange(3, 65536)  # also what this process was given by its own parent
    os.execve(command[0], list(command), env)  # noqa: S606 - no shell is wanted


def _run_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child, which never returns into the code of its parent."""
    code = COULD_NOT_RUN
    try:
        work()
        code = 0
    except OSError as error:
        os.write(2, f"prowess: {error}\n".encode())
    finally:
        os._exit(code)


def is_alive(pid: int) -> bool:
    """Whether process ``pid`` runs; one that ended and was not yet collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if sys.platform != "linux":
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return b") Z" not in file.read()
    except OSError:
        return False
