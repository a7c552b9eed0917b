"""`code-commit plugins new` creates plugins of every kind that are sound, tested, typed and formatted."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from code_commit_testing.scaffold import KINDS

NAMES = [f"my-{kind}" for kind in KINDS]


def run(python: Path | str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run([python, *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def environment(folder: Path, *, pip: bool = False) -> tuple[Path, Path]:
    """Create an environment with the packages of this one; return its Python and its folder of packages."""
    venv.create(folder, symlinks=True, with_pip=pip)
    [packages] = folder.glob("lib/python*/site-packages")
    ours = [path for path in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")) if path]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in dict.fromkeys(ours))
    (packages / "ours.pth").write_text(lines, "utf-8")
    return folder / "bin" / "python", packages


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a new plugin of every kind."""
    folder = tmp_path_factory.mktemp("plugins")
    for kind in KINDS:
        arguments = ("plugins", "new", f"my-{kind}", "--kind", kind, "--folder", str(folder))
        done = run(sys.executable, "-m", "code_commit", *arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def python(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment in which the plugins are installed."""
    python, packages = environment(tmp_path_factory.mktemp("environment"))
    for name in NAMES:
        project = tomllib.loads((created / f"code-commit-{name}/pyproject.toml").read_text("utf-8"))["project"]
        info = packages / f"code_commit_{name.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir()
        required = "".join(f"Requires-Dist: {each}\n" for each in project["dependencies"])
        metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n{required}"
        (info / "METADATA").write_text(metadata, "utf-8")
        [(group, entries)] = project["entry-points"].items()
        lines = [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    sources = "".join(f"{created}/code-commit-{name}/src\n" for name in NAMES)
    (packages / "created.pth").write_text(sources, "utf-8")
    return python


def test_their_tests_pass(created: Path, python: Path) -> None:
    folders = [str(created / f"code-commit-{name}/tests") for name in NAMES]
    options = ("-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(created))
    tested = run(python, "-m", "pytest", *options, *folders, cwd=created)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert " passed" in tested.stdout


def test_the_doctor_finds_nothing(created: Path, python: Path) -> None:
    examined = run(python, "-m", "code_commit", "plugins", "doctor", cwd=created)
    assert examined.returncode == 0, examined.stdout
    assert all(f"code-commit-{name} " in examined.stdout for name in NAMES)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ruff", "check", "--isolated", "--select", "E,F,I,UP,B,N,RUF", "--line-length", "120"),
        ("ruff", "check"),
        ("ruff", "format", "--check"),
        ("mypy", "--strict", "--cache-dir", "../cache"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_the_tools_of_authors_find_nothing(created: Path, arguments: tuple[str, ...]) -> None:
    pytest.importorskip(arguments[0])
    for name in NAMES:
        checked = run(sys.executable, "-m", *arguments, "src", "tests", cwd=created / f"code-commit-{name}")
        assert checked.returncode == 0, checked.stdout


def test_pip_installs_them(created: Path, tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds them; the environment `docs` has it")
    python, _ = environment(tmp_path / "environment", pip=True)
    folders = [str(created / f"code-commit-{name}") for name in NAMES]
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    installed = run(python, "-m", "pip", "install", *options, *folders, cwd=tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    listed = run(python, "-m", "code_commit", "plugins", "--json", cwd=tmp_path)
    assert all(f'"{name}"' in listed.stdout for name in NAMES), listed.stdout
