"""Where a store's processes meet: the socket, the locks and what the hub says of itself. Shared by shim and hub.

All take and return plain path text; nothing is created but by ``make_run_folder``.
"""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH100, PTH101, PTH103, PTH111, PTH112, PTH116, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import stat
import sys

from .ordinary import content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Folder = str | os.PathLike[str]

__all__ = [
    "SETTING_NAMES",
    "PlaceError",
    "allowed_environment",
    "error_file",
    "expanded",
    "folder_mark",
    "home",
    "hub_lock",
    "log_file",
    "log_path",
    "make_run_folder",
    "read_state",
    "run_folder",
    "socket_path",
    "start_lock",
    "state_file",
    "user_folder",
]

# sun_path holds 104 bytes on macOS and 108 on Linux, the closing NUL included.
LONGEST_SOCKET_PATH = 100

UNKNOWN_HOME = "nobody knows your home folder"

# Every variable that settings know; a test compares them. An agent's environment reaches the hub only by these names,
# and only by those among them that the user allowed.
SETTING_NAMES = (
    "REDB_PATH",
    "PROWESS_PROJECT",
    "PROWESS_EMBEDDER",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "PROWESS_MODEL",
    "PROWESS_DAILY_USD",
    "PROWESS_MODEL_PRICE",
    "PROWESS_KEEP_DAYS",
    "PROWESS_KEEP_MB",
    "PROWESS_UNUSED_DAYS",
    "PROWESS_WITHHOLD",
    "PROWESS_MEMORY_CAP",
    "PROWESS_LEARN_AFTER",
    "PROWESS_BACKUP_HOURS",
    "PROWESS_BACKUP_KEEP",
    "PROWESS_TRAIN_THREADS",
    "PROWESS_TRAIN_MB",
    "PROWESS_TRAIN_USD",
    "PROWESS_LOG_LEVEL",
    "PROWESS_HOOK_TOKENS",
    "PROWESS_HOOK_START_TOKENS",
    "TURSO_DATABASE_URL",
    "TURSO_AUTH_TOKEN",
    "PROWESS_SYNC_PERSON",
    "PROWESS_SYNC_TRUST",
    "PROWESS_SYNC_PRIVATE",
    "PROWESS_SYNC_RAW",
    "PROWESS_SYNC_SECONDS",
    "PROWESS_SYNC_PLAIN_HTTP",
    "PROWESS_HUB_IDLE_MINUTES",
)


class PlaceError(Exception):
    """A folder cannot be had or is not safe to use. ``hint`` tells what would mend it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def home(argument: Folder | None, env: Mapping[str, str]) -> str:
    """The store's folder: what the option says, else ``PROWESS_HOME``, else the user's data folder.

    It is absolute, but where it is below the user's own folder and nobody knows that one: then it begins with ``~``.
    """
    given = os.fspath(argument) if argument else env.get("PROWESS_HOME", "").strip()
    if not given:
        return os.path.join(_data_folder(env), "prowess")
    path = expanded(given)
    return path if path.startswith("~") else os.path.abspath(path)


def expanded(path: str) -> str:
    """``path`` with the user's folder in place of ``~``, which stays where nobody knows such a folder.

    Where HOME names none, as in a container, the system's list of users does.
    """
    if sys.platform == "win32" or not (path == "~" or path.startswith("~/")) or os.path.isabs(os.getenv("HOME", "")):
        return os.path.expanduser(path)
    try:
        from pwd import getpwuid

        return getpwuid(os.getuid()).pw_dir.rstrip("/") + path[1:] or "/"
    except (ImportError, KeyError):
        return path


def user_folder() -> str:
    """The user's own folder. Raises ``PlaceError`` where nobody knows it."""
    folder = expanded("~")
    if not os.path.isabs(folder):
        raise PlaceError(UNKNOWN_HOME, "Set HOME to it.")
    return folder


def _data_folder(env: Mapping[str, str]) -> str:
    # As platformdirs has it, which is no part of the standard library; a test compares them.
    if sys.platform == "win32":
        return env.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    if os.path.isabs(xdg := env.get("XDG_DATA_HOME", "").strip()):
        return xdg
    return expanded("~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share")


def run_folder(home: Folder) -> str:
    """The folder (0700) of everything that lives no longer than the hub."""
    return os.path.join(os.fspath(home), "run")


def make_run_folder(home: Folder) -> str:
    """Create the store's folder, the run folder and the socket's, where they are missing. Raises ``PlaceError``."""
    if not os.path.isabs(home):
        # Else it would be made in whatever folder the agent works in.
        raise PlaceError(UNKNOWN_HOME, "Set HOME, or name the store's folder with --store or PROWESS_HOME.")
    folder = run_folder(home)
    for each in dict.fromkeys((folder, os.path.dirname(socket_path(home)))):
        _make_private(each)
    return folder


def _make_private(folder: str) -> None:
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)  # made in passing it would be open to others
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise PlaceError(
            f"the folder {folder} cannot be made: {error.strerror}",
            "Give a folder that you may write to with --store or PROWESS_HOME.",
        ) from None
    if sys.platform == "win32":
        return
    # In a shared temporary folder someone else may have been there first, with a folder or a link of theirs.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PlaceError(
            f"{folder} is not a folder of yours", "Remove it, or set XDG_RUNTIME_DIR to a folder of yours."
        )
    if found.st_mode & 0o077:
        os.chmod(folder, 0o700)


def socket_path(home: Folder) -> str:
    """Where the hub listens: in the run folder or, where that path is too long for a socket, in a short one."""
    path = os.path.join(run_folder(os.path.realpath(home)), "hub.sock")
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    return os.path.join(_short_folder(), f"{_digest(os.path.dirname(path))}.sock")


def _short_folder() -> str:
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base and len(os.fsencode(base)) < 60 and os.path.isdir(base):
        return os.path.join(base, "prowess")
    return f"/tmp/prowess-{os.getuid()}"  # noqa: S108 - made private and checked by make_run_folder; TMPDIR is long on macOS


def _digest(text: str) -> str:
    # FNV-1a: enough to keep a user's few stores apart, and hashlib is slow to import.
    value = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def start_lock(log: Folder) -> str:
    """The file whose lock decides who starts a hub for the log at ``log``, by whatever way it was named."""
    return f"{os.path.realpath(log)}.start"


def hub_lock(home: Folder) -> str:
    """The file that the hub keeps locked for as long as it lives."""
    return os.path.join(run_folder(home), "hub.lock")


def state_file(home: Folder) -> str:
    """JSON of the hub about itself: pid, version, schema, protocol, socket, folder, started."""
    return os.path.join(run_folder(home), "hub.json")


def error_file(home: Folder) -> str:
    """stderr of the newest hub's first moments: why it did not start."""
    return os.path.join(run_folder(home), "hub.err")


def log_file(home: Folder) -> str:
    """The hub's log."""
    return os.path.join(os.fspath(home), "logs", "hub.log")


def folder_mark(home: Folder) -> str:
    """Tells the store's run folder from a copy of it, by whatever name and on whatever disk. Raises OSError."""
    found = os.stat(run_folder(home))
    return f"{found.st_dev}:{found.st_ino}"  # fresh disks give out the same numbers


def read_state(home: Folder) -> dict[str, Any]:
    """What the newest hub wrote about itself; empty where it did not, or wrote it where this was copied from."""
    import json

    try:
        state = json.loads(content(state_file(home)))
        is_ours = isinstance(state, dict) and state.get("folder") in (None, folder_mark(home))
    except (OSError, ValueError, RecursionError):
        return {}
    return state if is_ours else {}


def allowed_environment(home: Folder, env: Mapping[str, str]) -> dict[str, str]:
    """What of the settings in ``env`` the user lets an agent's environment decide.

    A hostile repository can set the environment of the agent that works in it. So a variable counts only when the
    user wrote its name, on a line of its own, into the file ``allow-env`` in the store's folder.
    """
    try:
        told = content(os.path.join(os.fspath(home), "allow-env")).decode("utf-8-sig", "replace")
    except OSError:
        return {}
    allowed = {line.strip() for line in told.replace("\r", "\n").split("\n")}
    return {name: env[name] for name in SETTING_NAMES if name in allowed and name in env}


def log_path(home: Folder, env: Mapping[str, str]) -> str:
    """The log's file as the settings have it; ``env`` is what is allowed of an environment."""
    given = env.get("REDB_PATH") or _configured_log(home) or "log.redb"
    return os.path.join(os.fspath(home), expanded(given))


def _configured_log(home: Folder) -> str:
    import tomllib

    try:
        text = content(os.path.join(os.fspath(home), "config.toml")).decode("utf-8-sig")
        value = tomllib.loads(text).get("redb_path", "")
    except (OSError, ValueError, RecursionError):
        return ""  # the hub tells what is wrong with it
    return value if isinstance(value, str) else ""
