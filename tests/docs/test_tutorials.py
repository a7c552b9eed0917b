"""Copy each tutorial's files from its page, build them, install them into a new environment, test and list them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling builds the tutorials' distributions; the environment `docs` has it")

DOCS = Path(__file__).parents[2] / "docs" / "plugins"
TITLED = re.compile(r"^(`{3,})\w+ title=\"([^\"]+)\"\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
EXAMPLES = Path(__file__).parents[2] / "examples"
PLUGINS = {
    "provider.md": "parrot",
    "workflow.md": "explain",
    "command.md": "todo",
    "path-rule.md": "migrations",
    "log-sink.md": "ledger",
    "secrets.md": "webhook",
    "after-run.md": "pull-request",
    "own-hooks.md": "advice",
    "model-layer.md": "cache",
    "rate-limit.md": "rate-limit",
}

Command = Callable[..., subprocess.CompletedProcess[str]]


def copied_out(page: str, folder: Path) -> Path:
    """Write the files that a page shows with a title."""
    for _, name, text in TITLED.findall((DOCS / page).read_text("utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def python_with(wheel: Path | None, folder: Path) -> Path:
    """Create an environment with the packages of this one, and with `wheel` as an installer installs it."""
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    ours = [path for path in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")) if path]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in dict.fromkeys(ours))
    (packages / "ours.pth").write_text(lines, "utf-8")
    if wheel:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    return folder / "bin" / "python"


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Return a function that runs Python outside this checkout."""

    def ran(python: Path | str, *arguments: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return subprocess.run([python, *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=False)

    return ran


@pytest.mark.parametrize("page", PLUGINS)
def test_a_tutorial_is_a_working_plugin(page: str, tmp_path: Path, run: Command) -> None:
    name = PLUGINS[page]
    source = copied_out(page, tmp_path / f"code-commit-{name}")
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    python = python_with(wheel, tmp_path / "venv")

    listed = run(python, "-m", "code_commit", "plugins", "--json")
    document = json.loads(listed.stdout)
    assert document["failures"] == []
    assert (name, f"code-commit-{name}") in [(each["name"], each["distribution"]) for each in document["plugins"]]

    tested = run(python, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "tests", cwd=source)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert " passed" in tested.stdout


@pytest.mark.parametrize("page", PLUGINS)
def test_the_example_matches_the_tutorial(page: str, tmp_path: Path) -> None:
    """`python tests/docs/test_tutorials.py` writes the examples."""
    shown, kept = copied_out(page, tmp_path), EXAMPLES / f"code-commit-{PLUGINS[page]}"
    for folder, other in ((shown, kept), (kept, shown)):
        for path in (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            assert path.read_text("utf-8") == (other / path.relative_to(folder)).read_text("utf-8"), path


def test_the_provider_of_the_tutorial_is_listed_with_its_models(tmp_path: Path, run: Command) -> None:
    source = copied_out("provider.md", tmp_path / "code-commit-parrot")
    assert (
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source).returncode == 0
    )
    python = python_with(next(tmp_path.glob("*.whl")), tmp_path / "venv")
    models = json.loads(run(python, "-m", "code_commit", "models", "--json").stdout)["models"]
    assert [(row["model"], row["aliases"]) for row in models if row["provider"] == "parrot"] == [
        ("parrot-large", ["parrot"]),
        ("parrot-small", []),
    ]


def test_the_tests_on_the_pages_pass(tmp_path: Path, run: Command) -> None:
    copied_out("testing.md", tmp_path / "tests")
    tested = run(
        python_with(None, tmp_path / "venv"), "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "tests"
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "3 passed" in tested.stdout


def test_a_tutorial_passes_mypy_and_ruff(tmp_path: Path, run: Command) -> None:
    """Readers copy the code. Runs only if mypy and ruff are installed."""
    for module in ("mypy", "ruff"):
        pytest.importorskip(module)
    for page, name in PLUGINS.items():
        source = copied_out(page, tmp_path / f"code-commit-{name}")
        checked = run(
            sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "src", cwd=source
        )
        assert checked.returncode == 0, checked.stdout
        checked = run(
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--select",
            "E,F,I,UP,B",
            "--line-length",
            "120",
            ".",
            cwd=source,
        )
        assert checked.returncode == 0, checked.stdout


if __name__ == "__main__":
    for each, plugin in PLUGINS.items():
        copied_out(each, EXAMPLES / f"code-commit-{plugin}")
