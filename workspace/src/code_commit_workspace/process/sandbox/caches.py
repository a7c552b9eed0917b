"""Redirect the caches of build tools to a private folder with environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from code_commit_workspace.files.open_flags import FOLDER
from code_commit_workspace.files.path_kinds import exists
from code_commit_workspace.move.home import open_folder

# Tools that keep configuration and caches in one folder: its name in the home folder, in the
# private folder, and the names of the configuration.
_CONFIGURATIONS = (
    (".cargo", "cargo", ("config.toml", "config")),
    (".gradle", "gradle", ("gradle.properties", "init.gradle", "init.gradle.kts", "init.d")),
)
_MAVEN_REPOSITORY = "-Dmaven.repo.local="


def pnpm_store(env: Mapping[str, str], home: str) -> str:
    """Return where pnpm keeps its packages according to the variables `env`.

    Its configuration may say otherwise.
    """
    data = env.get("XDG_DATA_HOME") or f"{home}/.local/share"
    pnpm = env.get("PNPM_HOME") or f"{data}/pnpm"
    return f"{pnpm}/store"


def cache_variables(env: Mapping[str, str], cache: str, store: str = "") -> dict[str, str]:
    """Return the variables that let build tools work with a read-only home folder.

    Those that `env` sets are left out. A process sees the private folder at `cache`, and a
    separate one for pnpm at `store`, if any. `XDG_CACHE_HOME` is always set, `PNPM_HOME` only
    without a `store`.
    """
    private = {
        "npm_config_cache": f"{cache}/npm",
        # Else pnpm 11 and later make one in the project.
        "pnpm_config_store_dir": store or f"{cache}/pnpm/store",
        "YARN_GLOBAL_FOLDER": f"{cache}/yarn-berry",
        "GOMODCACHE": f"{cache}/go-mod",
        "GOFLAGS": "-modcacherw",  # without it, nobody could remove the private folder
        "MAVEN_USER_HOME": f"{cache}/maven-wrapper",
        "GRADLE_USER_HOME": f"{cache}/gradle",
        "CARGO_HOME": f"{cache}/cargo",
        "UV_LINK_MODE": "copy",  # hard links do not reach from one mount to another
    }
    set_by_user = {name.lower() for name, value in env.items() if value}
    variables = {name: value for name, value in private.items() if name.lower() not in set_by_user}
    options = env.get("MAVEN_OPTS", "")
    # Maven splits its options at blanks.
    if _MAVEN_REPOSITORY not in options and len(cache.split()) == 1:
        variables["MAVEN_OPTS"] = f"{options} {_MAVEN_REPOSITORY}{cache}/maven".lstrip()
    if not store:  # pnpm's store is there, and its programs are found on PATH all the same
        variables["PNPM_HOME"] = f"{cache}/pnpm"
    variables["XDG_CACHE_HOME"] = cache
    return variables


def link_configurations(cache: str, home: str) -> None:
    """Link the user's configuration of tools into private folders.

    Earlier processes may have put anything there: no link is followed, no file is replaced.
    """
    for original, private, names in _CONFIGURATIONS:
        targets = {name: f"{home}/{original}/{name}" for name in names}
        links = {name: target for name, target in targets.items() if exists(target)}
        if links:
            with suppress(OSError):
                _link(cache, private, links)


def _link(cache: str, name: str, links: Mapping[str, str]) -> None:
    """Make `links`, names with their targets, in the folder `name` of `cache`."""
    handle = os.open(cache, FOLDER)
    try:
        folder = open_folder(handle, name)
    finally:
        os.close(handle)
    try:
        for link, target in links.items():
            with suppress(FileExistsError):
                os.symlink(target, link, dir_fd=folder)
    finally:
        os.close(folder)
