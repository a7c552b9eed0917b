"""Only the owner can read the files of a run, whatever the umask and whoever writes them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer, install_plugin


def called(name: str, **arguments: object) -> ToolCall:
    return ToolCall(f"call_{name}", name, arguments)


# Sets the umask before the run begins, and tells what it was in the end.
UMASK = """
import os
from code_commit.plugin_api import hookimpl

os.umask(0)

@hookimpl
def code_commit_after_run(run):
    (run.root / "umask").write_text(f"{os.umask(0):o}")
"""
TASK = "```typescript\nasync function agent_code(): Promise<any> {\n  return 'done';\n}\n```\n"
RUNS = {
    "commit": (
        ["--repairs=1"],
        [Reply("^^^a.txt\nred\n^^^end\n"), Reply("^^^a.txt\ngood\n^^^end\n")],
    ),
    "commit that fails": ([], [Reply.error(400, "no")]),
    "dry run": (["--dry-run"], [Reply("^^^a.txt\ngood\n^^^end\n")]),
    "consistency": (["--consistency-check"], [Reply("# Report\n\nAll is well.\n")]),
    "autonomous": (
        ["--autonomous"],
        [
            Reply(tool_calls=(called("shell", command="echo x; seq 10000"),)),
            Reply(
                thinking="hm", tool_calls=(called("write_file", path="a.txt", content="good\n"),)
            ),
            Reply(tool_calls=(called("final_output", summary="done"),)),
            Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
        ],
    ),
    "task": (["--task", "Do it."], [Reply(TASK)]),
}


CHAT = [Reply(tool_calls=(called("shell", command="echo x"),)), Reply("done")]
PLAN = [
    Reply(
        tool_calls=(
            called(
                "write_file",
                path="g3-plan/new_requirements.md",
                content="{{CURRENT REQUIREMENTS}}\nGood.\n",
            ),
            called("final_output", summary="Write a.txt."),
        )
    ),
    Reply("Write a.txt."),
    Reply(tool_calls=(called("shell", command="echo x"),)),
    Reply(tool_calls=(called("write_file", path="a.txt", content="good\n"),)),
    Reply(tool_calls=(called("final_output", summary="done"),)),
    Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
    Reply("Change a.txt\n\nMakes it good."),
]
TYPED = {
    "chat": (["--chat"], CHAT, "hello\nquit\n"),
    "planning": (["--planning"], PLAN, "yes\n\nyes\nyes\nquit\n"),
}


@pytest.mark.parametrize("name", TYPED)
def test_only_the_owner_can_read_the_files_of_an_interactive_run(tmp_path: Path, name: str) -> None:
    arguments, replies, typed = TYPED[name]
    project = Project.create(tmp_path / "made")
    project.git("config", "user.name", "Author")
    project.git("config", "user.email", "author@example.org")
    project.write({"g3-plan/new_requirements.md": "Good, please.\n"})
    if name == "planning":
        arguments = [*arguments, f"--codepath={project.root}"]
    plugin = install_plugin(tmp_path / "plugins", "umask", UMASK)
    with ScriptedServer(replies) as server:
        environ = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        flags = ("--model=gpt-5", "--sandbox=off", *arguments)
        finished = project.command(*flags, environ=environ, plugins=[plugin], stdin=typed)
        assert (finished.exit_code, server.unused) == (0, 0), finished.stderr
    modes = {
        path: stat.S_IMODE(path.lstat().st_mode) for path in (project.root / "logs").rglob("*")
    }
    assert {path.name for path in modes} >= {
        "events.jsonl",
        "run.json",
        "report.html",
        "index.html",
    }, finished.stderr
    private = {path: mode for path, mode in modes.items() if path.name != ".gitignore"}
    state = project.root / "agent-config/.code-commit"
    private[state] = stat.S_IMODE(state.lstat().st_mode)
    assert {path: f"{mode:o}" for path, mode in private.items() if mode & 0o77} == {}


@pytest.mark.parametrize("name", RUNS)
def test_only_the_owner_can_read_the_files_of_a_run(tmp_path: Path, name: str) -> None:
    arguments, replies = RUNS[name]
    project = Project.create(tmp_path / "made", build="cat a.txt; test $(cat a.txt) != red\n")
    project.write(
        {"requirements.md": "Good.\n", "agent-config/config.toml": "[plugins.html]\nlive = true\n"}
    )
    plugin = install_plugin(tmp_path / "plugins", "umask", UMASK)
    with ScriptedServer(replies) as server:
        environ = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        finished = project.command(
            "--model=gpt-5", "--sandbox=off", *arguments, environ=environ, plugins=[plugin]
        )
    assert (project.root / "umask").read_text() == "0"
    assert list(project.root.glob("logs/2*")), finished.stderr
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in project.run_folder.rglob("*")}
    assert {f"{mode:o}" for path, mode in modes.items() if path.is_file()} == {"600"}, modes
    assert {path.name for path in modes} >= {"events.jsonl", "run.json", "report.html"}, (
        finished.stderr
    )
    logs = project.root / "logs"
    for folder in (logs, project.run_folder, project.root / "agent-config/.code-commit"):
        assert stat.S_IMODE(folder.lstat().st_mode) == 0o700, folder
