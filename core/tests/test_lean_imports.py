"""What a run imports: half of the time of a short run are libraries, and much of them is never
used.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from code_commit_testing import Project, install_plugin

USED = "code_commit.models.http, code_commit.log.json_lines"


def imported(statements: str) -> set[str]:
    """The modules that a new Python has imported after `statements`."""
    code = f"{statements}\nimport sys\nprint(*sys.modules, sep='\\n')"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    return set(completed.stdout.split())


def test_libraries_come_without_what_they_bring_for_other_uses():
    loaded = imported(f"import {USED}")
    assert {"httpx", "structlog"} <= loaded
    assert not {"rich", "click", "pygments", "asyncio"} & loaded


def test_prices_come_without_a_second_http_library():
    loaded = imported(
        "from code_commit.plugin_api import Usage, cost_of\nassert cost_of('gpt-5', Usage(1, 1))"
    )
    assert "genai_prices" in loaded
    assert not {"httpx", "httpx2", "asyncio"} & loaded


@pytest.mark.slow
def test_what_was_left_out_can_be_imported_afterwards():
    more = "asyncio, rich.console, structlog.stdlib"
    statements = f"import {USED}, {more}\nassert structlog.stdlib.asyncio.sleep is asyncio.sleep"
    assert {"asyncio", "rich.console", "httpx"} <= imported(statements)


@pytest.mark.slow
def test_what_somebody_has_imported_before_is_left_alone():
    imported(f"import rich.console, {USED}, structlog.dev\nassert structlog.dev.rich is rich")


@pytest.mark.slow
def test_python_m_imports_nothing_from_the_project(tmp_path):
    project = Project.create(tmp_path)
    project.write({"pluggy.py": "raise SystemExit('imported')"})
    install_plugin(project.root, "mine", "raise SystemExit('imported')")
    command = [sys.executable, "-m", "code_commit", "plugins"]
    completed = subprocess.run(
        command,
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        completed.returncode,
        "mine" in completed.stdout,
        "imported" in completed.stdout + completed.stderr,
    ) == (
        0,
        False,
        False,
    )
