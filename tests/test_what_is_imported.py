"""Commands import what they need, and a run imports before its call what the call needs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("testing", "commit", "history", "openai", "acceptance")
pytestmark = pytest.mark.skipif(
    any(find_spec(f"code_commit_{name}") is None for name in NEEDED),
    reason="the default workflow is not installed",
)

# What only the work after a call needs, or nothing at all.
LATER = {
    "asyncio",
    "code_commit_acceptance.languages",
    "code_commit_acceptance.signals",
    "genai_prices",
    "jinja2",
    "prompt_toolkit",
    "pydantic_settings",
    "pygments",
    "rich.console",
}
# What only a workflow needs.
OF_RUNS = LATER | {
    "code_commit.models.http",
    "code_commit.plugin_api.event",
    "code_commit.run.session",
    "code_commit_commit.attempts",
    "httpx",
    "structlog",
}


# What only checks and changes of the project need.
OF_CHANGES = {"code_commit_workspace.store", "code_commit_workspace.git"}


def modules_in(trace: str) -> set[str]:
    """Return the modules that `-X importtime` names."""
    return set(re.findall(r"^import time:.* ([\w.]+)$", trace, re.MULTILINE))


def traced(folder: Path, environment: dict[str, str], *arguments: str) -> str:
    """Run the command; return what it and `-X importtime` write to stderr, in order."""
    return completed(folder, environment, *arguments).stderr


def completed(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with `-X importtime` to its end."""
    process = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "code_commit", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process


def plugin_of_pydantic(folder: Path) -> Path:
    """Create a distribution with the module `observer`, which pydantic would load."""
    information = folder / "observer-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: observer\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[pydantic]\nobserver = observer:plugin\n")
    (folder / "observer.py").write_text("plugin = None\n")
    return folder


def test_a_run_imports_the_rest_after_its_call_and_shows_itself_without_prices(
    tmp_path: Path,
) -> None:
    from code_commit_testing import Project, Reply, ScriptedServer

    project = Project.create(tmp_path)
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        service = {"OPENAI_API_KEY": "sk-0123456789-k", **server.environment()}
        service["CODE_COMMIT_MODEL"] = "gpt-5"
        others = plugin_of_pydantic(tmp_path / "others")
        environment = {**project.environment(), **service, "PYTHONPATH": str(others)}
        # Two sources set the model, and no table.
        trace = traced(project.root, environment, "--model", "gpt-5")
    before, asking, after = trace.partition("asking gpt-5")
    assert asking
    assert {"httpx", "code_commit_commit.attempts"} <= modules_in(before)
    assert modules_in(before) & LATER == set()
    assert "code_commit_acceptance.signals" in modules_in(after)
    needless = {"colorama.ansi", "httpx2", "observer", "prompt_toolkit", "pydantic_settings"}
    assert modules_in(trace) & needless == set()
    # The run recorded what its call cost.
    shown = completed(project.root, environment, "runs", "show")
    assert modules_in(shown.stderr) & {"genai_prices", "pydantic"} == set()
    assert re.search(r"cost +\$0\.\d+\n(.|\n)*initial-query .*\$0\.\d+ ", shown.stdout), (
        shown.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (("check", "a.txt"), OF_RUNS),
        (("runs", "list"), OF_RUNS | OF_CHANGES),
        (("plugins",), OF_RUNS | OF_CHANGES),
    ],
    ids=["check", "runs list", "plugins"],
)
def test_commands_import_no_workflow(
    tmp_path: Path, arguments: tuple[str, ...], needless: set[str]
) -> None:
    from code_commit_testing import Project

    project = Project.create(tmp_path)
    modules = modules_in(traced(project.root, project.environment(), *arguments))
    assert "code_commit.cli.host" in modules
    assert modules & needless == set()
