"""Runs in a repository that exceeds the model's window: what `ranked` and `map` show to the model,
from the query to a repair.
"""

from __future__ import annotations

import pytest

from code_commit.plugin_api import estimate_tokens
from code_commit_testing import Project, ScriptedServer, install_plugin

WINDOW = 12_000  # tokens
# A provider whose model reads little.
SMALL = f"""
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_testing import loopback_provider

@hookimpl
def code_commit_providers():
    [definition] = loopback_provider.code_commit_providers()
    return [replace(definition, windows={{"loopback-1": {WINDOW}}})]
"""
FILLER = "value = 1  # nothing of interest stands here\n" * 50  # about 700 tokens
FILES = {
    **{f"shop/part_{number}.py": f"def part_{number}(): ...\n{FILLER}" for number in range(40)},
    "shop/parcel.py": f"def shipped(parcel): ...\n{FILLER}",
    "shop/totals.py": f"def total(order): ...\n{FILLER}",
}
BUILD = "test -e done.txt && exit 0\necho 'File \"shop/part_33.py\", line 3: no done.txt'\nexit 1\n"
BAD, GOOD = "^^^bad.txt\n^^^end\n", "^^^done.txt\n^^^end\n"


@pytest.fixture
def project(tmp_path):
    query = "Tell the customer when a parcel is shipped.\n"
    return Project.create(tmp_path, files=FILES, build=BUILD, query=query, rollup=None)


def run(project, tmp_path, replies, *arguments):
    plugins = [install_plugin(tmp_path / "plugins", "small", SMALL)]
    with ScriptedServer(replies) as server:
        environ = {"LOOPBACK_BASE_URL": server.url("openai")}
        command = ("--model", "loopback-1", "--sandbox", "off", *arguments)
        finished = project.command(*command, plugins=plugins, environ=environ)
    return finished, [request.prompt for request in server.requests]


def shown(prompt):
    lines = prompt.splitlines()
    return [line[4:-4] for line in lines if line.startswith("--- ") and line.endswith(" ---")]


def test_auto_ranks_the_files_and_a_repair_gets_those_of_the_failure(project, tmp_path):
    finished, [initial, repair] = run(project, tmp_path, [BAD, GOOD])
    assert finished.exit_code == 0, finished.stderr
    assert "shop/parcel.py" in shown(initial)
    assert len(shown(initial)) < 12
    assert estimate_tokens(initial) < WINDOW * 0.75
    assert "shop/part_33.py: part_33\n" in initial
    assert "shop/part_33.py" in shown(repair)
    assert "by words of the query" in finished.stderr


def test_map_asks_the_navigator_once(project, tmp_path):
    chosen = "%%%files\nshop/part_17.py\n%%%end\n"
    finished, [question, initial] = run(project, tmp_path, [chosen, GOOD], "--context", "map")
    assert finished.exit_code == 0, finished.stderr
    assert "shop/parcel.py: shipped\n" in question
    assert "nothing of interest" not in question
    assert {"shop/part_17.py", "shop/parcel.py"} <= set(shown(initial))
    assert "the navigator chose 1 file" in finished.stderr
    assert (project.run_folder / "1-navigator-query.txt").exists()
    assert (project.run_folder / "2-initial-query.txt").exists()
