"""Handle keys on a worker: those of its units, those to censor, and the TLS key of its cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from code_commit.plugin_api import PRIVATE_FOLDER, CodeCommitError, NotReady, config_folder
from code_commit_workspace import (
    ProjectTree,
    Redactor,
    check_private_folder,
    create_file,
    open_regular,
    read_in_project,
)

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_SHORTEST_SECRET = 8
_SETTING = "CODE_COMMIT_PLUGINS__FLEET__KEYS_FROM"
_LARGEST = 1024 * 1024  # bytes of a file with keys or settings


def require_hidden_tls_keys(sandbox: str) -> None:
    """Check that a build cannot read the TLS key of this worker, and so run code as the worker.

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
    hidden = config_folder().resolve()
    for role in ("worker", "scheduler", "client"):
        key = getattr(security, f"tls_{role}_key", None)
        if not isinstance(key, str) or "\n" in key:
            continue  # not a path: there is no key, or this is the key itself
        if not Path(key).resolve().is_relative_to(hidden):
            raise NotReady(
                f"builds could read the TLS key {key} of this worker; move it to {hidden}"
            )


def copy_keys(source: Path, project: Path) -> None:
    """Copy key files and settings to the unit.

    Files of the unit's own repository win over those of the worker's `keys_from`.

    Raises:
        NotReady: files in `agent-config` come with a repository, or a key cannot be read or
            written.
    """
    check_private_folder(project, PRIVATE_FOLDER)
    keys_from = _keys_from()
    files = dict(_keys_in(keys_from)) if keys_from else {}
    if source.is_absolute() and os.path.lexists(source / PRIVATE_FOLDER):
        check_private_folder(source, PRIVATE_FOLDER)
        files |= _keys_of_project(source)
    if not files:
        return
    try:
        with suppress(FileExistsError):
            (project / PRIVATE_FOLDER).mkdir(mode=0o700)
        with ProjectTree(project) as tree, tree.folder(PRIVATE_FOLDER) as folder:
            for name, content in files.items():
                create_file(name, content, folder=folder)
    except OSError as error:
        raise NotReady(
            f"{PRIVATE_FOLDER} cannot be written in the unit: {error.strerror}"
        ) from error


def _keys_of_project(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files in `agent-config` with keys and settings."""
    with suppress(OSError), ProjectTree(root) as tree, tree.folder(PRIVATE_FOLDER) as folder:
        for name in filter(_has_keys, sorted(os.listdir(folder))):  # noqa: PTH208 - a handle
            content = read_in_project(root, f"{PRIVATE_FOLDER}/{name}", limit=_LARGEST)
            if content is not None:
                yield name, content


def _keys_in(keys_from: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files with keys and settings in the user's folder."""
    for path in sorted(keys_from.glob("*")):
        if _has_keys(path.name):
            with suppress(OSError), open_regular(path) as file:
                yield path.name, file.read(_LARGEST)


def _has_keys(name: str) -> bool:
    return name == "config.toml" or name.endswith("-key.txt")


def _keys_from() -> Path | None:
    """Return the folder that the setting `plugins.fleet.keys_from` of this worker names.

    The environment of the worker wins over the user's file.
    """
    value: Any = os.environ.get(_SETTING)
    if value is None:
        value = _read_users_setting()
    return Path(value).expanduser() if isinstance(value, str) and value else None


def _read_users_setting() -> Any:
    """Return `plugins.fleet.keys_from` in the user's `config.toml`; None without a valid one."""
    import tomllib

    try:
        text = (config_folder() / "config.toml").read_text("utf-8")
        return tomllib.loads(text)["plugins"]["fleet"]["keys_from"]
    except (NotReady, OSError, ValueError, KeyError, TypeError):
        return None


def worker_redactor() -> Redactor:
    """Return a redactor for everything that may be a key here.

    `code-commit` has already redacted its own files.
    """
    redactor = Redactor()
    values = [value for name, value in os.environ.items() if _SECRET.search(name)]
    values = [value for value in values if len(value) >= _SHORTEST_SECRET]
    if keys_from := _keys_from():
        contents = [content for name, content in _keys_in(keys_from) if name.endswith("-key.txt")]
        values += [content.decode("utf-8", "replace").strip() for content in contents]
    for value in values:
        with suppress(ValueError, CodeCommitError):
            redactor.add(value)
    return redactor
