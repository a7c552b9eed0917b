"""Redirect the caches of build tools to a private folder, by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.transaction.home import FOLDER, open_folder

# Cargo has its configuration and its caches in the same folder.
_CARGO_CONFIGURATION = ("config.toml", "config")


def cache_variables(env: Mapping[str, str], cache: str) -> dict[str, str]:
    """Return the variables that let build tools work with a read-only home folder, except those that `env` sets.

    `cache` is where a process sees the private folder. `XDG_CACHE_HOME` and `PNPM_HOME` are set in any case.
    """
    wanted = {
        "npm_config_cache": f"{cache}/npm",
        "GOMODCACHE": f"{cache}/go-mod",
        "GOFLAGS": "-modcacherw",  # without it, nobody could remove the private folder
        "MAVEN_OPTS": f"-Dmaven.repo.local={cache}/maven",
        "GRADLE_USER_HOME": f"{cache}/gradle",
        "CARGO_HOME": f"{cache}/cargo",
        "UV_LINK_MODE": "copy",  # hard links do not reach from one mount to another
    }
    given = {name.lower() for name, value in env.items() if value}
    new = {name: value for name, value in wanted.items() if name.lower() not in given}
    # pnpm's store is there, and its programs are found on PATH all the same.
    return new | {"XDG_CACHE_HOME": cache, "PNPM_HOME": f"{cache}/pnpm"}


def link_cargo_configuration(cache: str, home: str) -> None:
    """Let cargo find the user's configuration in its private folder. An earlier process may have put anything there."""
    with suppress(OSError):
        handle = os.open(cache, FOLDER)
        try:
            folder = open_folder(handle, "cargo")
        finally:
            os.close(handle)
        try:
            for name in _CARGO_CONFIGURATION:
                if Path(home, ".cargo", name).is_file():
                    with suppress(FileExistsError):
                        os.symlink(f"{home}/.cargo/{name}", name, dir_fd=folder)
        finally:
            os.close(folder)
