"""Handle keys on a worker: those for its units, those to remove from results, and the TLS key of its cluster."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from code_commit.plugin_api import CodeCommitError, NotReady
from code_commit_workspace import Redactor

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_SHORTEST_SECRET = 8
_SETTING = "CODE_COMMIT_PLUGINS__FLEET__KEYS_FROM"


def require_hidden_tls_keys(sandbox: str) -> None:
    """Check that a build cannot read the TLS key of this worker, with which it could run code as the worker.

    Raises:
        NotReady: the key is outside of the folder that the sandbox hides.
    """
    if sandbox == "off":
        return
    try:
        from distributed import get_worker

        security = get_worker().security
    except (ImportError, ValueError):
        return
    from platformdirs import user_config_path

    hidden = user_config_path("code-commit", appauthor=False).resolve()
    for role in ("worker", "scheduler", "client"):
        key = getattr(security, f"tls_{role}_key", None)
        if isinstance(key, str) and "\n" not in key and not Path(key).resolve().is_relative_to(hidden):
            raise NotReady(f"builds could read the TLS key {key} of this worker; move it to {hidden}")


def copy_keys(source: Path, project: Path) -> None:
    """Copy key files and settings to the unit: those of its folder, then those of the worker's `keys_from`."""
    folders = [source / "agent-config"] if source.is_absolute() else []
    if keys_from := _keys_from():
        folders.append(keys_from)
    target = project / "agent-config"
    for folder in folders:
        for file in [*folder.glob("*-key.txt"), folder / "config.toml"]:
            if file.is_file() and not file.is_symlink() and not target.is_symlink():
                target.mkdir(mode=0o700, exist_ok=True)
                if not (target / file.name).exists():
                    shutil.copyfile(file, target / file.name)
                    (target / file.name).chmod(0o600)


def _keys_from() -> Path | None:
    """Return the setting `plugins.fleet.keys_from` of this worker: from its environment, or from the user's file."""
    value: Any = os.environ.get(_SETTING)
    if value is None:
        import tomllib

        from platformdirs import user_config_path

        try:
            text = (user_config_path("code-commit", appauthor=False) / "config.toml").read_text("utf-8")
            value = tomllib.loads(text)["plugins"]["fleet"]["keys_from"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
    return Path(value).expanduser() if isinstance(value, str) and value else None


def worker_redactor() -> Redactor:
    """Return a redactor for everything that may be a key here; `code-commit` has already redacted its own files."""
    redactor = Redactor()
    values = [value for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET]
    if keys_from := _keys_from():
        for file in keys_from.glob("*-key.txt"):
            try:
                values.append(file.read_text("utf-8").strip())
            except (OSError, ValueError):
                continue
    for value in values:
        try:
            redactor.add(value)
        except (ValueError, CodeCommitError):
            continue
    return redactor
