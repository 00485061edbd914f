"""``prowess serve --http`` stays with its address while hubs come and go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from prowess.server.http import front
from prowess.server.hub.client import HubError, HubGone


class _Ended:
    """A connection to a hub that has just ended."""

    async def next_line(self) -> bytes:
        raise anyio.EndOfStream


class _Hubs:
    """What becomes of one hub after the other: it serves ("") or an error."""

    def __init__(self, *fates: Exception | str) -> None:
        self._fates = [*fates]
        self.ports: list[int] = []

    def start(self, home: Path, session: str) -> None:
        if isinstance(self._fates[0], HubError):
            raise self._fates.pop(0)  # type: ignore[misc]

    @asynccontextmanager
    async def serve(self, home: Path, asked: dict[str, Any]) -> AsyncIterator[tuple[dict[str, Any], Any]]:
        fate = self._fates.pop(0)
        if isinstance(fate, Exception):
            raise fate
        self.ports.append(asked["port"])
        yield {"url": "http://127.0.0.1:8484/mcp", "port": 8484, "tokens": True, "revoked": False}, _Ended()


def _served(hubs: _Hubs, home: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(front, "AGAIN_SECONDS", 0)
    monkeypatch.setattr(front, "start_hub", hubs.start)
    monkeypatch.setattr(front.hub, "http_served", hubs.serve)
    return front.main(["--http", "127.0.0.1:0", "--store", str(home)])


def test_a_hub_that_starts_badly_is_followed_by_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, left = HubError("the hub did not answer within 30 s"), HubError("the hub left in the middle of a call")
    hubs = _Hubs("", slow, left, HubGone("it left"), "", *[slow] * front.TRIES)
    assert _served(hubs, tmp_path, monkeypatch) == front.FAILED
    assert hubs.ports == [0, 8484]
    said = capsys.readouterr().err
    assert said.count("the hub did not answer within 30 s; trying again") == front.TRIES
    assert said.splitlines()[-1] == "prowess: error: the hub did not answer within 30 s"


def test_the_first_hub_has_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hubs = _Hubs(HubError("the folder cannot be used", hint="give another one"), "")
    assert _served(hubs, tmp_path, monkeypatch) == front.FAILED
    assert hubs.ports == []
    assert capsys.readouterr().err.endswith("error: the folder cannot be used\nhint: give another one\n")
