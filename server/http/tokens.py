"""Bearer tokens: who may ask what over HTTP.

A token is 256 random bits, told once when it is made. The store's folder keeps its SHA-256 alone, which is enough for
a secret that nobody can guess, with a name, scopes and the project that its calls belong to.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from prowess.server.origins import now
from prowess.server.whole_file import write_whole
from prowess.storage.errors import InvalidInput, StoreBusy, StoreUnavailable, Unknown
from prowess.storage.log.failures import translated
from prowess.storage.ordinary import NotOrdinaryError, opened, read_ordinary

__all__ = ["SCOPES", "Token", "Tokens"]

SCOPES = ("read", "write", "evolve")
LOCK_SECONDS = 5.0  # another change of the tokens takes milliseconds
TRY_SECONDS = 0.02
NOTE_BYTES = 20
PREFIX = "prowess_"  # so that a token which leaked is recognised as one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a token. Times are ISO 8601 in UTC; ``digest`` is the SHA-256 of the secret, in hex.

    ``project`` is the only one that it reaches, "" for any.
    """

    name: str
    digest: str
    scopes: tuple[str, ...] = SCOPES
    project: str = ""
    created: str = ""
    rotated: str = ""


class _File(msgspec.Struct, kw_only=True):
    tokens: list[Token] = []


class Tokens:
    """The tokens of the store in ``home``. A change is seen by the next request of any process."""

    def __init__(self, home: Path) -> None:
        self._path = home / "tokens.json"
        self._seen: tuple[int, int, int] | None = None
        self._known: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Every token, in the order in which they were made. Raises StoreUnavailable for a file that makes no sense.

        Who cannot read the file lets nobody in.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen, self._known = None, ()
            return ()
        except OSError as error:
            raise self._refused(error) from error
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._seen:
            self._known, self._seen = self._read(), stamp
        return self._known

    def needed(self) -> bool:
        """Whether tokens were made here: revoking the last one lets nobody in rather than everybody."""
        self.all()
        return self._seen is not None

    def _read(self) -> tuple[Token, ...]:
        try:
            return tuple(msgspec.json.decode(read_ordinary(self._path), type=_File).tokens)
        except NotOrdinaryError as error:
            raise StoreUnavailable(
                f"the tokens in {self._path} cannot be read: {error.strerror}",
                hint="move it away and make new tokens with `prowess token create`",
            ) from error
        except OSError as error:
            raise self._refused(error) from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise StoreUnavailable(
                f"the tokens in {self._path} cannot be read: {error}",
                hint="mend the file, or delete it and make new tokens with `prowess token create`",
            ) from error

    def _refused(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"the tokens in {self._path} cannot be read: {error.strerror}",
            hint="see that this user may read the file: `sudo prowess token create` makes it the one of root",
        )

    def find(self, secret: str) -> Token | None:
        """The token of ``secret``; how long that takes does not depend on how much of it is right."""
        digest = _digest(secret)
        found = None
        for token in self.all():
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def create(self, name: str, *, scopes: Sequence[str] = SCOPES, project: str | None = None) -> str:
        """Make a token and return its secret; ``project`` is the only one that it reaches, None: any.

        Raises InvalidInput for a name that is taken or none, and for a project without one.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is no name for a token", hint="use letters, digits, '.', '_' and '-'")
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            raise InvalidInput(f"there is no scope {' '.join(wrong)!r}", hint=f"the scopes are {', '.join(SCOPES)}")
        if project is not None and not project.strip():  # a variable that is not set would open all projects
            raise InvalidInput("the project is empty", hint="name it, or leave it out for a token that reaches all")
        with self._changing() as file:
            if any(token.name == name for token in file.tokens):
                raise InvalidInput(f"there is a token {name!r} already", hint=f"`prowess token rotate {name}`")
            secret = _secret()
            kept = tuple(scope for scope in SCOPES if scope in scopes)
            only = (project or "").strip()
            file.tokens.append(Token(name=name, digest=_digest(secret), scopes=kept, project=only, created=now()))
        return secret

    def rotate(self, name: str) -> str:
        """Give the token ``name`` a new secret, and return it; the old one is worth nothing from now on."""
        with self._changing() as file:
            place = _place(file, name)
            secret = _secret()
            file.tokens[place] = msgspec.structs.replace(file.tokens[place], digest=_digest(secret), rotated=now())
        return secret

    def revoke(self, name: str) -> None:
        """Forget the token ``name``. Raises Unknown where there is none."""
        with self._changing() as file:
            del file.tokens[_place(file, name)]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[_File]:
        """The file's content, written back whole at the end; one process at a time."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(self._path.with_suffix(".lock")):
            file = _File(tokens=list(self.all()))
            yield file
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(file), indent=2), sync=True)


def _place(file: _File, name: str) -> int:
    for place, token in enumerate(file.tokens):
        if token.name == name:
            return place
    raise Unknown(f"there is no token {name!r}", hint="`prowess token list` names those there are")


def _secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with translated(path):
        descriptor = opened(path, os.O_RDWR | os.O_CREAT)
    try:
        _take(descriptor)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    """Lock the file, and leave this process's number in it. Raises StoreBusy where another keeps it."""
    import fcntl  # there is no hub, and so nothing to serve over HTTP, where this is missing

    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                holder = os.pread(descriptor, NOTE_BYTES, 0).decode("ascii", "replace").strip() or "unknown"
                raise StoreBusy(
                    f"another process (pid {holder}) is changing the tokens",
                    hint="try again when it is done; if it was stopped, let it go on or end it",
                ) from error
            time.sleep(TRY_SECONDS)
        else:
            break
    with contextlib.suppress(OSError):  # a courtesy: a full disk must not keep a token from being revoked
        os.pwrite(descriptor, b"%-*d" % (NOTE_BYTES, os.getpid()), 0)
