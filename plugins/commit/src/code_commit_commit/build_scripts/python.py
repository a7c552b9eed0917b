"""Python: the project's own interpreter, and pytest, unittest or Django's tests."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import PurePosixPath
from typing import Any

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part, if_tests

_MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements*.txt",
    "Pipfile",
    "manage.py",
)
_TESTS = ("test_*.py", "*_test.py", "tests.py", "test.py")
_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Pipfile")
_EXTRAS = ("test", "tests", "testing", "dev")
_MOST_READ = 300  # test files
# unittest runs none of these: a plain function, a class without a base, anything that pytest marks.
_PLAIN_TEST = r"^(?:async )?def test|^class Test\w*(?:\(\))?:|^(?:import|from) pytest\b"
_MANAGERS = {  # by lock file: the program, and what installs the project with it
    "uv.lock": ("uv", "uv sync"),
    # In the project: a sandbox hides the folder of environments in the user's cache.
    "poetry.lock": (
        "poetry",
        "poetry config --local virtualenvs.in-project true && poetry install --all-extras",
    ),
    "pdm.lock": ("pdm", "pdm install"),
    "Pipfile.lock": ("pipenv", "pipenv install --dev"),
}

_COMPILE = """\
# Compiled files stay out of the project. Its own code is compiled again each time, \
so that no file is stale.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${XDG_CACHE_HOME:-$HOME/.cache}/code-commit/python"
rm -rf "$PYTHONPYCACHEPREFIX$(pwd -P)"/[!.]*
$python -m compileall -q -x '/(\\.[^/]*|venv|node_modules|tests?)/' .
"""
_UNITTEST = "run_tests '^Ran [1-9]' $python"
_PYTEST = """\
if ! $python -c 'import pytest' 2>/dev/null; then
{other_runner}  fail "$python has no pytest. Install the project with its tests: {install}"
fi
$python -m pytest"""
_PYTEST_OR_UNITTEST = f"""\
if $python -c 'import pytest' 2>/dev/null; then
    $python -m pytest
  else
    {_UNITTEST} -m unittest discover
  fi"""


def python(folder: Folder) -> Part | None:
    """Return how to build a Python project, or None if the folder has no file of one."""
    return _part(folder) if folder.has(*_MANIFESTS) else None


def python_scripts(folder: Folder) -> Part | None:
    """Return how to build a folder of Python files without a manifest."""
    return _part(folder) if folder.has("*.py") else None


def _part(folder: Folder) -> Part:
    manager = next((_MANAGERS[name] for name in _MANAGERS if folder.has(name)), None)
    environment = next(
        (name for name in (".venv", "venv", "env") if folder.exists(f"{name}/bin/python")), ".venv"
    )
    install = _install(folder, manager, environment)
    interpreter = _interpreter(folder, manager, environment)
    return Part(
        "Python",
        commands=f"{interpreter}\n{_COMPILE}\n{_tests(folder, install)}",
        leaves=(f"{environment}/",) if folder.exists(environment) else (),
        install=install,
    )


def _interpreter(folder: Folder, manager: tuple[str, str] | None, environment: str) -> str:
    """Return commands that set `python`, which the script expands without quotes."""
    if manager:
        program = manager[0]
        return (
            f"python={environment}/bin/python\n"
            f"if command -v {program} >/dev/null; then\n"
            f'  python="{program} run python"\n'
            'elif [ ! -x "$python" ]; then\n'
            f'  fail "the project uses {program}, which is not installed"\n'
            "fi\n"
        )
    places = [
        f"{'../' * up}{environment}/bin/python"
        for up in range(len(PurePosixPath(folder.path).parts) + 1)
    ]
    own = "".join(f"[ ! -x {place} ] || python={place}\n" for place in reversed(places))
    return f'python=python3\n{own}need "$python"\n'


def _tests(folder: Folder, install: str) -> str:
    tests = folder.named(*_TESTS)
    patterns = [f"*/{name}" for name in _TESTS]
    if _uses_pytest(folder, tests):
        run = _PYTEST.format(other_runner=_other_runner(folder), install=_quoted(install))
        return f"{run}\n" if tests else f"{run} || [ $? -eq 5 ] # 5: there are no tests yet\n"
    if folder.has("manage.py"):
        run = f"{_UNITTEST} manage.py test"
        return f"{run}\n" if tests else if_tests(patterns, run)
    source = ""
    if _has_sources(folder):
        source = 'export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}"\n'
    if not tests:
        return source + if_tests(patterns, _PYTEST_OR_UNITTEST)
    discover = f"{_UNITTEST} -m unittest discover"
    options = sorted({_options(folder, path) for path in tests})
    return source + "".join(f"{discover}{option}\n" for option in options)


def _uses_pytest(folder: Folder, tests: list[str]) -> bool:
    if folder.has("pytest.ini", "pytest.toml", "conftest.py") or folder.named("conftest.py"):
        return True
    requirements = folder.named("requirements*.txt", "*-requirements.txt")
    if folder.mentions(r"\bpytest\b", *_SETTINGS, *requirements):
        return True
    return folder.mentions(_PLAIN_TEST, *tests[:_MOST_READ])


def _other_runner(folder: Folder) -> str:
    """Return commands that run the tests with tox or nox, which make their own environment."""
    runners = {
        "tox": ("tox run -e py", folder.has("tox.ini", "tox.toml")),
        "nox": ("nox", folder.has("noxfile.py")),
    }
    return "".join(
        f"  if command -v {name} >/dev/null; then exec {command}; fi\n"
        for name, (command, used) in runners.items()
        if used
    )


def _has_sources(folder: Folder) -> bool:
    return any(path.startswith("src/") and path.endswith(".py") for path in folder.paths)


def _options(folder: Folder, test: str) -> str:
    """Return the options with which unittest finds a test.

    It starts above the packages that contain the test.
    """
    start = PurePosixPath(test).parent
    while str(start) != "." and f"{start}/__init__.py" in folder.paths:
        start = start.parent
    options = "" if str(start) == "." else f" --start-directory {start}"
    if not PurePosixPath(test).name.startswith("test"):
        options += " --pattern '*_test.py'"
    return options


def _install(folder: Folder, manager: tuple[str, str] | None, environment: str) -> str:
    """Return the command that installs the project and the requirements of its tests."""
    extra, group = _test_requirements(folder)
    if manager:
        program, command = manager
        if program == "uv" and extra:
            return f"{command} --extra {extra}"
        if program == "uv" and group not in {"", "dev"}:
            return f"{command} --group {group}"
        return command
    command = f"python3 -m venv {environment} && {environment}/bin/pip install"
    is_package = folder.has("setup.py", "setup.cfg", "pyproject.toml")
    if is_package:
        command += f" -e '.[{extra}]'" if extra else " -e ."
    if extra:
        return command
    if group:
        return f"{command} --group {group}"
    files = folder.named("*requirements*.txt")
    files += [path for path in folder.paths if path.startswith("requirements/")]
    if is_package:
        files = [path for path in files if re.search(r"test|dev", path)]
    return command + ("".join(f" -r {path}" for path in files[:3]) or " pytest")


def _test_requirements(folder: Folder) -> tuple[str, str]:
    """Return the extra and the dependency group for tests, "" where there is none."""
    try:
        pyproject: dict[str, Any] = tomllib.loads(folder.read("pyproject.toml"))
    except tomllib.TOMLDecodeError:
        pyproject = {}
    extras = set(pyproject.get("project", {}).get("optional-dependencies", {}))
    groups = set(pyproject.get("dependency-groups", {}))
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(folder.read("setup.cfg"))
        extras |= set(parser["options.extras_require"])
    except (configparser.Error, KeyError):
        pass
    extra = next((name for name in _EXTRAS if name in extras), "")
    group = next((name for name in _EXTRAS if name in groups), "")
    return extra, group


def _quoted(command: str) -> str:
    """Return `command` for a shell string in double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", command)
