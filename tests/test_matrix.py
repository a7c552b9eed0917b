"""The environments of tox: each one tests something, and each set of the pages has one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("tox", reason="tox reads tox.ini; the environment `py-all` has it")

ROOT = Path(__file__).parents[1]
PLUGINS = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
INSTALLS = re.compile(r"(?:pip|uv tool) install \"\.\[([\w,]+)\]\"")


def sets_of(page: Path) -> list[str]:
    """Return the extras that a page installs, as the names of environments."""
    extras = set(INSTALLS.findall(page.read_text("utf-8"))) - {"testing"}  # which is `py-core`
    return [f"py-{names.replace(',', '-')}" for names in sorted(extras)]


PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]
SETS = sorted({name for page in PAGES for name in sets_of(page)})


@cache
def commands(environments: str) -> dict[str, list[str]]:
    """Return the commands of environments, as tox reads them."""
    command = [sys.executable, "-m", "tox", "config", "--format", "json", "-k", "commands"]
    completed = subprocess.run(
        [*command, "-e", environments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    environment = json.loads(completed.stdout)["env"]
    return {name: settings["commands"] for name, settings in environment.items()}


def test_each_environment_has_a_command() -> None:
    assert [name for name, lines in commands("ALL").items() if not lines] == []


def test_each_plugin_is_in_a_set_of_the_current_python() -> None:
    names = [name for name in commands("ALL") if name.startswith("py-")]
    assert {word for name in names for word in name.split("-")} > PLUGINS


def test_the_sets_of_the_readme_are_in_the_matrix() -> None:
    assert set(sets_of(ROOT / "README.md")) <= commands("ALL").keys()


@pytest.mark.parametrize("name", SETS)
def test_an_environment_tests_each_plugin_of_its_name(name: str) -> None:
    [line] = commands(",".join(SETS))[name]
    plugins = PLUGINS.intersection(name.split("-"))
    tests = {f"plugins/{plugin}/tests" for plugin in plugins} or {"tests"}
    assert tests <= set(line.split())
