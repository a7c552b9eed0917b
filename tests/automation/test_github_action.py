"""Run the steps of the GitHub Action as a runner does: scripts with bash, inputs as variables, files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

yaml = pytest.importorskip("yaml", reason="the action is YAML; the environment `automation` has PyYAML")
pytest.importorskip(
    "hatchling", reason="the action builds the distributions; the environment `automation` has hatchling"
)

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, REST = ACTION["runs"]["steps"][:1], ACTION["runs"]["steps"][1:]
WORKFLOW = yaml.safe_load((ROOT / "examples/github-action/code-commit.yml").read_text("utf-8"))
KEY = "sk-canary-0123456789-key7Q"
GOOD, BAD = "^^^a.txt\ngood\n^^^end\n^^^new/b.txt\nnew\n^^^end\n", "^^^a.txt\nbad\n^^^end\n"
BUILD = "env > environment.txt\ngrep -q good a.txt\n"

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
    """The result of a job: the outputs of `run`, the uploads, the log, the step summary, the exit code."""

    exit_code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    uploaded: list[dict[str, str]] = field(default_factory=list)
    log: str = ""
    summary: str = ""


@dataclass(frozen=True)
class Runner:
    """Runs the steps of the action in order, like GitHub's runner. It records used actions and does not run them."""

    temp: Path
    python: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        project: Project,
        server: ScriptedServer | None = None,
        steps: Sequence[Mapping[str, Any]] = REST,
        **given: str,
    ) -> Job:
        job = Job()
        inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        inputs |= {"python": str(self.python)} | {name.replace("_", "-"): value for name, value in given.items()}
        for step in steps:
            if "uses" not in step and job.exit_code == 0:
                self._script(step, project, server, inputs, job)
            elif "uses" in step and _true(step["if"], inputs, job):
                job.uploaded.append({name: _filled(text, inputs, job) for name, text in step["with"].items()})
        return job

    def _script(
        self, step: Mapping[str, Any], project: Project, server: ScriptedServer | None, inputs: dict[str, str], job: Job
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
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=project.root / _filled(step.get("working-directory", "."), inputs, job),
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        job.exit_code = done.returncode
        job.log += done.stdout
        job.summary += summary.read_text("utf-8")
        job.outputs |= dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())


def _filled(text: str, inputs: Mapping[str, str], job: Job) -> str:
    """Replace expressions by their values; an unknown one is an error."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {f"steps.run.outputs.{name}": value for name, value in job.outputs.items()}
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], str(text))


def _true(condition: str, inputs: Mapping[str, str], job: Job) -> bool:
    """Evaluate `always() && A != '' && …`; an output that was not set is empty."""
    always, *clauses = condition.removeprefix("${{ ").removesuffix(" }}").split(" && ")
    assert always == "always()"
    known = {f"inputs.{name}": value for name, value in inputs.items()}
    known |= {f"steps.run.outputs.{name}": value for name, value in job.outputs.items()}
    assert all(clause.endswith(" != ''") for clause in clauses)
    return all(known.get(clause.removesuffix(" != ''"), "") for clause in clauses)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner on which the action's first step has installed code-commit with two plugins."""
    folder = tmp_path_factory.mktemp("runner")
    python = folder / "python"
    python.write_text(PYTHON.format(python=sys.executable, packages=sysconfig.get_path("purelib")), "utf-8")
    python.chmod(0o755)
    made = Runner(folder, python)
    project = Project.create(folder / "nothing")
    project.write({"venv.py": "raise SystemExit('imported')", "pip.py": "raise SystemExit('imported')"})
    job = made.run(project, steps=INSTALL, provider="openai", plugins="gemini, truncation")
    assert job.exit_code == 0, job.log
    return made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path, query=None, rollup=None, build=BUILD)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


ASKED = {"query": "Make it good.", "model": "gpt-5", "provider": "openai"}


def steps_of(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from document.get("runs", {}).get("steps", [])
    for job in document.get("jobs", {}).values():
        yield from job["steps"]


def test_the_first_step_installs_the_requested_plugins(runner: Runner) -> None:
    listed = subprocess.run(
        [runner.temp / "code-commit/bin/python", "-I", "-m", "pip", "list", "--path", *_packages(runner)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert set(re.findall(r"^code-commit\S*", listed, re.MULTILINE)) == {
        "code-commit",
        "code-commit-checkout",
        "code-commit-commit",
        "code-commit-gemini",
        "code-commit-history",
        "code-commit-openai",
        "code-commit-truncation",
        "code-commit-workspace",
    }


def _packages(runner: Runner) -> list[str]:
    return [str(path) for path in runner.temp.glob("code-commit/lib/python*/site-packages")]


@pytest.mark.parametrize("plugins", ["gemini] ; touch owned #", "../elsewhere", "$(touch owned)", "gemini\n--index=x"])
def test_an_invalid_plugin_name_is_rejected(runner: Runner, project: Project, plugins: str) -> None:
    job = runner.run(project, steps=INSTALL, plugins=plugins)
    assert job.exit_code == 2
    assert "::error::" in job.log
    assert not (project.root / "owned").exists()


def test_a_change_that_builds_succeeds(runner: Runner, project: Project, server: ScriptedServer) -> None:
    server.script(Reply(BAD), Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    folder = project.run_folder
    assert job.outputs == {
        "exit-code": "0",
        "outcome": "reached",
        "run-folder": str(folder),
        "patch": str(folder / "change.patch"),
    }
    assert job.uploaded == [
        {"name": "code-commit-run", "path": str(folder), "if-no-files-found": "error"},
    ]
    assert "--- a.txt ---\nold\n" in server.requests[0].prompt
    assert "Make it good." in server.requests[0].prompt
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert "reached" in job.summary
    assert all(line.startswith("    ") for line in job.summary.splitlines())
    assert KEY not in job.log + job.summary


def test_the_patch_is_the_change(runner: Runner, project: Project, server: ScriptedServer, tmp_path: Path) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    copy = tmp_path / "copy"
    project.git("clone", "-q", str(project.root), str(copy))
    subprocess.run(["git", "apply", "--index", job.outputs["patch"]], cwd=copy, check=True)
    assert (copy / "a.txt").read_text("utf-8") == "good\n"
    assert (copy / "new/b.txt").read_text("utf-8") == "new\n"
    assert not (copy / "logs").exists()
    assert project.git("diff", "--cached", "--name-only") == "", "the index of the checkout is unchanged"


def test_a_failing_build_fails_the_step(runner: Runner, project: Project, server: ScriptedServer) -> None:
    server.script(Reply(BAD), Reply("^^^a.txt\nworse\n^^^end\n"))
    job = runner.run(project, server, api_key=KEY, repairs="1", on_failure="restore", **ASKED)
    assert job.exit_code == 1
    assert (job.outputs["exit-code"], job.outputs["outcome"], job.outputs["patch"]) == ("1", "not_reached", "")
    assert project.read("a.txt") == "old\n"
    assert [each["path"] for each in job.uploaded] == [str(project.run_folder)]


@pytest.mark.parametrize(
    ("given", "answers", "code"),
    [
        ({"query": ""}, [], 3),
        ({"repairs": "many"}, [], 2),
        ({}, [Reply.error(401)], 4),
        ({}, [Reply("^^^../out.txt\nx\n^^^end\n")], 5),
        ({"max_cost": "0.000001"}, [], 6),
        ({"query_file": "there-is-none.md", "query": ""}, [], 3),
    ],
)
def test_the_exit_code_is_that_of_code_commit(runner, project, server, given, answers, code) -> None:
    server.script(*answers)
    job = runner.run(project, server, **{"api_key": KEY, **ASKED, **given})
    assert (job.exit_code, job.outputs["exit-code"]) == (code, str(code)), job.log
    assert bool(job.uploaded) == bool(job.outputs["run-folder"])


def test_a_project_that_does_not_ignore_keys_is_an_error(runner, tmp_path, server) -> None:
    project = Project.create(tmp_path, query=None, rollup=None, gitignore="\n")
    job = runner.run(project, server, api_key=KEY, **ASKED)
    assert (job.exit_code, job.outputs["run-folder"], job.uploaded) == (3, "", [])
    assert "/agent-config" in job.log
    assert server.requests == []


HOSTILE = "\"'; touch owned #\n$(touch owned) `touch owned` ${{ secrets.X }} --sandbox=off\n::set-env name=X::y"


@pytest.mark.parametrize("query", [HOSTILE, f"--help {HOSTILE}", "-"])
def test_a_hostile_query_is_a_query(runner: Runner, project: Project, server: ScriptedServer, query: str) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **{**ASKED, "query": query})
    assert job.exit_code == 0, job.log
    assert query in server.requests[0].prompt
    assert not list(project.root.rglob("owned"))


def test_hostile_patterns_are_patterns(runner: Runner, project: Project, server: ScriptedServer) -> None:
    server.script(Reply(GOOD))
    project.write({"b.txt": "beta\n", "c.txt": "gamma\n"})
    patterns = {"include": "a.txt\nb.txt\n\n$(touch owned)\n", "exclude": "--include=c.txt\nb.txt"}
    assert runner.run(project, server, api_key=KEY, **ASKED, **patterns).exit_code == 0
    prompt = server.requests[0].prompt
    assert "--- a.txt ---" in prompt
    assert "--- b.txt ---" not in prompt
    assert "--- c.txt ---" not in prompt
    assert not (project.root / "owned").exists()


def test_the_rollup_of_an_earlier_step_stays(runner: Runner, project: Project, server: ScriptedServer) -> None:
    server.script(Reply(GOOD))
    project.write({"agent-config/codeRollup.txt": "--- the project's own ---\n"})
    assert runner.run(project, server, api_key=KEY, **ASKED).exit_code == 0
    assert "--- the project's own ---" in server.requests[0].prompt


def test_a_build_gets_neither_the_key_nor_the_files_of_the_runner(runner, project, server) -> None:
    server.script(Reply(GOOD))
    assert runner.run(project, server, api_key=KEY, **ASKED).exit_code == 0
    environment = project.read("environment.txt")
    assert "INPUT_QUERY=" in environment, "the environment was written"
    assert KEY not in environment
    assert not re.findall(r"^GITHUB_(?:ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)=", environment, re.MULTILINE)


# Reads the environment of each shell above it, as a build without isolation can. That of code-commit only root can read.
SNOOP = """\
pid=$$
while [ "$pid" -gt 1 ]; do
    [ "$(cat /proc/$pid/comm)" != bash ] || tr '\\0' '\\n' < /proc/$pid/environ >> environment.txt
    pid=$(cut -d' ' -f4 /proc/$pid/stat)
done
grep -q good a.txt
"""


def test_a_build_does_not_find_the_key_in_the_shell_above_it(runner, tmp_path, server) -> None:
    project = Project.create(tmp_path, query=None, rollup=None, build=SNOOP)
    server.script(Reply(GOOD))
    assert runner.run(project, server, api_key=KEY, sandbox="off", **ASKED).exit_code == 0
    environment = project.read("environment.txt")
    assert "INPUT_QUERY=" in environment
    assert KEY not in environment


def test_nothing_after_the_run_runs_a_filter_that_the_build_planted(runner, tmp_path, server) -> None:
    seen = tmp_path / "seen"
    plant = f"""\
printf '#!/bin/sh\\nenv >> {seen}; cat\\n' > planted
chmod +x planted
git config --global filter.x.clean "$PWD/planted"
git config --global core.fsmonitor "$PWD/planted"
git config --global diff.external "$PWD/planted"
echo '* filter=x diff=x' > .gitattributes
grep -q good a.txt
"""
    project = Project.create(tmp_path, query=None, rollup=None, build=plant)
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, sandbox="off", **ASKED)
    assert job.exit_code == 0, job.log
    assert "+good" in Path(job.outputs["patch"]).read_text("utf-8")
    assert not seen.exists(), seen.read_text("utf-8")


def test_nothing_after_the_run_has_a_key_or_a_file_of_the_runner(runner, project, server, tmp_path) -> None:
    tools, seen = tmp_path / "tools", tmp_path / "seen"
    tools.mkdir()
    (tools / "sed").write_text(f'#!/bin/sh\nenv > {seen}\nexec {shutil.which("sed")} "$@"\n', "utf-8")
    (tools / "sed").chmod(0o755)
    environ = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "OTHER_API_KEY": KEY, "key": "x", "output": "x"}
    server.script(Reply(GOOD))
    job = replace(runner, environ=environ).run(project, server, api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    assert "reached" in job.summary
    environment = seen.read_text("utf-8")
    assert "RUNNER_TEMP=" in environment
    assert KEY not in environment
    assert not re.findall(r"^(?:ACTIONS|GITHUB|INPUT)_.*=", environment, re.MULTILINE)


def test_the_patch_holds_binary_files_and_names_them_from_the_top(runner, tmp_path, server) -> None:
    around = Project.create(tmp_path, files={"other/x": "x\n"})
    around.write(
        {"sub/build.sh": r"printf '\0\377x' > new.bin", "sub/a.txt": "old\n", "sub/.gitignore": "/agent-config\n"}
    )
    around.git("add", "-A")
    around.git("commit", "-qm", "below")
    server.script(Reply(GOOD))
    job = runner.run(around, server, working_directory="sub", api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    copy = tmp_path / "copy"
    around.git("clone", "-q", str(around.root), str(copy))
    subprocess.run(["git", "apply", "--index", job.outputs["patch"]], cwd=copy, check=True)
    assert (copy / "sub/new.bin").read_bytes() == b"\0\377x"
    assert (copy / "sub/a.txt").read_text("utf-8") == "good\n"


def test_output_of_the_run_is_never_a_command_to_the_runner(runner, project, server) -> None:
    server.script(Reply(GOOD))
    log = runner.run(project, server, api_key=KEY, **ASKED).log
    [token] = re.findall(r"^::stop-commands::([0-9a-f]{32})$", log, re.MULTILINE)
    before, output, after = re.split(rf"^::(?:stop-commands::)?{token}(?:::)?$", log, flags=re.MULTILINE)
    assert "committing-code" in output
    assert "::" not in before + after


def test_scripts_contain_no_expression_and_actions_are_pinned() -> None:
    for document in (ACTION, WORKFLOW):
        for step in steps_of(document):
            assert "${{" not in step.get("run", "")
            assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)), step


# --- the example ------------------------------------------------------------------------------------------------------


def test_the_example_uses_existing_inputs() -> None:
    [used] = [step for step in steps_of(WORKFLOW) if step.get("uses", "").startswith("OWNER/code-commit@")]
    assert used["with"].keys() <= ACTION["inputs"].keys()
    [download] = [step for step in steps_of(WORKFLOW) if "download-artifact" in step.get("uses", "")]
    assert download["with"]["name"] == ACTION["inputs"]["artifact"]["default"]


def test_the_job_that_runs_the_change_cannot_write() -> None:
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["change"]["permissions"] == {"contents": "read"}
    checkouts = [step for step in steps_of(WORKFLOW) if "actions/checkout" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False, False]


def test_the_example_proposes_the_change(runner, project, server, tmp_path) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    origin, copy, temp, tools = (tmp_path / name for name in ("origin", "copy", "temp", "tools"))
    project.git("clone", "-q", "--bare", str(project.root), str(origin))
    project.git("clone", "-q", str(origin), str(copy))
    shutil.copytree(job.outputs["run-folder"], temp / "run")
    tools.mkdir()
    (tools / "gh").write_text(f'#!/bin/sh\nprintf "<%s>" "$@" >> {tmp_path}/gh\n', "utf-8")
    (tools / "gh").chmod(0o755)
    [step] = [step for step in WORKFLOW["jobs"]["propose"]["steps"] if "run" in step]
    asked = "Make it good.\n\n$(touch owned) `touch owned`"
    environ = project.environment(
        {"RUNNER_TEMP": str(temp), "QUERY": asked, "BRANCH": "code-commit/7", "GH_TOKEN": "t"}
    )
    environ["PATH"] = f"{tools}{os.pathsep}{environ['PATH']}"
    script = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    done = subprocess.run(script, cwd=copy, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    log = ["git", "log", "-1", "--format=%B", "code-commit/7"]
    assert subprocess.run(log, cwd=origin, capture_output=True, text=True, check=True).stdout.strip() == asked
    show = ["git", "show", "code-commit/7:a.txt"]
    assert subprocess.run(show, cwd=origin, capture_output=True, text=True, check=True).stdout == "good\n"
    assert (tmp_path / "gh").read_text("utf-8") == (
        "<auth><setup-git><pr><create><--head><code-commit/7><--title><Make it good.><--body><" + asked + ">"
    )
    assert not list(tmp_path.rglob("owned"))
