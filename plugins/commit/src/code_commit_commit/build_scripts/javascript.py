"""JavaScript and TypeScript.

Use the package manager of the lock file, and the scripts of `package.json`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part

_TESTS = (
    "*.test.*",
    "*.spec.*",
    "*/__tests__/*",
    "*/test/*.js",
    "*/test/*.mjs",
    "*/test/*.cjs",
    "*/test/*.ts",
)
_PLACEHOLDER = "no test specified"  # of `npm init`
# These runners, or this flag, pass without a test. A line of the output that says how many ran:
_PASSES_WITHOUT = r"node (?:\S+ )*--test|\bmocha\b|--passWithNoTests"
_RAN = "(tests|Tests:?) +[1-9]|Tests:.* [1-9]|[1-9][0-9]* passing"


@dataclass(frozen=True, slots=True)
class _Manager:
    name: str
    lock_files: tuple[str, ...]
    install: str
    run_in_all: str  # runs a script in every workspace that has it


_MANAGERS = (
    _Manager(
        "pnpm", ("pnpm-lock.yaml",), "pnpm install --frozen-lockfile", "pnpm -r run --if-present {}"
    ),
    _Manager("yarn", ("yarn.lock",), "yarn install", "yarn workspaces foreach --all run {}"),
    _Manager(
        "bun", ("bun.lock", "bun.lockb"), "bun install --frozen-lockfile", "bun run --filter '*' {}"
    ),
    _Manager(
        "npm",
        ("package-lock.json", "npm-shrinkwrap.json"),
        "npm ci",
        "npm run {} --workspaces --if-present",
    ),
)
_NPM = _Manager("npm", (), "npm install", _MANAGERS[-1].run_in_all)

# No script `test` yet. npm comes with Node.js, whichever manager installs the packages.
_NO_TEST_SCRIPT = """\
test=$(node -p 'require("./package.json").scripts?.test ?? ""')
if [ -n "${{test##*{placeholder}*}}" ]; then
  CI=true npm test
elif has_files {tests}; then
  fail 'there are test files, but package.json has no script "test"'
else
  echo "build.sh: there are no tests yet"
fi
"""
_CHECK_SYNTAX = """\
find . \\( -name '.?*' -o -name node_modules \\) -prune -o \
-type f \\( -name '*.js' -o -name '*.[cm]js' \\) -print0 |
  xargs -0 -r -n 1 node --check
"""


def javascript(folder: Folder) -> Part | None:
    """Return how to build a project with a `package.json`, or None."""
    if not folder.has("package.json"):
        return None
    package = _package(folder)
    manager = _manager(folder, package)
    scripts = {
        name: text for name, text in package.get("scripts", {}).items() if isinstance(text, str)
    }
    commands = "".join(f"need {name}\n" for name in dict.fromkeys(("node", manager.name)))
    has_packages = any(
        package.get(name) for name in ("dependencies", "devDependencies", "workspaces")
    )
    if has_packages:
        installed = "[ -d node_modules ]"
        if manager.name == "yarn":
            installed += " || [ -f .pnp.cjs ]"
        commands += f'{installed} || fail "the packages are not installed: run {manager.install}"\n'
    steps = _build(folder, package, scripts, manager) + _test(folder, package, scripts, manager)
    part = Part(_language(folder), f"{commands}{steps}")
    if has_packages:
        return replace(part, leaves=("node_modules/",), install=manager.install)
    return part


def builds_nothing(folder: Folder) -> bool:
    """Return whether `package.json` has no script that builds or tests.

    It may only hold tools of another language.
    """
    scripts = _package(folder).get("scripts", {})
    return not {"build", "test"} & scripts.keys() or _PLACEHOLDER in str(scripts.get("test"))


def _package(folder: Folder) -> dict[str, Any]:
    with suppress(json.JSONDecodeError):
        package = json.loads(folder.read("package.json").removeprefix("\ufeff"))
        if isinstance(package, dict) and isinstance(package.get("scripts", {}), dict):
            return package
    return {}


def _manager(folder: Folder, package: dict[str, Any]) -> _Manager:
    named = str(package.get("packageManager", "")).partition("@")[0]
    for manager in _MANAGERS:
        if folder.has(*manager.lock_files):
            return manager
    return next((manager for manager in _MANAGERS if manager.name == named != "npm"), _NPM)


def _language(folder: Folder) -> str:
    return "TypeScript" if folder.has("tsconfig*.json") else "JavaScript"


def _build(
    folder: Folder,
    package: dict[str, Any],
    scripts: dict[str, str],
    manager: _Manager,
) -> str:
    names = [
        name for name in ("typecheck", "type-check", "check-types", "build") if name in scripts
    ]
    steps = "".join(f"{manager.name} run {name}\n" for name in names)
    compiled = any("tsc" in text for text in scripts.values())
    has_typescript = "typescript" in package.get("devDependencies", {})
    if folder.has("tsconfig.json") and has_typescript and not compiled:
        steps += "npx --no-install tsc --noEmit\n"
    if not steps and _workspaces(folder, package):
        return f"{manager.run_in_all.format('build')}\n"
    if not steps and not _has_test(scripts) and not folder.named("*.jsx", "*.vue"):
        return _CHECK_SYNTAX
    return steps


def _test(
    folder: Folder,
    package: dict[str, Any],
    scripts: dict[str, str],
    manager: _Manager,
) -> str:
    command = "bun run test" if manager.name == "bun" else f"{manager.name} test"
    if _has_test(scripts):
        reached = " ".join(text for name, text in scripts.items() if name.split(":")[0] == "test")
        if re.search(_PASSES_WITHOUT, reached) and _test_files(folder):
            return f"run_tests '{_RAN}' env CI=true {command}\n"
        return f"CI=true {command}\n"
    if _workspaces(folder, package):
        return f"CI=true {manager.run_in_all.format('test')}\n"
    if folder.mentions(r"""['"]node:test['"]""", *_test_files(folder)):
        return f"run_tests '{_RAN}' node --test\n"
    patterns = " ".join(f"'{pattern}'" for pattern in _TESTS)
    return _NO_TEST_SCRIPT.format(placeholder=_PLACEHOLDER.replace(" ", "\\ "), tests=patterns)


def _has_test(scripts: dict[str, str]) -> bool:
    return _PLACEHOLDER not in scripts.get("test", _PLACEHOLDER)


def _test_files(folder: Folder) -> list[str]:
    below = re.compile(r"(?:^|/)(?:__tests__|tests?)/.*[cm]?[jt]sx?$")
    return folder.named("*.test.*", "*.spec.*") + [
        path for path in folder.paths if below.search(path)
    ]


def _workspaces(folder: Folder, package: dict[str, Any]) -> bool:
    return bool(package.get("workspaces")) or folder.has("pnpm-workspace.yaml")
