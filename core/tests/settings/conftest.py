"""The configuration files of a project and of its user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from code_commit.config.loading import Settings, load_settings
from code_commit.plugin_api.errors import NotReady

KEY = "sk-live-0123456789abcXY"


class Configuration:
    """Writes configuration files and loads them."""

    def __init__(self, root: Path, user_file: Path) -> None:
        self.root = root
        self.user_file = user_file

    def write(self, text: str | bytes) -> None:
        """Write the file of the project."""
        content = text if isinstance(text, bytes) else text.encode()
        (self.root / "agent-config/config.toml").write_bytes(content)

    def write_user(self, text: str) -> None:
        """Write the user's own file."""
        self.user_file.write_text(text)

    def load(self, environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
        """Load the settings with these variables and flags."""
        return load_settings(self.root, flags=flags, environ=environ or {})

    def refusal(self, environ: Mapping[str, str] | None = None, **flags: object) -> str:
        """Return why the settings cannot be loaded, which shows no key."""
        with pytest.raises(NotReady) as caught:
            self.load(environ, **flags)
        assert KEY not in repr(caught.value) + caught.value.hint
        return str(caught.value)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """Return the configuration of an empty project, whose user has none."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "project/agent-config").mkdir(parents=True)
    (tmp_path / "user/code-commit").mkdir(parents=True)
    return Configuration(tmp_path / "project", tmp_path / "user/code-commit/config.toml")
