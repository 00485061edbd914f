"""What kept a server from being reached, in a person's words."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2

from prowess.server.http.names import bracketed

__all__ = ["place_of", "why_not_reached"]

_PORTS = {"http": 80, "https": 443}


def place_of(url: str) -> str:
    """Host and port of an http(s) URL."""
    parts = urlsplit(url)
    return f"{bracketed(parts.hostname or '')}:{parts.port or _PORTS.get(parts.scheme, '')}"


def why_not_reached(error: BaseException) -> str:
    """What failed, from ``error`` and what caused it; the name of its class where nothing better is known."""
    for each in _causes(error):
        if told := _known(each):
            return told
    return type(error).__name__


def _known(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS failed: its certificate is not accepted ({getattr(error, 'verify_message', '') or 'unknown'})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({getattr(error, 'reason', '') or 'it speaks none'})"
    if isinstance(error, socket.gaierror):
        return "its name was not found"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, ConnectionError):
        return "the connection broke off"
    if isinstance(error, httpx2.TimeoutException):
        return "it did not answer in time"
    if isinstance(error, httpx2.RemoteProtocolError):
        return "the connection broke off, or what answers speaks no HTTP"
    return error.strerror or "" if isinstance(error, OSError) else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """``error`` and what it came from. A host with several addresses fails with a group of errors."""
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if each is not None:
            yield each
            waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
            waiting.append(each.__cause__ or each.__context__)
