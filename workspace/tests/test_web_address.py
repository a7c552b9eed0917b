"""Addresses of services."""

from __future__ import annotations

import pytest

from code_commit_workspace import NotReady, is_this_machine, parse_address, same_origin


@pytest.mark.parametrize("url", ["https://host/v1", "http://127.0.0.1:8080", "https://[::1]:9/a/b"])
def test_an_address_is_parsed(url: str) -> None:
    assert parse_address(url, "a test").geturl() == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (7, "not a string"),
        ("https://ho st/", "not allowed in a URL"),
        ("ftp://host", "not an http or https URL"),
        ("https://", "not an http or https URL"),
        ("https://host:99999", "not an http or https URL"),
        ("https://me:secret@host", "contains credentials"),
        ("https://host/?key=secret", "a query or a fragment"),
        ("https://host/#secret", "a query or a fragment"),
    ],
)
def test_an_error_names_the_source_and_not_the_address(url: object, words: str) -> None:
    with pytest.raises(NotReady, match=words) as caught:
        parse_address(url, "variable X")
    assert "variable X" in caught.value.message
    assert "secret" not in caught.value.message


def test_an_origin_is_scheme_host_and_port() -> None:
    assert same_origin("https://host/v1", "https://HOST:443/other")
    assert not same_origin("https://host", "http://host")
    assert not same_origin("https://host", "https://host:8443")
    assert not same_origin("https://host.example", "https://host")


def test_this_machine_is_known_by_name_and_address() -> None:
    assert [is_this_machine(host) for host in ("localhost", "127.0.0.2", "::1")] == [True] * 3
    assert not any(is_this_machine(host) for host in ("localhost.example", "10.0.0.1", ""))
