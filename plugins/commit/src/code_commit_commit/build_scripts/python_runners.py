"""How a Python project says itself that its tests run: tox and nox."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from code_commit_commit.build_scripts.folder import Folder

_TESTS = re.compile(r"(?:unit)?[-_]?(?:tests?|pytest)(?:[-_].*)?|unit")
_PYTHON_ENVIRONMENT = re.compile(r"py3\d*((?:-[\w.]+)*)")
_MOST = 500  # environments
_LONGEST = 10_000  # characters of their list
_LONGEST_LINE = 4000  # characters: `configparser` takes quadratic time for blanks in a line
_MOST_DOTS = 200  # in a line: `tomllib` takes quadratic time for the parts of a dotted key
# The Python that runs tox names the environment, so that no other Python is needed.
_VERSION = "$($python -c 'import sys; print(\"{}\" % sys.version_info[:2])')"


def tox_command(folder: Folder) -> str:
    """Return how tox tests the project, or "" if it does not."""
    environments, has_default = _tox_environments(folder)
    suffixes = [found[1] for name in environments if (found := _PYTHON_ENVIRONMENT.fullmatch(name))]
    if suffixes:
        # The usual one: without a factor, or else with the last factor that most Pythons have.
        suffix = max(reversed(suffixes), key=lambda text: (text == "", suffixes.count(text)))
        return f'tox run -e "py{_VERSION.format("%d%d")}{suffix}"'
    named = next((name for name in environments if _TESTS.fullmatch(name)), "")
    if named or has_default:
        return f"tox run -e {named or 'py'}"
    return ""


def nox_command(folder: Folder) -> str:
    """Return how nox tests the project, or "" if it does not."""
    if not folder.has("noxfile.py"):
        return ""
    try:
        module = ast.parse(folder.read("noxfile.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for name, has_pythons in _nox_sessions(module):
        if not _TESTS.fullmatch(name):
            continue
        # A session with several Pythons has one name for each.
        if has_pythons:
            return f'nox --reuse-existing-virtualenvs --session "{name}-{_VERSION.format("%d.%d")}"'
        return f"nox --reuse-existing-virtualenvs --session {name}"
    return ""


def _tox_environments(folder: Folder) -> tuple[list[str], bool]:
    """Return the environments that tox runs, and whether there are commands for any other."""
    if folder.has("tox.ini"):
        return _of_ini(folder.read("tox.ini"))
    if folder.has("tox.toml"):
        return _of_toml(toml_of(folder, "tox.toml"))
    tool = toml_of(folder, "pyproject.toml").get("tool")
    table = tool.get("tox") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        return [], False
    if isinstance(table.get("legacy_tox_ini"), str):
        return _of_ini(table["legacy_tox_ini"])
    return _of_toml(table)


def _of_ini(text: str) -> tuple[list[str], bool]:
    parser = ini_of(text)
    if parser is None:
        return [], False
    listed = ""
    for name in ("env_list", "envlist"):
        listed = listed or parser.get("tox", name, fallback="")
    environments = list(_expanded(listed))
    environments += [
        section.removeprefix("testenv:")
        for section in parser.sections()
        if section.startswith("testenv:")
    ]
    return _plain(environments), parser.has_option("testenv", "commands")


def _of_toml(table: dict[str, Any]) -> tuple[list[str], bool]:
    listed = table.get("env_list")
    environments = listed if isinstance(listed, list) else []
    named = table.get("env")
    if isinstance(named, dict):
        environments = [*environments, *named]
    base = table.get("env_run_base")
    has_default = isinstance(base, dict) and "commands" in base
    return _plain(name for name in environments if isinstance(name, str)), has_default


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in names if re.fullmatch(r"[\w.-]+", name)][:_MOST]


def _expanded(listed: str) -> Iterator[str]:
    """Yield the environments of a list: `py{310,311}-x` are two."""
    waiting = re.findall(r"(?:[^\s,{}]++|\{[^{}]*+\}|[{}])++", listed[:_LONGEST])
    for _ in range(_MOST):
        if not waiting:
            return
        name = waiting.pop(0)
        found = re.search(r"\{([^{}]*)\}", name)
        if not found:
            yield name
            continue
        head, tail = name[: found.start()], name[found.end() :]
        waiting += [f"{head}{word.strip()}{tail}" for word in found[1].split(",")]


def _nox_sessions(module: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield the name of each session, and whether it is run with several Pythons."""
    for function in module.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for decorator in function.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not ast.unparse(call).endswith("session"):
                continue
            name = function.name
            has_pythons = False
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    name = str(keyword.value.value)
                elif keyword.arg == "python":
                    has_pythons = not isinstance(keyword.value, ast.Constant)
            if re.fullmatch(r"[\w.-]+", name):
                yield name, has_pythons


def ini_of(text: str) -> configparser.ConfigParser | None:
    """Return what an INI file says, or None if it cannot be read."""
    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):
        return None
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return parser


def toml_of(folder: Folder, name: str) -> dict[str, Any]:
    """Return what a TOML file of the folder says, or nothing if it cannot be read."""
    text = folder.read(name)
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        return {}
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
