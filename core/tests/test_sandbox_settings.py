"""What the sandbox of a run gets from the settings and the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit.config.keys import KeyStore
from code_commit.config.loading import load_settings
from code_commit.run.workspace_settings import sandbox_settings
from code_commit_workspace import Redactor, SandboxSettings

USER = """
[sandbox]
mode = "require"
network = false
writable = ["/srv"]
readable = ["~/.netrc"]
[build]
output_limit = 70000
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    root = tmp_path / "project"
    (root / "agent-config").mkdir(parents=True)
    (root / ".gitignore").write_text("/agent-config\n")
    (tmp_path / "user/code-commit").mkdir(parents=True)
    return root


def test_what_the_user_set_and_what_holds_keys_reach_the_sandbox(root):
    folder = root.parent / "user/code-commit"
    (folder / "config.toml").write_text(USER)
    variable = "CODE_COMMIT_PROVIDERS__OPENAI__MINE__API_KEY"
    (root / "agent-config/config.toml").write_text(
        '[providers.openai.default]\napi_key_file = "/run/secrets/key"\n'
    )
    environ = {variable: "sk-canary-0123456789", "HOOK_TOKEN": "x"}
    keys = KeyStore(root, Redactor().add, environ)
    assert sandbox_settings(
        load_settings(root, environ=environ), keys, frozenset({"HOOK_TOKEN"})
    ) == SandboxSettings(
        mode="require",
        network=False,
        hidden=(folder, folder / "config.toml", Path("/run/secrets/key")),
        read_only=("logs",),
        writable=(Path("/srv"),),
        readable=(Path("~/.netrc"),),
        secret_variables=frozenset({"HOOK_TOKEN", variable}),
        secret_prefixes=("CODE_COMMIT_",),
        output_limit=70_000,
    )


def test_without_settings_the_sandbox_has_its_defaults(root):
    settings = sandbox_settings(
        load_settings(root, environ={}), KeyStore(root, Redactor().add, {}), frozenset()
    )
    folder = root.parent / "user/code-commit"
    hidden = (folder, folder / "config.toml")
    assert settings == SandboxSettings(
        hidden=hidden, read_only=("logs",), secret_prefixes=("CODE_COMMIT_",)
    )
