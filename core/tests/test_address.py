"""Where a provider's service is: which address counts, and which is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from code_commit.config.addresses import address_of
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady

OPENAI = ProviderDefinition(
    name="openai",
    models={"gpt-5": ()},
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="x:X",
    factory="x:X",
)
GEMINI = replace(
    OPENAI,
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    base_url_variable="GOOGLE_GEMINI_BASE_URL",
    base_url_suffix="/v1beta",
    key_variable="GEMINI_API_KEY",
)


def test_the_address_is_the_configs_then_for_default_the_variables_then_the_services_own() -> None:
    variables = {"GOOGLE_GEMINI_BASE_URL": "https://proxy.example/gemini/"}
    own = address_of(GEMINI, "default", {}, {"GOOGLE_GEMINI_BASE_URL": ""})
    assert (own.url, own.own) == (GEMINI.base_url, True)
    moved = address_of(GEMINI, "default", {}, variables)
    assert (moved.url, moved.own) == ("https://proxy.example/gemini/v1beta", False)
    assert address_of(GEMINI, "named", {}, variables).own
    address = address_of(GEMINI, "default", {"base_url": "http://[::1]:80/x/"}, variables)
    assert (address.url, address.own) == ("http://[::1]:80/x", False)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://API.openai.com:443/other", True),
        ("https://api.openai.com:8443/v1", False),
        ("https://api.openai.com.example/v1", False),
        ("https://openai.com/v1", False),
    ],
)
def test_a_service_is_known_by_scheme_host_and_port(url: str, own: bool) -> None:
    assert address_of(OPENAI, "default", {"base_url": url}, {}).own is own


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (3, "is not a string"),
        ("", "is not an http or https URL"),
        ("ftp://host/v1", "is not an http or https URL"),
        ("api.openai.com/v1", "is not an http or https URL"),
        ("https:///v1", "is not an http or https URL"),
        ("https://host:99999/v1", "is not an http or https URL"),
        ("https://host:0/v1", "is not an http or https URL"),
        ("https://[::1/v1", "is not an http or https URL"),
        ("https://user:wertvoll@host/v1", "contains credentials"),
        ("https://wertvoll@host/v1", "contains credentials"),
        ("https://host/v1?key=wertvoll", "contains a query or a fragment"),
        ("https://host/v1#wertvoll", "contains a query or a fragment"),
        ("https://host/v1?", "contains a query or a fragment"),
        ("https://host/v 1", "contains a character"),
        ("https://host\\@evil/v1", "contains a character"),
        ("https://höst/v1", "contains a character"),
        ("https://host/\n", "contains a character"),
        ("http://host/v1", "plain http to another machine"),
        ("http://127.0.0.1.evil/v1", "plain http to another machine"),
        ("http://192.168.1.5:11434/v1", "plain http to another machine"),
        ("http://localhost.evil/v1", "plain http to another machine"),
    ],
)
def test_an_address_that_is_not_plain_is_refused_and_not_shown(url: object, said: str) -> None:
    with pytest.raises(NotReady) as caught:
        address_of(OPENAI, "player", {"base_url": url}, {})
    assert said in str(caught.value)
    assert "base_url of [providers.openai.player]" in str(caught.value)
    assert "wertvoll" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.9.9.9/v1", "http://[::1]/v1", "https://host"]
)
def test_addresses_on_this_machine_may_be_plain_http(url: str) -> None:
    assert address_of(OPENAI, "player", {"base_url": url}, {}).url == url


def test_plain_http_to_another_machine_can_be_allowed() -> None:
    table = {"base_url": "http://10.0.0.1/v1", "allow_http": True}
    assert address_of(OPENAI, "player", table, {}).url == "http://10.0.0.1/v1"
    with pytest.raises(NotReady):
        address_of(OPENAI, "player", {**table, "allow_http": "no"}, {})


@pytest.mark.parametrize(
    ("own", "url", "same"),
    [
        ("http://127.0.0.1/v1", "http://127.0.0.1:80/x", True),
        ("http://127.0.0.1:80/v1", "http://127.0.0.1", True),
        ("http://127.0.0.1/v1", "http://127.0.0.1:443/x", False),
        ("http://127.0.0.1/v1", "https://127.0.0.1/x", False),
        ("https://host/v1", "https://host:443/v1", True),
        ("https://host/v1", "https://host:80/v1", False),
        ("https://host:8443/v1", "https://host:8443/", True),
        ("https://host:8443/v1", "https://host/", False),
    ],
)
def test_a_port_that_is_not_written_is_that_of_the_scheme(own: str, url: str, same: bool) -> None:
    address = address_of(replace(OPENAI, base_url=own), "default", {"base_url": url}, {})
    assert (address.url, address.own) == (url.rstrip("/"), same)


PLAIN = "is plain http to"
EXAMPLE = 'write it like "https://host/v1"'


@pytest.mark.parametrize(
    ("table", "environ", "message", "hint"),
    [
        ({"base_url": 3}, {}, "base_url of [providers.openai.default] is not a string", EXAMPLE),
        ({"base_url": "ftp://x"}, {}, "base_url of [providers.openai.default] is not an http or https URL", EXAMPLE),
        ({}, {"OPENAI_BASE_URL": "ftp://x"}, "variable OPENAI_BASE_URL is not an http or https URL", EXAMPLE),
        ({}, {}, "plugin of openai is not an http or https URL", EXAMPLE),
        ({"base_url": "https://a@x"}, {}, "base_url of [providers.openai.default] contains credentials",
         "set the key with api_key_file"),
        ({"base_url": "https://x?"}, {}, "base_url of [providers.openai.default] contains a query or a fragment",
         "end the address before ? or #"),
        ({"base_url": "http://x"}, {},
         f"base_url of [providers.openai.default] {PLAIN} another machine, which would send the key unencrypted",
         "use https, or set allow_http = true in [providers.openai.default] for a network that you trust"),
    ],
)  # fmt: skip
def test_the_source_of_a_wrong_address_and_what_helps_are_named(
    table, environ, message, hint
) -> None:
    with pytest.raises(NotReady) as caught:
        address_of(replace(OPENAI, base_url="nowhere"), "default", table, environ)
    assert (caught.value.message, caught.value.hint) == (f"the address in {message}", hint)


def test_every_printable_character_but_backslash_may_be_in_an_address() -> None:
    path = "".join(map(chr, range(0x21, 0x7F))).translate(
        {ord(character): None for character in "\\@?#"}
    )
    assert (
        address_of(OPENAI, "player", {"base_url": f"https://host/{path}"}, {}).url
        == f"https://host/{path}"
    )
