"""The proxy for an address comes from the environment; this machine needs none."""

from __future__ import annotations

import pytest

from code_commit.config.proxy import https_proxy, proxy_passwords


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({"https_proxy": "http://a:1", "all_proxy": "http://b:2"}, "http://a:1"),
        ({"all_proxy": "b:2"}, "http://b:2"),
        ({"http_proxy": "http://a:1"}, None),
        ({"https_proxy": "http://a:1", "no_proxy": "api.example"}, None),
        ({"https_proxy": "http://a:1", "no_proxy": "other.example"}, "http://a:1"),
        ({}, None),
    ],
)
def test_the_proxy_of_a_host(monkeypatch, environ, proxy):
    for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert https_proxy("api.example") == proxy


@pytest.mark.parametrize("host", ["localhost", "127.8.8.8", "::1"])
def test_this_machine_needs_no_proxy(monkeypatch, host):
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://a:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert https_proxy(host) is None


@pytest.mark.parametrize("name", ["https_proxy", "HTTP_PROXY", "All_Proxy", "ftp_proxy"])
@pytest.mark.parametrize(
    ("address", "passwords"),
    [
        ("http://me:password-1@proxy:80", {"password-1"}),
        ("me:password-1@proxy", {"password-1"}),
        ("http://me:pass%2Dword@proxy", {"pass%2Dword", "pass-word"}),
        ("http://me:eight-88@proxy", {"eight-88"}),
        ("http://me:seven-7@proxy", set()),
        ("http://me:%C3%BCabcdefgh@proxy", {"%C3%BCabcdefgh"}),
        ("http://me:%00abcdefgh@proxy", {"%00abcdefgh"}),
        ("http://proxy:80/", set()),
    ],
)
def test_passwords_are_known_as_written_and_as_sent(name, address, passwords):
    assert set(proxy_passwords({name: address, "OTHER": "http://me:of-no-proxy@host"})) == passwords
