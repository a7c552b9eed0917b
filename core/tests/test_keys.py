"""Keys through `KeyStore`: where one is looked for, which address gets it, and that none is ever
shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from code_commit.config.key_text import bare_key
from code_commit.config.keys import FoundKey, KeyStore
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
LOCAL = {"base_url": "http://127.0.0.1:8080/v1"}


class Redactor:
    def __init__(self) -> None:
        self.keys: list[str] = []

    def add(self, key: str) -> None:
        self.keys.append(key)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    root = tmp_path / "project"
    (root / "agent-config").mkdir(parents=True)
    (tmp_path / "user/code-commit").mkdir(parents=True)
    (root / ".gitignore").write_text("/agent-config\n")
    return root


def store(root: Path, **environ: str) -> KeyStore:
    return KeyStore(root, Redactor().add, environ)


def test_no_store_is_made_unless_git_ignores_the_private_folder(root: Path) -> None:
    (root / ".gitignore").write_text("# /agent-config\n")
    (root / "agent-config/config.toml").write_text("broken = [")  # nothing reads it
    with pytest.raises(NotReady, match=str(root / ".gitignore")) as caught:
        store(root)
    assert "the line /agent-config" in caught.value.hint


def key_file(root: Path, content: str | bytes, name: str = "openai-key.txt") -> Path:
    path = root / "agent-config" / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def config(root: Path, text: str) -> None:
    (root / "agent-config/config.toml").write_text(text)


def user_config(root: Path, text: str) -> Path:
    path = root.parent / "user/code-commit/config.toml"
    path.write_text(text)
    return path


def found(
    root: Path, name: str = "default", table: Mapping[str, Any] | None = None, **environ: str
) -> tuple[str, str] | None:
    key = store(root, **environ).key_for(OPENAI, name, table or {})
    return (key.value, key.source) if key else None


def refused(
    root: Path, name: str = "default", table: Mapping[str, Any] | None = None, **environ: str
) -> str:
    with pytest.raises(NotReady) as caught:
        store(root, **environ).key_for(OPENAI, name, table or {})
    return f"{caught.value} | {caught.value.hint}"


def test_a_named_config_has_its_own_key_and_never_the_services(root: Path) -> None:
    key_file(root, "key-in-file\n")
    config(root, '[providers.openai.player]\napi_key = "key-of-player"')
    variables = {"OPENAI_API_KEY": "key-in-variable"}
    where = "agent-config/config.toml [providers.openai.player] api_key"
    assert found(root, "player", **variables) == ("key-of-player", where)
    assert found(root, "local", LOCAL, **variables) is None
    own = f"{root}/agent-config/config.toml or {root.parent}/user/code-commit/config.toml"
    assert refused(root, "other", **variables) == (
        "no key for openai.other at https://api.openai.com/v1 | set api_key, or api_key_file = "
        f'"openai-key.txt", in [providers.openai.other] in {own}; `code-commit doctor` checks it'
    )


def test_the_default_config_looks_in_its_table_then_the_file_then_the_variable(root: Path) -> None:
    config(root, '[providers.openai.default]\napi_key = "key-in-config"')
    path = key_file(root, "key-in-file\n")
    variables = {"OPENAI_API_KEY": "key-in-variable"}
    assert found(root, **variables) == (
        "key-in-config",
        "agent-config/config.toml [providers.openai.default] api_key",
    )
    config(root, "")
    assert found(root, **variables) == ("key-in-file", "agent-config/openai-key.txt")
    path.unlink()
    assert found(root, **variables) == ("key-in-variable", "variable OPENAI_API_KEY")


def test_sources_of_a_config_beat_each_other_like_settings(root: Path) -> None:
    path = user_config(root, '[providers.openai.player]\napi_key = "key-of-user"')
    assert found(root, "player") == (
        "key-of-user",
        f"user config {path} [providers.openai.player] api_key",
    )
    key_file(root, "key-in-file", "player.txt")
    config(root, '[providers.openai.player]\napi_key_file = "player.txt"')
    found_in_file = found(root, "player")
    assert found_in_file is not None
    assert found_in_file[0] == "key-in-file"
    variable = "CODE_COMMIT_PROVIDERS__OPENAI__PLAYER__API_KEY"
    key = found(root, "player", **{variable: "key-in-variable"})
    assert key == ("key-in-variable", f"variable {variable} [providers.openai.player] api_key")


def test_a_key_file_is_relative_to_the_file_that_names_it_and_tilde_is_home(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    (root.parent / "user/code-commit/k.txt").write_text("key-of-user\n")
    (root.parent / "home.txt").write_text("key-at-home\r\n")
    path = user_config(root, '[providers.openai.player]\napi_key_file = "k.txt"')
    assert found(root, "player") == (
        "key-of-user",
        f"{path.parent / 'k.txt'} (user config {path} [providers.openai.player] api_key_file)",
    )
    config(root, '[providers.openai.player]\napi_key_file = "~/home.txt"')
    key = found(root, "player")
    assert key is not None
    assert key[0] == "key-at-home"


@pytest.mark.parametrize("path", ["../key.txt", "../src/../key.txt", "{root}/key.txt", "link.txt"])
def test_a_key_file_that_git_and_the_model_can_see_is_refused(root: Path, path: str) -> None:
    (root / "key.txt").write_text("key-in-project")
    (root / "src").mkdir()
    (root / "agent-config/link.txt").symlink_to("../key.txt")
    config(root, f'[providers.openai.default]\napi_key_file = "{path.format(root=root)}"')
    message = refused(root)
    assert "is in the project, where git and models can see it | move the file to" in message
    assert message.endswith(f"{root}/agent-config, or out of the project")
    assert "key-in-project" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'api_key = "key-key-1"\napi_key_file = "k"',
            "[providers.openai.default] in agent-config/config.toml sets both api_key and api_key_file | remove one of them",
        ),
        (
            "api_key = 123456789",
            "agent-config/config.toml [providers.openai.default] api_key is not a string",
        ),
        (
            "api_key_file = 7",
            "agent-config/config.toml [providers.openai.default] api_key_file is not a string",
        ),
        ('api_key_file = "absent.txt"', "absent.txt | write the key to it, on one line"),
        ('api_key_file = "."', "cannot be read: not a regular file"),
        ('api_key_file = "~nobody-of-this-name/x"', "is not a path that can be resolved"),
        ('api_key_file = "a\\u0000b"', "is not a path that can be resolved"),
        ('api_key = ""', "is empty"),
    ],
)
def test_a_config_whose_key_cannot_be_had_says_why(root: Path, text: str, said: str) -> None:
    config(root, f"[providers.openai.default]\n{text}")
    message = refused(root, OPENAI_API_KEY="key-in-variable")
    assert said in message
    assert "key-key" not in message


def test_a_key_file_that_is_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "agent-config/pipe")
    config(root, '[providers.openai.default]\napi_key_file = "pipe"')
    assert "not a regular file" in refused(root)


def test_without_a_key_the_services_own_address_names_the_three_places(root: Path) -> None:
    assert refused(root) == (
        f"no key for openai.default at https://api.openai.com/v1 | write it to {root}/agent-config/openai-key.txt, or "
        f"set the variable OPENAI_API_KEY, or set api_key in [providers.openai.default] in {root}/agent-config/"
        f"config.toml or {root.parent}/user/code-commit/config.toml; `code-commit doctor` checks it"
    )
    assert "OPENAI_API_KEY (it is empty now)" in refused(root, OPENAI_API_KEY="")


@pytest.mark.parametrize("url", ["https://API.openai.com/v1/", "https://api.openai.com:443/v2"])
def test_another_way_to_write_the_own_address_needs_a_key_too(root: Path, url: str) -> None:
    assert "no key for openai.default" in refused(root, table={"base_url": url})


def test_another_address_is_called_without_a_key(root: Path) -> None:
    assert found(root, table=LOCAL) is None
    assert found(root, OPENAI_BASE_URL="http://localhost:11434/v1") is None
    assert store(root).key_for(replace(OPENAI, key_variable=None), "default", {}) is None


PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=200)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=PRINTABLE, end=st.sampled_from(["", "\n", "\r\n"]))
def test_any_printable_line_is_a_key_and_is_censored(root: Path, key: str, end: str) -> None:
    assume(bare_key(key) == key)
    key_file(root, key + end)
    redactor = Redactor()
    key_read = KeyStore(root, redactor.add, {}).key_for(OPENAI, "default", {})
    assert key_read is not None
    assert (key_read.value, redactor.keys) == (key, [key])
    assert repr(key_read) == str(key_read) == "FoundKey(source='agent-config/openai-key.txt')"


def test_a_found_key_does_not_show_its_value() -> None:
    assert "0123456789" not in repr(FoundKey("0123456789", "somewhere"))


BAD = {
    "": "is empty",
    "\n": "is empty",
    "   \n": "is empty",
    "wertvoll-one\nwertvoll-two\n": "has more than one line",
    "wertvoll-one\n\n": "has more than one line",
    "wertvoll-one\rwertvoll-two": "has more than one line",
    "wertvoll-schlüssel": "has a character that is not printable ASCII at 14",
    "wertvoll\tkey": "has a character that is not printable ASCII at 9",
    "wertvoll\x7f": "has a character that is not printable ASCII at 9",
    "wertvoll-key ": "begins or ends with a space",
    " wertvoll-key": "begins or ends with a space",
    "wertvol": "is too short",
}


@pytest.mark.parametrize(("content", "said"), BAD.items())
@pytest.mark.parametrize("place", ["file", "variable", "config"])
def test_what_is_no_key_is_refused_without_showing_any_of_it(
    root: Path, content: str, said: str, place: str
) -> None:
    if place == "file":
        key_file(root, content)
        message = refused(root)
    elif place == "variable":
        message = refused(root, CODE_COMMIT_PROVIDERS__OPENAI__DEFAULT__API_KEY=content or " ")
    else:
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in content)
        config(root, f'[providers.openai.default]\napi_key = "{escaped}"')
        message = refused(root)
    assert said in message
    assert "one line of printable ASCII" in message
    assert "wert" not in message
    assert "schl" not in message


@pytest.mark.parametrize("quoted", ["'wertvoll-key'", '"wertvoll-key"', "A_KEY=wertvoll-key"])
def test_a_key_in_quotes_is_refused_and_censored_both_ways(root: Path, quoted: str) -> None:
    key_file(root, f"{quoted}\n")
    config(root, f"[providers.gemini.other]\napi_key = {json.dumps(quoted)}")
    redactor = Redactor()
    keys = KeyStore(root, redactor.add, {"GEMINI_API_KEY": quoted})
    places = {
        "agent-config/openai-key.txt": (OPENAI, "default"),
        "variable GEMINI_API_KEY": (GEMINI, "default"),
        "[providers.gemini.other] api_key": (GEMINI, "other"),
    }
    for place, (definition, name) in places.items():
        with pytest.raises(NotReady, match=r"has the name of|has quotes around it") as caught:
            keys.key_for(definition, name, {})
        assert place in caught.value.message
        assert "wert" not in f"{caught.value.message}{caught.value.hint}"
    assert set(redactor.keys) == {quoted, "wertvoll-key"}
    redactor.keys.clear()
    keys.redact_all(["GEMINI_API_KEY"])
    assert set(redactor.keys) == {quoted, "wertvoll-key"}


def test_a_key_file_that_is_not_plain_is_refused(root: Path) -> None:
    path = root / "agent-config/openai-key.txt"
    (root.parent / "secret").write_text("wertvoll-key")
    path.symlink_to(root.parent / "secret")
    assert "agent-config/openai-key.txt cannot be read: it is a link" in refused(root)
    path.unlink()
    path.mkdir()
    assert "not a regular file" in refused(root)
    path.rmdir()
    os.mkfifo(path)
    assert "not a regular file" in refused(root)
    path.unlink()
    path.write_bytes(b"k" * 100_000)
    assert "larger than" in refused(root)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_key_file_without_permission_is_refused(root: Path) -> None:
    key_file(root, "wertvoll-key").chmod(0)
    assert "agent-config/openai-key.txt cannot be read: permission denied" in refused(root)


def test_every_key_that_is_configured_is_censored_used_or_not(root: Path) -> None:
    key_file(root, "key-of-openai\n")
    key_file(root, "key-of-disabled", "anthropic-key.txt")
    key_file(root, "not a key\nbut a text", "notes-key.txt")
    key_file(root, "key-shadowed-file", "player.txt")
    user_config(root, '[providers.openai.player]\napi_key = "key-shadowed-1"')
    config(
        root,
        '[providers.openai.player]\napi_key = "key-of-player"\napi_key_file = "player.txt"\n'
        '[providers.other.x]\napi_key = "short"',
    )
    redactor = Redactor()
    environ = {
        "GEMINI_API_KEY": "key-of-gemini",
        "CODE_COMMIT_PROVIDERS__OTHER__Y__API_KEY": "key-of-y",
        "OPENAI_API_KEY": "",
    }
    KeyStore(root, redactor.add, environ).redact_all(["OPENAI_API_KEY", "GEMINI_API_KEY"])
    assert sorted(redactor.keys) == [
        "key-of-disabled",
        "key-of-gemini",
        "key-of-openai",
        "key-of-player",
        "key-of-y",
        "key-shadowed-1",
        "key-shadowed-file",
    ]


@pytest.mark.parametrize(
    "text",
    ["providers = 3", "providers.openai = 3", "providers.openai.default = 3", "[providers.openai]"],
)
def test_a_table_that_is_none_holds_no_key(root: Path, text: str) -> None:
    config(root, text)
    redactor = Redactor()
    keys = KeyStore(root, redactor.add, {"OPENAI_API_KEY": "key-in-variable"})
    keys.redact_all(["OPENAI_API_KEY"])
    assert keys.key_for(OPENAI, "default", {}) == FoundKey(
        "key-in-variable", "variable OPENAI_API_KEY"
    )
    assert redactor.keys == ["key-in-variable"] * 2
    assert not keys.variables_with_keys()


def test_passwords_of_proxies_are_redacted(root: Path) -> None:
    redactor = Redactor()
    KeyStore(root, redactor.add, {"https_proxy": "http://me:password-of-proxy@host"}).redact_all([])
    assert redactor.keys == ["password-of-proxy"]


@pytest.mark.parametrize(("size", "fits"), [(16 * 1024, True), (16 * 1024 + 1, False)])
@pytest.mark.parametrize("name", ["openai-key.txt", "own.txt"])
def test_a_key_file_has_at_most_16_kilobytes(root: Path, name: str, size: int, fits: bool) -> None:
    key_file(root, "k" * size, name)
    config(
        root,
        "" if name == "openai-key.txt" else f'[providers.openai.default]\napi_key_file = "{name}"',
    )
    if fits:
        key = found(root)
        assert key is not None
        assert key[0] == "k" * size
    else:
        assert "larger than 16384 bytes" in refused(root)


def test_a_secret_is_redacted_when_it_is_given(root: Path) -> None:
    redactor = Redactor()
    keys = KeyStore(root, redactor.add, {"HOOK_TOKEN": "secret-of-hook", "EMPTY": ""})
    assert (keys.secret("HOOK_TOKEN"), keys.secret("EMPTY"), keys.secret("UNSET")) == (
        "secret-of-hook",
        None,
        None,
    )
    assert redactor.keys == ["secret-of-hook"]


def test_the_variables_that_hold_keys_are_known_by_name(root: Path) -> None:
    config(root, '[providers.other.x]\napi_key = "key-of-x"')
    keys = store(
        root,
        CODE_COMMIT_PROVIDERS__OTHER__Y__API_KEY="key-of-y",
        CODE_COMMIT_PROVIDERS__OTHER__Y__MODEL="m",
        CODE_COMMIT_PROVIDERS__Z='{"a": {"api_key": "key-of-a"}}',
    )
    assert keys.variables_with_keys() == {
        "CODE_COMMIT_PROVIDERS__OTHER__Y__API_KEY",
        "CODE_COMMIT_PROVIDERS__Z",
    }


def test_files_with_keys_outside_of_the_private_folder_are_known(root: Path) -> None:
    path = user_config(root, '[providers.openai.player]\napi_key_file = "k.txt"')
    config(root, '[providers.openai.default]\napi_key_file = "/run/secrets/key"')
    assert store(root).files_elsewhere() == (
        path.parent,
        path,
        Path("/run/secrets/key"),
        path.parent / "k.txt",
    )


def test_looking_for_keys_loads_neither_pydantic_nor_httpx() -> None:
    code = """\
import sys
import code_commit.config.keys

print(*sorted({"pydantic", "pydantic_settings", "httpx"} & set(sys.modules)))
"""
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not completed.stdout.strip()


def test_a_key_file_in_the_project_that_leads_out_of_it_is_refused(root: Path) -> None:
    """The user named it; whoever wrote the link would choose what is sent as the key."""
    (root.parent / "secret").write_text("wertvoll-key")
    (root / "agent-config/k.txt").symlink_to(root.parent / "secret")
    (root.parent / "alias").symlink_to(root)
    (root / "keys").symlink_to(root.parent)
    for path, reason in (
        ("k.txt", "leads out of the project through a link"),
        (f"{root.parent}/alias/agent-config/k.txt", "leads out of the project through a link"),
        ("../keys/secret", "is in the project, where git and models can see it"),
    ):
        config(root, f'[providers.openai.default]\napi_key_file = "{path}"')
        message = refused(root)
        assert reason in message
        assert "wertvoll" not in message
    # A link of the user's, such as to a folder of dotfiles.
    (root.parent / "mine").symlink_to("secret")
    config(root, f'[providers.openai.default]\napi_key_file = "{root.parent}/mine"')
    key = found(root)
    assert key is not None
    assert key[0] == "wertvoll-key"
