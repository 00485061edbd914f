"""Where the remote database is: the URL's forms, and which of them may carry a token."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from prowess.server.http.names import bracketed, is_loopback

__all__ = ["Address", "BadAddress", "read_address"]

_WEB = {"libsql": "https", "https": "https", "wss": "https", "http": "http", "ws": "http"}


class BadAddress(ValueError):
    """The URL names no database that can be used; its text never quotes what may be a secret."""


class Address(NamedTuple):
    """``base`` is the server's http(s) URL without credentials; or ``path`` the file of a database."""

    base: str = ""
    path: Path | None = None

    @property
    def shown(self) -> str:
        """For people."""
        return self.base or f"file:{self.path}"


def read_address(url: str, *, plain_http: bool = False) -> Address:
    """``libsql://``, ``https://``, ``http://`` (loopback alone, unless ``plain_http``) and ``file:`` URLs.

    Raises BadAddress.
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        port = parts.port
    except ValueError as error:
        raise BadAddress("it is no URL") from error
    if parts.scheme == "file":
        return Address(path=_path(parts))
    if parts.scheme not in _WEB:
        raise BadAddress("it must begin with libsql://, https://, http:// or file:")
    if not host:
        raise BadAddress("it names no host")
    if parts.username or parts.password or "token" in parts.query.lower():
        raise BadAddress("it must not hold a token; set turso_token in config.toml, or TURSO_AUTH_TOKEN")
    scheme = _scheme(parts)
    if scheme == "http" and not is_loopback(host) and not plain_http:
        raise BadAddress("plain http carries the token readably; use https, or set sync_plain_http")
    return Address(base=f"{scheme}://{bracketed(host)}{f':{port}' if port else ''}{parts.path.rstrip('/')}")


def _scheme(parts: SplitResult) -> str:
    # libsql:// with ?tls=0 is how a self-hosted server without TLS is named.
    return "http" if parts.scheme == "libsql" and "tls=0" in parts.query.split("&") else _WEB[parts.scheme]


def _path(parts: SplitResult) -> Path:
    if parts.query:
        raise BadAddress("a file: URL takes no ?, and a file needs no token")
    told = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not told:
        raise BadAddress("a file: URL names an absolute path, as in file:///srv/memory.db")
    path = Path(told)
    if not path.is_absolute():
        raise BadAddress("a file: URL names an absolute path, as in file:///srv/memory.db")
    return path
