"""Copy each tutorial's files from its page.

The environment `examples` builds, installs and tests the same files.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "plugins"
TITLED = re.compile(r"^(`{3,})\w+ title=\"([^\"]+)\"\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
EXAMPLES = Path(__file__).parents[2] / "examples"
PLUGINS = {
    "provider.md": "parrot",
    "access-tokens.md": "heron",
    "bedrock.md": "bedrock",
    "workflow.md": "explain",
    "command.md": "todo",
    "path-rule.md": "migrations",
    "log-sink.md": "ledger",
    "secrets.md": "webhook",
    "after-run.md": "pull-request",
    "own-hooks.md": "advice",
    "model-layer.md": "cache",
    "rate-limit.md": "rate-limit",
    "fallback.md": "fallback",
    "instructions.md": "conventions",
    "context.md": "branch",
    "response-format.md": "json-files",
    "acceptance-check.md": "changelog",
}

Command = Callable[..., subprocess.CompletedProcess[str]]


def copied_out(page: str, folder: Path) -> Path:
    """Write the files that a page shows with a title."""
    for _, name, text in TITLED.findall((DOCS / page).read_text("utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Return a function that runs a module outside this checkout."""

    def ran(module: str, *arguments: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        }
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command, cwd=cwd, env=environ, capture_output=True, text=True, check=False
        )

    return ran


@pytest.mark.parametrize("page", PLUGINS)
def test_the_example_matches_the_tutorial(page: str, tmp_path: Path) -> None:
    """`python tests/docs/test_tutorials.py` writes the examples."""
    shown, example = copied_out(page, tmp_path), EXAMPLES / f"code-commit-{PLUGINS[page]}"
    for folder, counterpart in ((shown, example), (example, shown)):
        for path in (
            path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ):
            assert path.read_text("utf-8") == (counterpart / path.relative_to(folder)).read_text(
                "utf-8"
            ), path


def test_the_tests_on_the_pages_pass(tmp_path: Path, run: Command) -> None:
    copied_out("testing.md", tmp_path / "tests")
    tested = run(
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "tests",
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "4 passed" in tested.stdout


@pytest.mark.slow  # mypy reads the whole host
def test_the_tutorials_pass_mypy_and_ruff(tmp_path: Path, run: Command, mypy_cache: str) -> None:
    """Readers copy the code. Runs only if mypy and ruff are installed."""
    for module in ("mypy", "ruff"):
        pytest.importorskip(module)
    folders = [copied_out(page, tmp_path / f"code-commit-{name}") for page, name in PLUGINS.items()]
    # Botocore has no types.
    options = ("--strict", "--ignore-missing-imports", "--cache-dir", mypy_cache)
    checked = run("mypy", *options, *(str(folder / "src") for folder in folders))
    assert checked.returncode == 0, checked.stdout
    for folder in folders:
        rules = ("--isolated", "--select", "E,F,I,UP,B", "--line-length", "120")
        checked = run("ruff", "check", *rules, ".", cwd=folder)
        assert checked.returncode == 0, checked.stdout


if __name__ == "__main__":
    for tutorial, plugin in PLUGINS.items():
        copied_out(tutorial, EXAMPLES / f"code-commit-{plugin}")
