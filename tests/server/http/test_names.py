from __future__ import annotations

import pytest

from prowess.server.http.names import Names, is_loopback


@pytest.mark.parametrize("host", ["localhost", "localhost:8484", "127.0.0.1:1", "[::1]:8484", "LOCALHOST:8484"])
def test_this_machine_may_be_called_by_its_local_names(host: str) -> None:
    assert Names("127.0.0.1").allows_host(host)
    assert Names("127.0.0.1").allows_origin(f"http://{host}")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8484",
        "10.0.0.1",
        "a@b@",
        "[::1",
        "localhost#.evil.example",
        "127.0.0.1:8797.evil.example",
        "localhost:1/evil",
        "user@localhost",
    ],
)
def test_a_foreign_name_is_refused(host: str) -> None:
    assert not Names("127.0.0.1").allows_host(host)
    assert not Names("127.0.0.1").allows_origin(f"http://{host}")


def test_the_user_in_a_host_does_not_make_it_ours() -> None:
    assert not Names("127.0.0.1").allows_host("localhost@evil.example")
    assert not Names("127.0.0.1").allows_origin("http://localhost@evil.example")


@pytest.mark.parametrize(
    "origin",
    [
        "chrome-extension://localhost",
        "evil://localhost",
        "file://localhost",
        "//localhost",
        "localhost",
        "http://localhost#.evil.example",
        "http://localhost?.evil.example",
        "http://localhost\\.evil.example",
        "http://127.0.0.1:8797.evil.example",
        "http://localhost:evil",
        "http://localhost:1/evil",
        "http://localhost/",
        "http://user@localhost",
        "http://[localhost]",
        "http://localhost\n",
        "http://localhost, http://evil.example",
    ],
)
def test_an_origin_is_a_page_of_the_web_on_an_allowed_host_and_nothing_more(origin: str) -> None:
    assert not Names("127.0.0.1").allows_origin(origin)
    assert not Names("0.0.0.0").allows_origin(origin)


def test_an_extension_may_ask_where_it_was_added() -> None:
    names = Names("127.0.0.1", origins=["chrome-extension://abc"])
    assert names.allows_origin("chrome-extension://abc")
    assert not names.allows_origin("chrome-extension://localhost")


def test_an_origin_without_a_host_is_refused() -> None:
    assert not Names("127.0.0.1").allows_origin("null")
    assert not Names("0.0.0.0").allows_origin("file://")


def test_what_listens_for_others_takes_addresses_in_digits_and_the_names_that_were_added() -> None:
    names = Names("0.0.0.0", ["Memory.example"], ["https://app.example"])
    assert names.allows_host("10.0.0.7:8484")
    assert names.allows_host("memory.example")
    assert names.allows_host("[fd00::1]:8484")
    assert not names.allows_host("other.example")
    assert names.allows_origin("https://app.example")
    assert not names.allows_origin("https://app.example:444")
    assert not names.allows_origin("http://app.example")


def test_loopback_is_what_nobody_else_reaches() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.com", "")] == [False] * 5
