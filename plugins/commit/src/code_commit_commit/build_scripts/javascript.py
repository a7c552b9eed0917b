"""JavaScript and TypeScript.

Use the package manager of the lock file, and the scripts of `package.json`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.node_managers import Manager, manager_of
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
_PASSES_WITHOUT = r"node (?:\S+ ){0,20}--test|\bmocha\b|--passWithNoTests"
_IN_TESTS = re.compile(r"(?:^|/)(?:__tests__|tests?)/")
_ENDS = ("js", "jsx", "ts", "tsx")
_RUNNER_SETTINGS = re.compile(r"(?:jest|vitest|vite)\.config\.")
_RAN = "(tests|Tests:?) +[1-9]|Tests:.* [1-9]|[1-9][0-9]* passing"


# No script `test` yet. npm comes with Node.js, whichever manager installs the packages.
_NO_TEST_SCRIPT = """\
test=$(node -p 'require("./package.json").scripts?.test ?? ""')
if [ -n "${{test##*{placeholder}*}}" ]; then
  npm test
elif has_files {tests}; then
  fail 'there are test files, but package.json has no script "test"'
else
  echo "build.sh: there are no tests yet"
fi
"""
_UNREADABLE = """\
fail "init cannot read package.json: repair it, delete build.sh, and run code-commit init again"
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
    if package is None:
        return Part(_language(folder), _UNREADABLE, families=("JavaScript",))
    manager = manager_of(folder, package)
    scripts = {
        name: text for name, text in package.get("scripts", {}).items() if isinstance(text, str)
    }
    part = Part(
        _language(folder),
        _build(folder, package, scripts, manager) + _test(folder, package, scripts, manager),
        families=("JavaScript",),
        setup="export CI=true NO_COLOR=1\n" + manager.setup,
    )
    has_packages = any(
        package.get(name) for name in ("dependencies", "devDependencies", "workspaces")
    )
    if not has_packages:
        return part
    installed = "[ -d node_modules ]"
    if manager.name == "yarn":
        installed += " || [ -f .pnp.cjs ]"
    missing = f'fail "the packages are not installed: run {manager.install}"'
    setup = f"{part.setup}{installed} || {missing}\n"
    return replace(part, setup=setup, leaves=("node_modules/",), install=manager.install)


def builds_nothing(folder: Folder) -> bool:
    """Return whether `package.json` has no script that builds or tests.

    It may only hold tools of another language.
    """
    package = _package(folder)
    if package is None:
        return False
    scripts = package.get("scripts", {})
    return not {"build", "test"} & scripts.keys() or _PLACEHOLDER in str(scripts.get("test"))


def _package(folder: Folder) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        package = json.loads(folder.read("package.json").removeprefix("\ufeff"))
        if isinstance(package, dict) and isinstance(package.get("scripts", {}), dict):
            return package
    return None


def _language(folder: Folder) -> str:
    return "TypeScript" if folder.has("tsconfig*.json") else "JavaScript"


def _build(
    folder: Folder,
    package: dict[str, Any],
    scripts: dict[str, str],
    manager: Manager,
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
    if not steps and not _test_script(scripts) and not folder.named("*.jsx", "*.vue"):
        return _CHECK_SYNTAX
    return steps


def _test(
    folder: Folder,
    package: dict[str, Any],
    scripts: dict[str, str],
    manager: Manager,
) -> str:
    name = _test_script(scripts)
    if name:
        command = manager.run_in_root.format(name)
        reached = " ".join(text for script, text in scripts.items() if script.split(":")[0] == name)
        command += _without_coverage(folder, scripts[name], manager)
        if re.search(_PASSES_WITHOUT, reached) and _test_files(folder):
            return f"run_tests '{_RAN}' {command}\n"
        return f"{command}\n"
    if _workspaces(folder, package):
        return f"{manager.run_in_all.format('test')}\n"
    if folder.mentions(r"""['"]node:test['"]""", *_test_files(folder)):
        return f"run_tests '{_RAN}' node --test\n"
    patterns = " ".join(f"'{pattern}'" for pattern in _TESTS)
    return _NO_TEST_SCRIPT.format(placeholder=_PLACEHOLDER.replace(" ", "\\ "), tests=patterns)


def _without_coverage(folder: Folder, script: str, manager: Manager) -> str:
    """Return options that drop a limit of coverage for the tests from before, or "".

    They do not know new code.
    """
    flag = {"jest": "--coverage=false", "vitest": "--coverage.enabled=false"}
    runner = re.search(r"(?:^|[&;] *)(jest|vitest)\b[^&|;]*$", script)
    files = ("package.json", *(name for name in folder.names if _RUNNER_SETTINGS.match(name)))
    if not runner or not folder.mentions(r"coverageThreshold|thresholds\b", *files):
        return ""
    dashes = "-- " if manager.name == "npm" else ""
    return f" ${{CODE_COMMIT_TESTS_OF_BEFORE:+{dashes}{flag[runner[1]]}}}"


def _test_script(scripts: dict[str, str]) -> str:
    """Return the name of the script that tests the project, or ""."""
    for name in ("test", "check"):
        if _PLACEHOLDER not in scripts.get(name, _PLACEHOLDER) and scripts[name].strip():
            return name
    return ""


def _test_files(folder: Folder) -> list[str]:
    return folder.named("*.test.*", "*.spec.*") + [
        path for path in folder.paths if path.endswith(_ENDS) and _IN_TESTS.search(path)
    ]


def _workspaces(folder: Folder, package: dict[str, Any]) -> bool:
    return bool(package.get("workspaces")) or folder.has("pnpm-workspace.yaml")
