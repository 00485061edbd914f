"""Under which names this server may be addressed, and from which pages: the guard against DNS rebinding.

A page of a hostile site can let its own name point to this machine and then talk to servers on it, from within the
browser. It cannot choose the ``Host`` and ``Origin`` that the browser sends: both keep the site's name.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

__all__ = ["Names", "bracketed", "is_loopback"]

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
# A name or an address, perhaps a port, and nothing else: what a browser sends (RFC 9110, 7.2; RFC 6454, 7).
_HOST = re.compile(r"([^\s/?#@\\:\[\]]+|\[[0-9a-f:.]+(?:%[\w.~-]+)?\])(?::[0-9]{0,5})?", re.IGNORECASE | re.ASCII)
_WEB = re.compile("https?://", re.IGNORECASE)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bracketed(host: str) -> str:
    """``host`` as a URL has it."""
    return f"[{host}]" if ":" in host else host


class Names:
    """The names of a server that listens at ``host``. ``names`` and ``origins`` are what the user added."""

    def __init__(self, host: str, names: Collection[str] = (), origins: Collection[str] = ()) -> None:
        self._names = _LOCAL | {host.lower()} | {name.lower() for name in names}
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._addresses = not is_loopback(host)

    def allows_host(self, told: str) -> bool:
        """Whether ``told``, the Host header, is a name of this server. The port may be a proxy's."""
        return self._allows(_host(told))

    def allows_origin(self, told: str) -> bool:
        """Whether a page of ``told``, the Origin header, may ask. The port may be another, as with the host's name."""
        if told.lower() in self._origins:
            return True
        scheme = _WEB.match(told)
        return scheme is not None and self._allows(_host(told[scheme.end() :]))

    def _allows(self, host: str) -> bool:
        return host in self._names or (self._addresses and _is_address(host))


def _host(told: str) -> str:
    found = _HOST.fullmatch(told)
    return found[1].lower().strip("[]") if found else ""


def _is_address(host: str) -> bool:
    """An address in digits is no name that somebody else could let point here."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
