"""The package managers of JavaScript: npm, pnpm, yarn and bun."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from code_commit_commit.build_scripts.folder import Folder

_VERSION = re.compile(r"(npm|pnpm|yarn|bun)@(\d+(?:\.\d+){0,2})(?:[-+].*)?")
_LOCK_FILES = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}


@dataclass(frozen=True, slots=True)
class Manager:
    """A package manager.

    `setup` are commands that find it, `install` installs the packages. `run_in_root` runs a script,
    `run_in_all` does so in every workspace that has it.
    """

    name: str
    setup: str
    install: str
    run_in_root: str
    run_in_all: str


def manager_of(folder: Folder, package: Mapping[str, Any]) -> Manager:
    """Return the manager that `package.json` names, or else that of the lock file."""
    named = _VERSION.fullmatch(str(package.get("packageManager", "")))
    locked = next((name for file, name in _LOCK_FILES.items() if folder.has(file)), "")
    name = named[1] if named else locked or "npm"
    version = named[2] if named else ""
    is_locked = name == locked
    if name == "npm":
        return Manager(
            name="npm",
            setup="need node\nneed npm\n",
            install="npm ci" if is_locked else "npm install",
            run_in_root="npm run {}",
            run_in_all="npm run {} --workspaces --if-present",
        )
    distribution = f"{name}@{version}" if version else name
    if name == "yarn":
        return _yarn(folder, version, is_locked=is_locked)
    frozen = " --frozen-lockfile" if is_locked else ""
    run_in_all = {"pnpm": "pnpm -r run --if-present {}", "bun": "bun run --filter '*' {}"}
    return _through_npx(name, distribution, f"install{frozen}", run_in_all[name])


def _yarn(folder: Folder, version: str, *, is_locked: bool) -> Manager:
    """Return yarn 1, or a later one, which has its own settings file."""
    if folder.has(".yarnrc.yml") or (version and not version.startswith("1.")):
        frozen = " --immutable" if is_locked else ""
        later = f"@yarnpkg/cli-dist@{version or 4}"
        if folder.mentions(r"^yarnPath:", ".yarnrc.yml"):
            later = "yarn@1"  # it runs the one in the repository
        run_in_all = "yarn workspaces foreach --all run {}"
        return _through_npx("yarn", later, f"install{frozen}", run_in_all)
    frozen = " --frozen-lockfile" if is_locked else ""
    return _through_npx("yarn", "yarn@1", f"install{frozen}", "yarn workspaces run {}")


def _through_npx(name: str, distribution: str, install: str, run_in_all: str) -> Manager:
    """Return a manager that npx runs where it is not installed."""
    npx = f"npx --yes --package={distribution}"
    setup = (
        "need node\n"
        f"command -v {name} >/dev/null || {{\n"
        "  need npx\n"
        f"  PATH=$({npx} --call 'printenv PATH') # with {name}\n"
        "}\n"
    )
    program = name if shutil.which(name) else f"{npx} {name}"
    run = f"{name} run {{}}"
    return Manager(name, setup, f"{program} {install}", run, run_in_all)
