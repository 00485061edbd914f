"""What kept a server from being reached, in words."""

from __future__ import annotations

import socket
import ssl

import httpx2
import pytest

from prowess.server.sync.unreached import place_of, why_not_reached


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "the connection was refused"),
        (socket.gaierror(-2, "Name or service not known"), "its name was not found"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "TLS failed (it speaks none)"),
        (ConnectionResetError(104, "reset"), "the connection broke off"),
        (OSError(113, "No route to host"), "No route to host"),
        (ExceptionGroup("two addresses", [OSError(), ConnectionRefusedError()]), "the connection was refused"),
        (None, "ConnectError"),
    ],
)
def test_the_first_cause_that_is_known_is_told(cause: Exception | None, said: str) -> None:
    error = httpx2.ConnectError("All connection attempts failed")
    error.__cause__ = OSError("All connection attempts failed")
    error.__cause__.__cause__ = cause
    assert why_not_reached(error) == said


def test_silence_is_told_as_such() -> None:
    assert why_not_reached(httpx2.ConnectTimeout("")) == "it did not answer in time"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://mem.example/v2/pipeline", "mem.example:443"),
        ("http://127.0.0.1:8080/v2", "127.0.0.1:8080"),
        ("http://[::1]/v2", "[::1]:80"),
    ],
)
def test_host_and_port_are_named(url: str, place: str) -> None:
    assert place_of(url) == place
