"""Banks of memory skills and controllers on disk: below ``memskill`` of the store's folder, named by their hash.

Which of them is in use stands in the log; files that no event names are never read. All blocking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.controller import Controller
from prowess.server.whole_file import write_whole
from prowess.storage.errors import StoreDamaged, StoreUnavailable
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary

__all__ = [
    "MOST_BYTES",
    "adopt_files",
    "keep_bank",
    "keep_controller",
    "load_bank",
    "load_controller",
    "read_export",
    "read_files",
]

MOST_BYTES = 64_000_000  # of one file: a controller with the widest LSTM has a fifth of it
LONGEST_NAME = 200  # bytes of a file's name; systems take 255, and a file that is being written has some more
CONTROLLER = frozenset({"controller.safetensors", "controller.json"})
_HINT = "restore the folder from a copy, train again, or `prowess memskill reset`"


def _folder(home: Path, kind: str) -> Path:
    return home.absolute() / "memskill" / kind


def keep_bank(home: Path, bank: Bank) -> str:
    """Write the bank; its hash."""
    files = {name: text.encode() for name, text in bank.to_files().items()}
    key = _hash_of(files)
    _write(_folder(home, "banks") / key, files)
    return key


def load_bank(home: Path, key: str) -> Bank:
    """The bank with this hash. Raises StoreDamaged where it is gone or was changed, which a person does by command."""
    return _bank_of(read_files(home, "banks", key))


def _bank_of(files: Mapping[str, bytes]) -> Bank:
    return Bank.from_files({name: content.decode("utf-8", "replace") for name, content in files.items()})


def keep_controller(home: Path, weights: bytes, manifest: bytes) -> str:
    """Write the controller's two files; the hash of the weights."""
    key = hashlib.sha256(weights).hexdigest()
    _write(_folder(home, "controllers") / key, {"controller.safetensors": weights, "controller.json": manifest})
    return key


def load_controller(home: Path, key: str) -> Controller:
    """The controller with these weights. Raises StoreDamaged."""
    files = read_files(home, "controllers", key)
    return Controller.from_files(files["controller.safetensors"], files.get("controller.json", b""))


def read_export(folder: Path) -> tuple[bytes, bytes, Bank]:
    """Weights, manifest and bank as a trainer left them. Raises StoreDamaged and InvalidInput."""
    files, bank = _read(folder), _bank_of(_read(folder / "bank"))
    return files.get("controller.safetensors", b""), files.get("controller.json", b""), bank


def read_files(home: Path, kind: str, key: str) -> dict[str, bytes]:
    """The files of a bank (``banks``) or controller (``controllers``). Raises StoreDamaged if they are not ``key``."""
    if not key.isalnum():
        raise StoreDamaged(f"{key[:12]!r} is no hash", hint=_HINT)
    files = _read(_folder(home, kind) / key)
    _check(kind, key, files)
    return files


def adopt_files(home: Path, kind: str, key: str, files: Mapping[str, bytes]) -> None:
    """Write files that came from elsewhere. Raises StoreDamaged if they are not those that ``key`` names."""
    if not key.isalnum() or not all(map(_is_plain, files)) or (kind == "controllers" and not {*files} <= CONTROLLER):
        raise StoreDamaged("the files have names that are none", hint=_HINT)
    _check(kind, key, files)
    _write(_folder(home, kind) / key, files)


def _is_plain(name: str) -> bool:
    """Whether a file can be called that, in any folder."""
    fits = 0 < len(name.encode("utf-8", "replace")) <= LONGEST_NAME and name.isprintable()
    return fits and Path(name).name == name and not name.startswith(".")


def _check(kind: str, key: str, files: Mapping[str, bytes]) -> None:
    weights = files.get("controller.safetensors", b"")
    found = _hash_of(files) if kind == "banks" else hashlib.sha256(weights).hexdigest()
    if found != key:
        raise StoreDamaged(f"the files of {kind} {key[:12]} are not those that were adopted", hint=_HINT)


def _hash_of(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(msgspec.json.encode([name, len(content)]) + content)
    return digest.hexdigest()


def _read(folder: Path) -> dict[str, bytes]:
    """Without what a program that was killed had begun to write: its name has a dot before it."""
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        contents = {path.name: _content(path) for path in found}
    except OSError as error:
        raise StoreDamaged(f"{folder}: {error.strerror or error}", hint=_HINT) from error
    return {name: content for name, content in contents.items() if content is not None}


def _content(path: Path) -> bytes | None:
    """None for what is no file."""
    try:
        with open_ordinary(path) as file:
            return file.read(MOST_BYTES)
    except NotOrdinaryError:
        return None


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """All files on disk, or the event that names them is never written; what is there already is written anew."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in files.items():
            write_whole(folder / name, content, sync=True)
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror or error}", hint="see that the disk is not full") from error
