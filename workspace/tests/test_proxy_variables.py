"""The passwords of proxies are not shown."""

from __future__ import annotations

import pytest

from code_commit_workspace.process.proxy_variables import is_proxy, without_password


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
