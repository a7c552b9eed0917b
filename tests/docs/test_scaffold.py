"""`code-commit plugins new` creates plugins of every kind that are sound, tested, typed and
formatted.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from code_commit_testing import Project
from code_commit_testing.scaffold import KINDS, rendered

NAMES = [f"my-{kind}" for kind in KINDS]
ODD_NAMES = ["a", "none", "path", "words", "x" * 30]  # short, long, or like a name in the templates


def run(python: Path | str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [python, *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a new plugin of every kind."""
    folder, project = (
        tmp_path_factory.mktemp("plugins"),
        Project.create(tmp_path_factory.mktemp("elsewhere")),
    )
    for kind in KINDS:
        finished = project.command(
            "plugins", "new", f"my-{kind}", "--kind", kind, "--folder", str(folder), cwd=folder
        )
        assert finished.exit_code == 0, finished.stderr
    return folder


# Builds the wheel of each folder: one process, because each start costs more than a build.
BUILD = """
import os, sys
from hatchling.build import build_wheel
for folder in sys.argv[2:]:
    os.chdir(folder)
    build_wheel(sys.argv[1])
"""


@pytest.fixture(scope="module")
def python(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the packages of this one, in which the plugins are
    installed.
    """
    pytest.importorskip("hatchling", reason="hatchling builds them; the environment `docs` has it")
    wheels, environment = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment")
    built = run(sys.executable, "-c", BUILD, str(wheels), *map(str, created.iterdir()), cwd=created)
    assert built.returncode == 0, built.stderr
    venv.create(environment, symlinks=True)
    [packages] = environment.glob("lib/python*/site-packages")
    for wheel in wheels.iterdir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    library_folders = dict.fromkeys(sysconfig.get_path(scheme) for scheme in ("purelib", "platlib"))
    (packages / "ours.pth").write_text(
        "".join(f"import site; site.addsitedir({scheme!r})\n" for scheme in library_folders),
        "utf-8",
    )
    return environment / "bin" / "python"


def test_their_tests_pass(created: Path, python: Path) -> None:
    folders = [str(created / f"code-commit-{name}/tests") for name in NAMES]
    options = (
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "--rootdir",
        str(created),
    )
    tested = run(python, "-m", "pytest", *options, *folders, cwd=created)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert " passed" in tested.stdout


def test_the_doctor_finds_nothing(created: Path, python: Path) -> None:
    examined = run(python, "-m", "code_commit", "plugins", "doctor", cwd=created)
    assert examined.returncode == 0, examined.stdout
    assert all(f"code-commit-{name} " in examined.stdout for name in NAMES)
    listed = run(python, "-m", "code_commit", "plugins", "--json", cwd=created)
    assert all(f'"{name}"' in listed.stdout for name in NAMES), listed.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("ruff", "check", "--isolated", "--select", "E,F,I,UP,B,N,RUF", "--line-length", "120"),
        ("ruff", "check"),
        ("ruff", "format", "--check"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_ruff_finds_nothing(created: Path, arguments: tuple[str, ...]) -> None:
    pytest.importorskip("ruff")
    for name in NAMES:
        checked = run(
            sys.executable, "-m", *arguments, "src", "tests", cwd=created / f"code-commit-{name}"
        )
        assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_odd_names_are_sound_too(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    pytest.importorskip("ruff")
    for name, kind in itertools.product(ODD_NAMES, KINDS):
        for path, text in rendered(name, kind):
            file = tmp_path / f"{name}-{kind}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    checked = run(sys.executable, "-m", "ruff", *arguments, "--no-cache", ".", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow  # mypy reads the whole host
def test_mypy_finds_nothing(created: Path, mypy_cache: str) -> None:
    pytest.importorskip("mypy")
    folders = [f"code-commit-{name}/{part}" for name in NAMES for part in ("src", "tests")]
    checked = run(
        sys.executable, "-m", "mypy", "--strict", "--cache-dir", mypy_cache, *folders, cwd=created
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(("kind", "failed"), [("rule", 2), ("layer", 1), ("sink", 2)])
def test_a_test_that_fails_shows_the_words_of_the_run(
    created: Path, kind: str, failed: int
) -> None:
    folder = created / f"code-commit-my-{kind}"
    # Where the plugin is not installed.
    environ = {"PYTHONPATH": str(folder / "src"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    completed = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    words = f"AssertionError: error: agent-config/config.toml: there is no plugin 'my-{kind}'\n"
    assert (completed.returncode, completed.stdout.count(words)) == (1, failed), completed.stdout
