"""The model's context window: every call of every workflow is checked before it is sent, within
little memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from code_commit.plugin_api import Usage, estimate_tokens
from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin

LINE = "A line of code, no shorter and no longer than most lines of code in most projects are.\n"
KEYS = {
    "OPENAI_API_KEY": "sk-canary-0123456789-key7Q",
    "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789-key7Q",
}
BAD, GOOD = "^^^a.txt\nbad\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"
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
# Starts a command from a small process, and prints its peak memory in kB: until exec, a parent's
# memory counts, too.
PEAK = """
import os, sys
child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(f"\\n{usage.ru_maxrss}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture
def small(tmp_path):
    """Return a function that runs the command with the small model, and returns the number of
    requests, too.
    """
    plugins = [install_plugin(tmp_path / "plugins", "small", SMALL)]

    def small(
        project: Project, *arguments: str, replies: list[Reply | str]
    ) -> tuple[Finished, int]:
        with ScriptedServer(replies) as server:
            environ = {"LOOPBACK_BASE_URL": server.url("openai")}
            command = ("--model", "loopback-1", "--sandbox", "off", *arguments)
            return project.command(*command, plugins=plugins, environ=environ), len(server.requests)

    return small


def test_a_repair_that_does_not_fit_is_a_limit_that_names_the_red_build(small, tmp_path):
    project = Project.create(tmp_path, build="yes 'a line of the build' | head -n 20000\nfalse\n")
    finished, requests = small(project, replies=[BAD, GOOD])
    assert (finished.exit_code, requests) == (6, 1)
    red = "the build is red: build.sh ended with exit code 1 after 1 attempt; no further repair: the prompt has about "
    assert red in finished.stderr
    assert f"tokens, and loopback-1 reads at most {WINDOW:,}\n" in finished.stderr
    hint = "hint: make build.sh print less, or lower output_limit in [build], or choose another model; most of the "
    assert hint + "prompt is the build output" in finished.stderr
    assert "files stay changed:\n    a.txt " in finished.stderr
    assert json.loads((project.run_folder / "run.json").read_bytes())["outcome"] == "limit"
    assert not list(project.run_folder.glob("2-*"))
    assert project.read("a.txt") == "bad\n"


def test_replacements_that_fill_a_repair_are_named(small, tmp_path):
    project = Project.create(tmp_path, build="false\n")
    finished, requests = small(project, replies=[f"^^^a.txt\n{LINE * 2000}^^^end\n", GOOD])
    assert (finished.exit_code, requests) == (6, 1)
    assert (
        "shorten the file replacements so far, or choose another model; most of the prompt"
        in finished.stderr
    )


def test_a_repair_after_a_response_that_was_not_applied_names_no_build(small, tmp_path):
    project = Project.create(tmp_path, build="false\n")
    # The reason of the refusal does not fit in any more.
    project.write({"agent-config/query.txt": LINE * 350})
    refused = "".join(f"^^^{'x' * 200}{number}/../y\nz\n^^^end\n" for number in range(400))
    settings = '[plugins.commit]\nrefused_path = "repair"\n'
    project.write({"agent-config/config.toml": settings})
    finished, requests = small(project, replies=[refused, GOOD])
    assert (finished.exit_code, requests) == (6, 1)
    assert "error: the prompt has about " in finished.stderr
    assert "the largest parts of the prompt are the query (about " in finished.stderr


CALLS = {
    "consistency": (
        {"agent-config/codeRollup.txt": LINE * 2000},
        ("--consistency-check",),
        "the code",
    ),
    "autonomous": ({"requirements.md": LINE * 2000}, ("--autonomous",), "the prompt"),
    "task": (
        {"task.txt": LINE * 2000},
        ("--task-file", "task.txt"),
        "the task with its steps so far",
    ),
}


@pytest.mark.parametrize("workflow", CALLS)
def test_every_workflow_refuses_a_first_prompt_that_does_not_fit(small, tmp_path, workflow):
    files, arguments, largest = CALLS[workflow]
    project = Project.create(tmp_path)
    project.write(files)
    finished, requests = small(project, *arguments, replies=[Reply("never sent")])
    assert (finished.exit_code, requests) == (3, 0), finished.stderr
    assert re.search(
        rf"error: the prompt has about [\d,]+ tokens, and loopback-1 reads at most {WINDOW:,}\n",
        finished.stderr,
    )
    assert f"; most of the prompt is {largest}\n" in finished.stderr


def peak(project: Project, *arguments: str) -> tuple[int, int, str]:
    """Return the exit code, the peak memory in MB, and stderr of the command."""
    with ScriptedServer() as server:
        command = [
            sys.executable,
            "-c",
            PEAK,
            sys.executable,
            "-P",
            "-m",
            "code_commit",
            *arguments,
        ]
        environ = project.environment({**KEYS, **server.environment()})
        completed = subprocess.run(
            command, cwd=project.root, env=environ, capture_output=True, text=True, check=False
        )
        assert server.requests == []
    return completed.returncode, int(completed.stdout.split()[-1]) // 1024, completed.stderr


def _large_files(project: Project, size: int) -> dict[str, str]:
    (project.root / "agent-config/codeRollup.txt").unlink()
    return {f"src/{number}.py": LINE * (size // 20 // len(LINE)) for number in range(20)}


LARGE = {
    "rollup": ("agent-config/codeRollup.txt", (), "--exclude /src/`, or choose"),
    "query": ("agent-config/query.txt", (), "shorten the query"),
    "query file": ("long.txt", ("--query-file", "long.txt"), "shorten the query"),
    "report": (
        "agent-config/codeRollup.txt",
        ("--consistency-check",),
        "most of the prompt is the code",
    ),
    "code": (None, ("--query", "Do it."), "--exclude /src/`, or choose"),
    "doctor": ("agent-config/codeRollup.txt", ("doctor", "--no-build"), ""),
}


@pytest.mark.skipif(sys.platform != "linux", reason="measures kB, as Linux does")
@pytest.mark.parametrize("case", LARGE)
def test_a_prompt_that_cannot_fit_is_refused_within_80_mb(tmp_path, case):
    path, arguments, hint = LARGE[case]
    project = Project.create(tmp_path)
    text = f"--- src/a.py ---\n{LINE * (50_000_000 // len(LINE))}"
    project.write({path: text} if path else _large_files(project, len(text)))
    project.write({"agent-config/config.toml": '[plugins.commit]\ncontext = "all"\n'})
    model = () if case == "doctor" else ("--model", "gpt-5")
    exit_code, megabytes, stderr = peak(project, *arguments, *model)
    assert exit_code == 3, stderr
    assert hint in stderr
    assert megabytes < 80


def test_the_estimate_of_one_text_is_the_same_everywhere(tmp_path):
    mixed = {
        f"src/{number}.py": LINE * 500 if number % 3 else "é界🚀;{}[]==\n" * 3000
        for number in range(60)
    }
    project = Project.create(tmp_path, files=mixed, rollup=None)
    printed = json.loads(project.command("rollup", "--json").stdout)["tokens"]
    assert printed == estimate_tokens(project.read("agent-config/codeRollup.txt"))
    project.write({"src/0.py": "é界🚀;{}[]=-\n" * 3000})  # the run collects the code again
    arguments = ("--query", "Do it.", "--model", "gpt-4o", "--context", "all")
    refused = project.command(*arguments, environ=KEYS)
    collected = re.search(r"collected the code again, .* about ([\d,]+) tokens", refused.stderr)
    assert collected
    prompt = re.search(r"the prompt has about ([\d,]+) tokens", refused.stderr)
    assert prompt, refused.stderr
    in_run, in_prompt = (int(match[1].replace(",", "")) for match in (collected, prompt))
    assert 0 < in_prompt - in_run < 4000  # the instructions
    named = re.search(r"src/ \(about ([\d,]+) tokens\)", refused.stderr)
    assert named
    assert int(named[1].replace(",", "")) == pytest.approx(in_run, rel=0.02)
    again = json.loads(project.command("rollup", "--json").stdout)["tokens"]
    assert again == in_run
    doctor = json.loads(
        project.command("doctor", "--json", "--no-build", "--model", "gemini-2.5-pro").stdout
    )
    estimate = next(line["data"]["tokens"] for line in doctor["checks"] if "tokens" in line["data"])
    assert abs(in_prompt - estimate) < 20  # the query, and samples that begin elsewhere


@pytest.mark.parametrize(
    ("usage", "warned"),
    [
        (Usage(2048, 5), True),
        (Usage(2048, 5, cache_read=1000), True),
        (Usage(50_000, 5, cache_read=49_000), False),
        (Usage(10, 5), False),  # no server cuts a prompt to that
        (None, False),
    ],
)
def test_a_prompt_that_the_server_cut_is_noticed(tmp_path, usage, warned):
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    project.write({"agent-config/codeRollup.txt": f"--- a.txt ---\nold\n{LINE * 3000}"})
    with ScriptedServer([Reply(BAD, usage=usage), Reply(GOOD, usage=usage)]) as server:
        finished = project.command("--model", "gpt-5", environ={**KEYS, **server.environment()})
    assert finished.exit_code == 0, finished.stderr
    cut = re.findall(
        r"warning: gpt-5 read 2,048 tokens of a prompt that has about [5-7]\d,\d{3}: ",
        finished.stderr,
    )
    assert len(cut) == warned  # once in a run
    assert ("OLLAMA_CONTEXT_LENGTH or num_ctx" in finished.stderr) == warned
