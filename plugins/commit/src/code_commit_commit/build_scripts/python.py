"""Python: the project's own interpreter, and tox, nox, pytest, unittest or Django's tests."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.own_commands import OwnCommand, checked
from code_commit_commit.build_scripts.part import NO_TESTS, Part, if_tests
from code_commit_commit.build_scripts.pipelines import Pipeline
from code_commit_commit.build_scripts.python_install import Environment, environment_of
from code_commit_commit.build_scripts.python_runners import nox_command, toml_of, tox_command

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
_MOST_READ = 300  # test files
# unittest runs none of these: a plain function, a class without a base, anything that pytest marks.
_PLAIN_TEST = r"^(?:async )?def test|^class Test\w*(?:\(\))?:|^(?:import|from) pytest\b"
_COMPILE = """\
# Compiled files stay out of the project. Its own code is compiled again each time, \
so that no file is stale.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${XDG_CACHE_HOME:-$HOME/.cache}/code-commit/python"
rm -rf "$PYTHONPYCACHEPREFIX$(pwd -P)"/[!.]*
$python -m compileall -q -x '/(\\.[^/]*|venv|node_modules|tests?)/' .
"""
_UNITTEST = "run_tests '^Ran [1-9]' $python"
_NO_PYTEST = """\
if ! $python -c 'import pytest' 2>/dev/null; then
  fail "$python has no pytest. Install the project with its tests: {install}"
fi
"""
_PYTEST_OR_UNITTEST = f"""\
if $python -c 'import pytest' 2>/dev/null; then
    $python -m pytest
  else
    {_UNITTEST} -m unittest discover
  fi"""
_DJANGO = """\
$python -c 'import django' || fail "$python has no Django. Install the project: {install}"
$python manage.py check
"""
_COVERAGE = """\
# The tests from before do not know new code, so that no limit of coverage holds for them.
[ -z "${CODE_COMMIT_TESTS_OF_BEFORE:-}" ] || \
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} --cov-fail-under=0"
"""
_HAS_TESTS = r"^[ \t]*(async )?def test|^class Test"
# What compiles C, C++ or Rust as a part of the package.
_NATIVE = re.compile(r"scikit_build_core|mesonpy|maturin|py_build_cmake|setuptools_rust")
_EXTENSIONS = r"\b(Extension|ext_modules|cffi_modules|RustExtension|CMakeExtension)\b"


def python(folder: Folder, pipeline: Pipeline, own: OwnCommand | None) -> Part | None:
    """Return how to build a Python project, or None if the folder has no file of one."""
    return _part(folder, pipeline, own) if folder.has(*_MANIFESTS) else None


def python_scripts(folder: Folder, pipeline: Pipeline) -> Part | None:
    """Return how to build a folder of Python files without a manifest."""
    return _part(folder, pipeline) if folder.has("*.py") else None


def _part(folder: Folder, pipeline: Pipeline, own: OwnCommand | None = None) -> Part:
    runner = tox_command(folder) or nox_command(folder)
    tests = pipeline.tests("Python") if not folder.path else ""
    program = runner.partition(" ")[0]
    if own and "Python" in own.families and program not in own.text:
        program = ""
    environment = environment_of(folder, pipeline, program)
    setup = environment.setup
    if _has_coverage_limit(folder):
        setup += _COVERAGE
    commands = _COMPILE
    families = ["Python"]
    if _is_native(folder) and environment.reinstall:
        commands += f"{environment.reinstall}\n"
        families += ["C", "Rust"]
    return Part(
        "Python",
        commands=f"{commands}\n{_tests(folder, environment, runner, tests)}",
        leaves=environment.leaves,
        install=environment.install,
        families=tuple(families),
        setup=f"{setup}\n",
    )


def _is_native(folder: Folder) -> bool:
    """Return whether the package has compiled code, which its installation builds."""
    backend = toml_of(folder, "pyproject.toml").get("build-system")
    if isinstance(backend, dict) and _NATIVE.search(str(backend)):
        return True
    return folder.mentions(_EXTENSIONS, "setup.py", "pyproject.toml")


def _has_coverage_limit(folder: Folder) -> bool:
    files = ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "pytest.toml", ".coveragerc")
    if folder.mentions(r"--cov-fail-under", *files):
        return True
    return folder.mentions(r"^[ \t]*fail_under\s*=", *files) and folder.mentions(r"--cov\b", *files)


def _tests(folder: Folder, environment: Environment, runner: str, tests: str) -> str:
    files = [path for path in folder.named(*_TESTS) if folder.mentions(_HAS_TESTS, path)]
    own = runner or tests
    if not own:
        return _usual_tests(folder, environment, files)
    if files:
        own = checked(own, "Python")
    else:
        patterns = [f"*/{name}" for name in _TESTS]
        own = if_tests(patterns, checked(own, "Python"), own, containing="def test").rstrip("\n")
    if not runner:
        return f"{own}\n"
    # Where the tools are missing, an environment with pytest is as good.
    program = runner.partition(" ")[0]
    usual = _NO_PYTEST.format(install=_quoted(environment.install)) + "$python -m pytest\n"
    usual = "".join(f"  {line}\n" for line in usual.splitlines())
    return f"if command -v {program} >/dev/null; then\n  {own}\nelse\n{usual}fi\n"


def _usual_tests(folder: Folder, environment: Environment, tests: list[str]) -> str:
    """Return commands that run pytest, Django's tests or unittest, whatever the project uses."""
    patterns = [f"*/{name}" for name in _TESTS]
    install = _quoted(environment.install)
    if _uses_pytest(folder, tests):
        run = f"{_NO_PYTEST.format(install=install)}$python -m pytest"
        if tests:
            return f"{run}\n"
        return f"{run} || {{\n  [ $? -eq 5 ] # no test ran\n  {NO_TESTS}\n}}\n"
    if folder.has("manage.py"):
        run = f"{_UNITTEST} manage.py test"
        if not tests:
            run = if_tests(patterns, run, containing="def test").rstrip("\n")
        return f"{_DJANGO.format(install=install)}{run}\n"
    source = ""
    if _has_sources(folder):
        source = 'export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}"\n'
    if not tests:
        return source + if_tests(patterns, _PYTEST_OR_UNITTEST, containing="def test")
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


def _has_sources(folder: Folder) -> bool:
    return any(path.startswith("src/") and path.endswith(".py") for path in folder.paths)


def _options(folder: Folder, test: str) -> str:
    """Return the options with which unittest finds a test.

    It starts above the packages that contain the test.
    """
    start = PurePosixPath(test).parent
    while str(start) != "." and f"{start}/__init__.py" in folder.paths:
        start = start.parent
    options = "" if str(start) == "." else f" --start-directory {shlex.quote(str(start))}"
    if not PurePosixPath(test).name.startswith("test"):
        options += " --pattern '*_test.py'"
    return options


def _quoted(command: str) -> str:
    """Return `command` for a shell string in double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", command)
