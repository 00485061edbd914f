"""``prowess serve``: its options, and what it does where there are no Unix sockets."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .link import Limits

__all__ = ["WRONG_USE", "WrongUseError", "options", "run"]

WRONG_USE = 2
_USAGE = "usage: prowess serve [--in-process | --http HOST:PORT] [--store DIR] [--project NAME]"


class WrongUseError(Exception):
    """The command line is none; the text tells what would be one."""


def run(arguments: Sequence[str], *, limits: Limits | None = None, hub: Sequence[str] = ()) -> int:
    """Relay between stdin, stdout and the store's hub until the client leaves. Returns the exit code.

    ``limits`` and ``hub`` (the command that starts one) stand in for the usual ones.
    """
    try:
        store, project, in_process = options(arguments)
    except WrongUseError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_USE
    if in_process or os.environ.get("PROWESS_IN_PROCESS") == "1":
        return _serve_in_process(store, project)
    if sys.platform == "win32" or not _has_sockets():
        sys.stderr.write("prowess: warning: no Unix sockets here, so the store is opened for this client alone\n")
        return _serve_in_process(store, project)
    env = {**os.environ, "PROWESS_PROJECT": project} if project else os.environ
    return _relay(store, env, limits, hub)


def options(arguments: Sequence[str]) -> tuple[str, str, bool]:
    """Store and project ("" where none is named), and whether it is to be in this process. Raises WrongUseError."""
    values, in_process = {"--store": "", "--project": ""}, False
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--in-process":
            in_process = True
        elif name in values and (equals or words):
            values[name] = value if equals else words.pop(0)
        else:
            raise WrongUseError(f"prowess serve: {word} is no option of it, or needs a value\n{_USAGE}")
    return values["--store"], values["--project"], in_process


def _has_sockets() -> bool:
    try:
        from . import lean  # noqa: F401 - needs AF_UNIX
    except ImportError:
        return False
    return True


def _serve_in_process(store: str, project: str) -> int:
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--in-process"]
    command += ["--store", store] if store else []
    command += [f"--project={project}"] if project else []
    if sys.platform == "win32":  # exec would start another process there and end this one, on which the client waits
        return os.spawnv(os.P_WAIT, sys.executable, command)  # noqa: S606 - no shell is wanted
    os.execv(sys.executable, command)  # noqa: S606
    raise AssertionError("exec came back")


def _relay(store: str, env: Mapping[str, str], limits: Limits | None, hub: Sequence[str]) -> int:
    from . import places
    from .link import Limits, Link
    from .relay import Relay
    from .session import Session

    _keep_standard_descriptors()
    sys.stdout = sys.stderr  # the descriptor is the client's alone
    limits = limits or Limits()
    name = _session_name()
    link = Link(places.home(store, env), env, name, limits, hub)
    return Relay(link, Session(name), limits).run()


def _keep_standard_descriptors() -> None:
    """Open those of 0 to 2 that we were started without: else a pipe of ours would get the number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _session_name() -> str:
    """A random UUID (version 4)."""
    bits = int.from_bytes(os.urandom(16)) & ~(0xF << 76) & ~(0b11 << 62) | 4 << 76 | 0b10 << 62
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
