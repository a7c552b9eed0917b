"""The secret that a plugin declares reaches no process of a run, and no file, whatever the
workflow.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin

Traces = Callable[..., dict[str, list[str]]]
SECRET = "hook-canary-9f8e7d6c5b4a-tok7Q"
PLUGIN = """
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_secrets():
    return ["HOOK_TOKEN"]
"""
SHOW = 'env; env | base64; cat /proc/self/environ | xxd; cat a.txt; tr "\\0" "\\n" < /proc/$PPID/environ; true'
TASK = """```typescript
async function agent_code(): Promise<any> {
  let seen = "";
  try { seen = JSON.stringify(Deno.env.toObject()); } catch { seen = "denied"; }
  return seen;
}
```
"""


def called(name: str, **arguments: object) -> ToolCall:
    return ToolCall(f"call_{name}", name, arguments)


WORKFLOWS = {
    "commit": (["--query", "Change a.txt."], [Reply("^^^a.txt\ngood\n^^^end\n")]),
    "autonomous": (
        ["--autonomous"],
        [
            Reply(tool_calls=(called("shell", command=SHOW), called("read_file", path="a.txt"))),
            Reply(tool_calls=(called("code_search", searches=[{"name": "x", "query": "(identifier) @x", "language": "python"}]),)),
            Reply(tool_calls=(called("final_output", summary="done"),)),
            Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
        ],
    ),
    "task": (["--task", "Do it."], [Reply(TASK)]),
}  # fmt: skip


def run(
    project: Project, tools: Path, arguments: Sequence[str], replies: Sequence[Reply]
) -> Finished:
    """Run with programs on the PATH that record their environment."""
    tools.mkdir()
    for name in ("git", "bash"):
        if real := shutil.which(name):
            (tools / name).write_text(f'#!/bin/sh\nenv >> "{tools}/{name}.env"\nexec {real} "$@"\n')
            (tools / name).chmod(0o755)
    plugin = install_plugin(tools / "plugins", "hook", PLUGIN)
    with ScriptedServer(replies) as server:
        environ = {
            "OPENAI_API_KEY": "sk-canary-0123456789-key7Q",
            "HOOK_TOKEN": SECRET,
            "COPY": f"x {SECRET} y",
        }
        environ |= {**server.environment(), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        flags = ("--model=gpt-5", "--sandbox=off", *arguments)
        return project.command(*flags, environ=environ, plugins=[plugin])


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_process_and_no_file_has_the_secret_of_a_plugin(
    tmp_path: Path, key_traces: Traces, name: str
) -> None:
    arguments, replies = WORKFLOWS[name]
    files = {"a.txt": f"old {SECRET}\n", "b.py": f"x = '{SECRET}'\n", "requirements.md": "Good.\n"}
    project = Project.create(tmp_path / "made", build=f"{SHOW}\n", files=files)
    finished = run(project, tmp_path / "tools", arguments, replies)
    assert finished.exit_code == 0, finished.stderr
    recorded = {path.stem for path in (tmp_path / "tools").glob("*.env")}
    assert recorded == {"git", "bash"}, finished.stderr
    assert [path for path in (tmp_path / "tools").glob("*.env") if SECRET in path.read_text()] == []
    assert (
        key_traces(project, finished, SECRET, kept=("a.txt", "b.py", "agent-config/codeRollup.txt"))
        == {}
    )
