"""Nothing that the GitHub Action is given, builds or prints controls its steps or gets its key."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply

pytest.importorskip("yaml", reason="the action is YAML; the environment `automation` has PyYAML")
pytest.importorskip(
    "hatchling",
    reason="the action builds the distributions; the environment `automation` has hatchling",
)

KEY = "sk-canary-0123456789-key7Q"
GOOD = "^^^a.txt\ngood\n^^^end\n^^^new/b.txt\nnew\n^^^end\n"
ASKED = {"query": "Make it good.", "model": "gpt-5", "provider": "openai"}
HOSTILE = "\"'; touch owned #\n$(touch owned) `touch owned` ${{ secrets.X }} --sandbox=off\n::set-env name=X::y"


@pytest.mark.parametrize("query", [HOSTILE, f"--help {HOSTILE}", "- x"])
def test_a_hostile_query_is_a_query(runner, project, server, query) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **{**ASKED, "query": query})
    assert job.exit_code == 0, job.log
    assert query in server.requests[0].prompt
    assert not list(project.root.rglob("owned"))


def test_a_dash_is_no_query(runner, project, server) -> None:
    job = runner.run(project, server, api_key=KEY, **{**ASKED, "query": "-"})
    assert (job.exit_code, job.outputs["outcome"], server.requests) == (2, "usage", [])


def test_hostile_patterns_are_patterns(runner, project, server) -> None:
    server.script(Reply(GOOD))
    project.write({"b.txt": "beta\n", "c.txt": "gamma\n"})
    patterns = {"include": "a.txt\nb.txt\n\n$(touch owned)\n", "exclude": "--include=c.txt\nb.txt"}
    assert runner.run(project, server, api_key=KEY, **ASKED, **patterns).exit_code == 0
    prompt = server.requests[0].prompt
    assert "--- a.txt ---" in prompt
    assert "--- b.txt ---" not in prompt
    assert "--- c.txt ---" not in prompt
    assert not (project.root / "owned").exists()


def test_a_build_gets_neither_the_key_nor_the_files_of_the_runner(runner, project, server) -> None:
    server.script(Reply(GOOD))
    assert runner.run(project, server, api_key=KEY, **ASKED).exit_code == 0
    environment = project.read("environment.txt")
    assert "INPUT_QUERY=" in environment, "the environment was written"
    assert KEY not in environment
    assert not re.findall(
        r"^GITHUB_(?:ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)=", environment, re.MULTILINE
    )


# Reads the environment of each shell above it, as a build without isolation can. That of
# code-commit only root can read.
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


def test_nothing_after_the_run_runs_a_filter_that_the_build_planted(
    runner, tmp_path, server
) -> None:
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


def test_nothing_after_the_run_has_a_key_or_a_file_of_the_runner(
    runner, project, server, tmp_path
) -> None:
    tools, seen = tmp_path / "tools", tmp_path / "seen"
    tools.mkdir()
    (tools / "sed").write_text(
        f'#!/bin/sh\nenv > {seen}\nexec {shutil.which("sed")} "$@"\n', "utf-8"
    )
    (tools / "sed").chmod(0o755)
    environ = {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "OTHER_API_KEY": KEY,
        "key": "x",
        "output": "x",
    }
    server.script(Reply(GOOD))
    job = replace(runner, environ=environ).run(project, server, api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    assert "reached" in job.summary
    environment = seen.read_text("utf-8")
    assert "RUNNER_TEMP=" in environment
    assert KEY not in environment
    assert not re.findall(r"^(?:ACTIONS|GITHUB|INPUT)_.*=", environment, re.MULTILINE)


def test_output_of_the_run_is_never_a_command_to_the_runner(runner, project, server) -> None:
    server.script(Reply(GOOD))
    log = runner.run(project, server, api_key=KEY, **ASKED).log
    [token] = re.findall(r"^::stop-commands::([0-9a-f]{32})$", log, re.MULTILINE)
    before, output, after = re.split(
        rf"^::(?:stop-commands::)?{token}(?:::)?$", log, flags=re.MULTILINE
    )
    assert "committing-code" in output
    assert "::" not in before + after
