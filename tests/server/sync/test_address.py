from __future__ import annotations

from pathlib import Path

import pytest

from prowess.server.sync.address import Address, BadAddress, read_address


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("libsql://mem-anna.turso.io", "https://mem-anna.turso.io"),
        (" https://mem.example/db/ ", "https://mem.example/db"),
        ("wss://mem.example:8443", "https://mem.example:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("libsql://127.0.0.1:8080?tls=0", "http://127.0.0.1:8080"),
    ],
)
def test_each_form_names_its_server(url: str, base: str) -> None:
    assert read_address(url) == Address(base=base)


def test_a_file_is_named_by_its_absolute_path() -> None:
    assert read_address("file:///srv/a%20b.db") == Address(path=Path("/srv/a b.db"))
    for url in ("file:memory.db", "file://host/memory.db", "file:"):
        with pytest.raises(BadAddress, match="absolute path"):
            read_address(url)


@pytest.mark.parametrize("url", ["", "memory.db", "ftp://x", "https://", "libsql://", "https://[", "http://x:port"])
def test_what_names_no_database_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        read_address(url)


@pytest.mark.parametrize("url", ["libsql://u:sesame@x", "libsql://x?authToken=sesame", "https://x/?token=sesame"])
def test_a_token_in_the_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadAddress, match="TURSO_AUTH_TOKEN") as refused:
        read_address(url)
    assert "sesame" not in str(refused.value)


def test_a_file_takes_no_token() -> None:
    with pytest.raises(BadAddress, match=r"takes no \?") as refused:
        read_address("file:///srv/memory.db?authToken=sesame")
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://mem.example", "ws://10.0.0.1:8080", "libsql://mem.example?tls=0"])
def test_plain_http_leaves_this_machine_only_where_that_was_said(url: str) -> None:
    with pytest.raises(BadAddress, match="plain http"):
        read_address(url)
    assert read_address(url, plain_http=True).base.startswith("http://")
