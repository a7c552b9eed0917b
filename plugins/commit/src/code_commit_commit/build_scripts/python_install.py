"""The environment of a Python project: its interpreter, and what installs the project in it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.pipelines import Pipeline
from code_commit_commit.build_scripts.python_runners import ini_of, toml_of

_PLACES = (".venv", "venv", "env")
_OWN_RULES = ("GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile")
_ACTIVATED = re.compile(r"(?:\.|source) (?:\./)?([\w.-]+)/bin/activate\b")
_EXTRAS = ("test", "tests", "testing", "dev")
_IN_PROJECT = "POETRY_VIRTUALENVS_IN_PROJECT=true"  # a sandbox hides the user's cache
# By lock file: the program, and what installs the project with it.
_MANAGERS = {
    "uv.lock": ("uv", "uv sync"),
    "poetry.lock": ("poetry", f"{_IN_PROJECT} poetry install --all-extras"),
    "pdm.lock": ("pdm", "pdm install"),
    "Pipfile.lock": ("pipenv", "PIPENV_VENV_IN_PROJECT=1 pipenv install --dev"),
}
# Of the whole project, not of the templates and examples in it.
_REQUIREMENTS = re.compile(
    r"(?:(?:requirements|tests?)/)?(?=[\w.-]*requirements)[\w.-]*\.txt|requirements/[\w.-]+\.txt"
)


@dataclass(frozen=True, slots=True)
class Environment:
    """Parts of a script, and the command that makes the environment.

    `setup` sets `python`, which the script expands without quotes, and finds the programs of the
    environment. `reinstall` builds the compiled code of the package again.
    """

    setup: str
    install: str
    reinstall: str
    leaves: tuple[str, ...]


def environment_of(folder: Folder, pipeline: Pipeline, runner: str) -> Environment:
    """Return the environment of the project in a folder; `runner` is tox, nox or ""."""
    manager = next((_MANAGERS[name] for name in _MANAGERS if folder.has(name)), None)
    place = _place(folder)
    if manager and runner and runner not in folder.read("uv.lock"):
        install = _pip_install(place, runner)
    elif manager:
        install = _manager_install(folder, *manager)
    elif runner:
        install = _pip_install(place, runner)
    else:
        install = _pip_install(place, _requirements(folder, pipeline))
    return Environment(
        setup=_setup(folder, manager[0] if manager else "", place),
        install=install,
        reinstall=_reinstall(folder, manager, place, install),
        leaves=(f"{place}/",),
    )


def _place(folder: Folder) -> str:
    """Return the folder of the environment: one that is there, or that the project activates."""
    for name in _PLACES:
        if folder.exists(f"{name}/bin/python"):
            return name
    for file in _OWN_RULES:
        if activated := _ACTIVATED.search(folder.read(file)):
            return activated[1]
    return _PLACES[0]


def _setup(folder: Folder, manager: str, place: str) -> str:
    interpreter = _interpreter(folder, manager, place)
    interpreter += f'export PATH="$PWD/{place}/bin:$PATH"\n'
    if version := _oldest_python(folder):
        major, minor = version
        interpreter += (
            f"is_old='sys.version_info < ({major}, {minor})'\n"
            '$python -c "import sys; sys.exit(3 * ($is_old))" || {\n'
            f'  [ $? -ne 3 ] || fail "the project needs Python {major}.{minor}, $python is older"\n'
            "  exit 1\n"
            "}\n"
        )
    return interpreter


def _interpreter(folder: Folder, manager: str, place: str) -> str:
    if manager:
        all_packages = ""
        if _is_uv_workspace(folder):
            all_packages = " --all-packages"
        return (
            f"python={place}/bin/python\n"
            f"if command -v {manager} >/dev/null; then\n"
            f'  python="{manager} run{all_packages} python"\n'
            'elif [ ! -x "$python" ]; then\n'
            f'  fail "the project uses {manager}, which is not installed"\n'
            "fi\n"
        )
    places = [
        f"{'../' * up}{place}/bin/python" for up in range(len(PurePosixPath(folder.path).parts) + 1)
    ]
    own = "".join(f"[ ! -x {path} ] || python={path}\n" for path in reversed(places))
    return f'python=python3\n{own}need "$python"\n'


def _oldest_python(folder: Folder) -> tuple[int, int] | None:
    project = toml_of(folder, "pyproject.toml").get("project")
    wanted = project.get("requires-python") if isinstance(project, dict) else None
    found = re.search(r"(?:>=|~=)\s*3\.(\d{1,2})\b", str(wanted))
    return (3, int(found[1])) if found else None


def _is_uv_workspace(folder: Folder) -> bool:
    return folder.has("uv.lock") and folder.mentions(r"^\[tool\.uv\.workspace\]", "pyproject.toml")


def _manager_install(folder: Folder, program: str, command: str) -> str:
    extra, group = _test_requirements(folder)
    if program != "uv":
        return command
    if _is_uv_workspace(folder):
        command += " --all-packages"
    if extra:
        return f"{command} --extra {extra}"
    if group not in {"", "dev"}:
        return f"{command} --group {group}"
    return command


def _pip_install(place: str, requirements: str) -> str:
    command = f"python3 -m venv {place} && {place}/bin/pip install"
    if "--group" in requirements:  # pip knows groups since 25.1
        command += f" --upgrade pip && {place}/bin/pip install"
    return f"{command} {requirements}"


def _requirements(folder: Folder, pipeline: Pipeline) -> str:
    """Return what pip installs: what the pipeline says, or what the project's files name."""
    if not folder.path and (arguments := _existing(folder, pipeline.pip_arguments())):
        return arguments
    extra, group = _test_requirements(folder)
    is_package = folder.has("setup.py", "setup.cfg") or folder.mentions(
        r"^\[(project|build-system)\]", "pyproject.toml"
    )
    words = []
    if is_package:
        words.append(f"-e '.[{extra}]'" if extra else "-e .")
    if extra:
        return words[0]
    if group:
        return " ".join([*words, f"--group {group}"])
    files = [path for path in folder.paths if _REQUIREMENTS.fullmatch(path)]
    if is_package:
        files = [path for path in files if re.search(r"test|dev", path)]
    words += [f"-r {path}" for path in _most_complete(files)]
    if words and (len(words) > 1 or not is_package):
        return " ".join(words)
    return " ".join([*words, "django" if folder.has("manage.py") else "pytest"])


def _existing(folder: Folder, arguments: str) -> str:
    """Return the arguments of pip, or "" if one is a file that is not there."""
    words = shlex.split(arguments)
    files = [file for flag, file in pairwise(words) if flag == "-r"]
    files += [word for word in words if word.endswith(".txt")]
    needs_project = any(word == "." or word.startswith(".[") for word in words)
    if not needs_project and not files:
        return ""  # only tools
    if any(file not in folder.paths for file in files):
        return ""
    return arguments


def _most_complete(files: list[str]) -> list[str]:
    """Return the requirements of tests and development, or else all of the first few files."""
    return [path for path in files if re.search(r"test|dev", path)][:1] or files[:3]


def _test_requirements(folder: Folder) -> tuple[str, str]:
    """Return the extra and the dependency group for tests, "" where there is none."""
    pyproject = toml_of(folder, "pyproject.toml")
    project = pyproject.get("project")
    extras: set[str] = set()
    if isinstance(project, dict):
        extras |= set(project.get("optional-dependencies") or ())
    groups = set(pyproject.get("dependency-groups") or ())
    setup = ini_of(folder.read("setup.cfg"))
    if setup and setup.has_section("options.extras_require"):
        extras |= set(setup["options.extras_require"])
    extra = next((name for name in _EXTRAS if name in extras), "")
    group = next((name for name in _EXTRAS if name in groups), "")
    return extra, group


def _reinstall(
    folder: Folder,
    manager: tuple[str, str] | None,
    place: str,
    install: str,
) -> str:
    """Return what compiles the package's code again, in an environment of its own, or ""."""
    if manager is None:
        return (
            f"[ -x {place}/bin/python ] ||\n"
            f'  fail "the package compiles code in an environment of its own: {install}"\n'
            "$python -m pip install --quiet --no-deps --editable ."
        )
    project = toml_of(folder, "pyproject.toml").get("project")
    name = project.get("name") if isinstance(project, dict) else None
    if manager[0] == "uv" and isinstance(name, str) and re.fullmatch(r"[\w.-]+", name):
        return f"uv sync --inexact --reinstall-package {name}"
    return ""
