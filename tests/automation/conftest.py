"""A runner of the GitHub Action: it runs scripts with bash, and gives inputs as variables, as
GitHub's does.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, ScriptedServer
from code_commit_testing.warm_start import start_server, warm_command

ROOT = Path(__file__).parents[2]
# Passes when `a.txt` contains "good".
BUILD = "env > environment.txt\ngrep -q good a.txt\n"


@cache
def action() -> Any:
    """Return the action. Tests of it are skipped without PyYAML."""
    import yaml

    return yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


# A Python as setup-python installs it, except that packages come from this environment.
PYTHON = """\
#!/bin/sh
set -e
{python!r} "$@"
if [ "$1 $2 $3" = "-I -m venv" ]; then
    for packages in "$4"/lib/python*/site-packages; do echo {packages!r} > "$packages/here.pth"; done
fi
"""


@dataclass
class Job:
    """The result of a job: the outputs of `run`, the uploads, the log, the step summary, the exit
    code.
    """

    exit_code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    uploaded: list[dict[str, str]] = field(default_factory=list)
    log: str = ""
    summary: str = ""


@dataclass(frozen=True)
class Runner:
    """Runs the steps of the action in order, like GitHub's runner.

    It records used actions and does not run them.
    """

    temp: Path
    python: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        project: Project,
        server: ScriptedServer | None = None,
        steps: Sequence[Mapping[str, Any]] = (),
        **given: str,
    ) -> Job:
        job = Job()
        inputs = {name: field.get("default", "") for name, field in action()["inputs"].items()}
        inputs |= {"python": str(self.python)} | {
            name.replace("_", "-"): value for name, value in given.items()
        }
        for step in steps or action()["runs"]["steps"][1:]:
            if "uses" not in step and job.exit_code == 0:
                self._script(step, project, server, inputs, job)
            elif "uses" in step and _true(step["if"], inputs, job):
                job.uploaded.append(
                    {name: _filled(text, inputs, job) for name, text in step["with"].items()}
                )
        return job

    def _script(
        self,
        step: Mapping[str, Any],
        project: Project,
        server: ScriptedServer | None,
        inputs: dict[str, str],
        job: Job,
    ) -> None:
        script, output, summary = (self.temp / name for name in ("step.sh", "output", "summary"))
        script.write_text(step["run"], "utf-8")
        output.write_text("")
        summary.write_text("")
        assert step["shell"] == "bash"
        environ = project.environment(server.environment() if server else {}) | {
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(project.root),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ENV": str(self.temp / "env"),
            "GITHUB_PATH": str(self.temp / "path"),
            "GITHUB_ACTIONS": "true",
            # The dependencies and the build backend are already installed.
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            **self.environ,
        }
        environ |= {name: _filled(text, inputs, job) for name, text in step["env"].items()}
        completed = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=project.root / _filled(step.get("working-directory", "."), inputs, job),
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        job.exit_code = completed.returncode
        job.log += completed.stdout
        job.summary += summary.read_text("utf-8")
        job.outputs |= dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())


def _filled(text: str, inputs: Mapping[str, str], job: Job) -> str:
    """Replace expressions by their values; an unknown one is an error."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {f"steps.run.outputs.{name}": value for name, value in job.outputs.items()}
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], str(text))


def _true(condition: str, inputs: Mapping[str, str], job: Job) -> bool:
    """Evaluate `always() && A != '' && …`; an output that was not set is empty."""
    always, *clauses = condition.removeprefix("${{ ").removesuffix(" }}").split(" && ")
    assert always == "always()"
    context = {f"inputs.{name}": value for name, value in inputs.items()}
    context |= {f"steps.run.outputs.{name}": value for name, value in job.outputs.items()}
    assert all(clause.endswith(" != ''") for clause in clauses)
    return all(context.get(clause.removesuffix(" != ''"), "") for clause in clauses)


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner on which the action's first step has installed code-commit with two plugins."""
    folder = tmp_path_factory.mktemp("runner")
    python = folder / "python"
    python.write_text(
        PYTHON.format(python=sys.executable, packages=sysconfig.get_path("purelib")), "utf-8"
    )
    python.chmod(0o755)
    runner = Runner(folder, python)
    project = Project.create(folder / "nothing")
    project.write(
        {"venv.py": "raise SystemExit('imported')", "pip.py": "raise SystemExit('imported')"}
    )
    job = runner.run(
        project,
        steps=action()["runs"]["steps"][:1],
        provider="openai",
        plugins="gemini, truncation",
    )
    assert job.exit_code == 0, job.log
    start_faster(runner)
    return runner


def start_faster(runner: Runner) -> None:
    """Let the commands around the run start from a process of its environment that has imported the
    libraries.
    """
    bin_folder = runner.temp / "code-commit/bin"
    installed = bin_folder / "code-commit"
    subprocess.run([installed, "--version"], stdout=subprocess.DEVNULL, check=True)
    # Where the test tools are editable, its environment does not find them.
    syntax = subprocess.run(
        [bin_folder / "python", "-c", "import code_commit_testing"],
        capture_output=True,
        check=False,
    )
    if hasattr(os, "pidfd_open") and syntax.returncode == 0:
        python = str(bin_folder / "python")
        address = start_server({"LANG": "C.UTF-8"}, python)
        cold = installed.rename(bin_folder / "code-commit-run")
        ask = shlex.join(warm_command(address, (python, "-P", "-m", "code_commit")))
        script = f'#!/bin/sh\ncase "$1" in rollup | runs) exec {ask} "$@" ;; esac\nexec \'{cold}\' "$@"\n'
        installed.write_text(script, "utf-8")
        installed.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path, query=None, rollup=None, build=BUILD)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
