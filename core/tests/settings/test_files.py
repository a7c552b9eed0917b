"""Any file is settings or an error with its line: broken, large, absurd, a link, a pipe."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_commit.plugin_api.errors import NotReady

KEY = "sk-live-0123456789abcXY"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'model = "x"\n\nmodel == 3\n', 3),
        (f'[providers.openai.player]\napi_key = "{KEY}\n'.encode(), 2),
        (f"[providers.openai.player]\n{KEY}\n".encode(), 2),
        (f"a = 1\n{KEY} = 1\n{KEY} = 1\n".encode(), 3),
        (f"a = {{ {KEY} = 1, {KEY} = 1 }}\n".encode(), 1),
        (f"[{KEY}]\n[{KEY}]\n".encode(), 2),
        (b'model = "x"\nb = [1,\n', 3),
        (b'model = "x"\nb = "\xff"\n', 2),
    ],
)
def test_broken_toml_is_told_with_its_line_and_without_its_text(
    config, text: bytes, line: int
) -> None:
    config.write(text)
    assert config.refusal().startswith(f"agent-config/config.toml, line {line}")


@pytest.mark.parametrize("of_user", [False, True])
def test_a_file_has_at_most_a_megabyte(config, of_user: bool) -> None:
    write = config.write_user if of_user else config.write
    write('model = "m" #'.ljust(1024 * 1024, "x"))
    assert config.load().model == "m"
    write('model = "m" #'.ljust(1024 * 1024 + 1, "x"))
    assert config.refusal().endswith("config.toml cannot be read: larger than 1048576 bytes")


@pytest.mark.parametrize(
    "text", [b"a = " + b"[" * 100_000, b"a = " + b"9" * 10_000, b"#" * 2_000_000]
)
def test_an_absurd_file_is_an_error_and_no_crash(config, text: bytes) -> None:
    config.write(text)
    assert config.refusal().startswith("agent-config/config.toml")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("[]{}=.\"'a1\n,#\\", max_size=40).map(str.encode))
def test_any_file_gives_settings_or_a_plain_error(config, content: bytes) -> None:
    config.write(content)
    with suppress(NotReady):  # anything else is a crash
        assert config.load().origin("sandbox.mode") in {"default", "agent-config/config.toml"}


def test_a_link_is_not_followed_to_the_projects_file(config) -> None:
    (config.root / "elsewhere.toml").write_text('model = "evil"')
    (config.root / "agent-config/config.toml").symlink_to(config.root / "elsewhere.toml")
    assert "agent-config/config.toml cannot be read: it is a link" in config.refusal()
    (config.root / "agent-config").rename(config.root / "real")
    (config.root / "agent-config").symlink_to("real")
    assert "in a folder that is one" in config.refusal()


def test_neither_a_folder_nor_a_pipe_is_a_file(config) -> None:
    (config.root / "agent-config/config.toml").mkdir()
    assert "not a regular file" in config.refusal()
    (config.root / "agent-config/config.toml").rmdir()
    os.mkfifo(config.root / "agent-config/config.toml")
    assert "not a regular file" in config.refusal()


def test_the_users_own_file_may_be_a_link(config) -> None:
    (config.root.parent / "dotfiles.toml").write_text('model = "gpt-5"')
    config.user_file.symlink_to(config.root.parent / "dotfiles.toml")
    assert config.load().model == "gpt-5"
