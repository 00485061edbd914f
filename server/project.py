"""Which project an agent works in, told from its folder: the git repository's remote, else the place.

docs/projects.md has the rules.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from prowess.server.gitconfig import remotes
from prowess.server.repository import common_folder_around, common_folder_of, is_folder, read_regular

__all__ = ["project_of"]

MAX_NAME = 200  # what tools take
READABLE = 40
MAX_CLONES = 8  # clones of clones on one machine that are followed

_SCP = re.compile(r"(?:[^@/\\]*@)?(?P<host>\[[^\]/]+\]|[^:/\\\[\]]{2,}):(?!//)(?P<path>.+)", re.DOTALL)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FILE = re.compile(r"file://(localhost)?(?=/)", re.IGNORECASE)
_USUAL_PORTS = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418}


def project_of(cwd: Path, override: str = "") -> str:
    """The project's id, such as ``shop-1f0c9a2e``: ``override`` where one is given, else derived from ``cwd``.

    Clones with the same remote have the same id on every machine. "" where ``cwd`` is no project's folder: the home
    folder, the root, or none that exists. Reads files, so call it in a thread.
    """
    if chosen := _printable(override):
        return chosen
    if not cwd.is_absolute() or not is_folder(cwd):
        return ""
    folder = _real(cwd)
    common = common_folder_around(folder)
    if common is not None:
        return _of_repository(common)
    if folder in (Path(folder.anchor), _real(Path(os.path.expanduser("~")))):  # noqa: PTH111 - never raises
        return ""
    return _id(folder.name, "place", str(folder))


def _printable(name: str) -> str:
    return "".join(letter for letter in name if letter.isprintable()).strip()[:MAX_NAME].strip()


def _id(name: str, kind: str, identity: str) -> str:
    digest = hashlib.sha256(f"{kind}\0{identity}".encode(errors="surrogatepass")).hexdigest()
    plain = unicodedata.normalize("NFC", name).casefold().encode(errors="replace").decode()
    readable = re.sub(r"[^\w.-]+", "-", plain)[:READABLE].strip("-.") or "project"
    return f"{readable}-{digest[:8]}"


def _of_repository(common: Path) -> str:
    for _ in range(MAX_CLONES):
        url = _url(read_regular(common / "config").decode(errors="surrogateescape"))
        if url is None:
            break
        if (address := _address(url)) is not None:
            return _id(PurePosixPath(address).name, "remote", address)
        origin = _local(url, common)
        if (repository := common_folder_of(origin) or common_folder_of(origin.parent / f"{origin.name}.git")) is None:
            return _id(_bare_name(origin), "remote", str(origin))
        common = repository  # a clone of a repository on this machine is the same project
    return _id(_bare_name(common), "place", str(common))


def _bare_name(repository: Path) -> str:
    return (repository.parent if repository.name == ".git" else repository).name.removesuffix(".git")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


# ---- the remote


def _url(config: str) -> str | None:
    """Of ``origin``, else of the remote whose name comes first."""
    found = remotes(config)
    return found.get("origin") or (found[min(found)] if found else None)


def _address(url: str) -> str | None:
    """``host/path`` of an address on a network, the same however it was written; None for a folder.

    It has no user, password, usual port, query or ``.git``, and no capital letters.
    """
    if _URL.match(url):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return _tidy(url.partition("://")[2].rpartition("@")[2])
        usual = port is None or port == _USUAL_PORTS.get(parts.scheme.lower())
        return None if parts.scheme == "file" else _tidy(f"{host}{'' if usual else f':{port}'}/{parts.path}")
    found = _SCP.fullmatch(url)
    return _tidy(f"{found['host'].strip('[]')}/{found['path']}") if found else None


def _tidy(address: str) -> str:
    folded = re.sub("/+", "/", unicodedata.normalize("NFC", address).casefold()).rstrip("/")
    return folded.removesuffix(".git").rstrip("/")


def _local(url: str, common: Path) -> Path:
    """A remote that is a folder of this machine; relative ones start at the main worktree."""
    place = _FILE.sub("", url).replace("\0", "")
    return _real((common.parent if common.name == ".git" else common) / place)
