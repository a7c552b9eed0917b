"""The passwords of proxies are known, and not shown."""

from __future__ import annotations

import pytest

from code_commit_workspace import proxy_passwords
from code_commit_workspace.process.proxy_variables import is_proxy, without_password


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


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://me:word@proxy:1/x", "http://proxy:1/x"),
        ("me:word@proxy", "proxy"),
        ("http://proxy:1", "http://proxy:1"),
    ],
)
def test_an_address_is_shown_without_its_user(address, shown):
    assert without_password(address) == shown


def test_other_variables_are_no_proxies():
    assert not is_proxy("no_proxy")
    assert is_proxy("HTTPS_PROXY")
