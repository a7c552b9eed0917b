"""A run warns of files that other programs execute, also when a process writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer

WRITE = """
mkdir -p bare/hooks sub/.husky .github/workflows other ordinary/hooks; ln -s other .vscode
for path in bare/HEAD bare/config bare/hooks/post-update .envrc sub/.husky/pre-commit .github/workflows/ci.yml; do
  echo "$RANDOM" > "$path"
done
echo x > ordinary/config; echo x > ordinary/hooks/useState.ts; rm -f .gitlab-ci.yml
"""
EXECUTED = [
    *("bare/config", "bare/hooks/post-update", ".envrc", "sub/.husky/pre-commit"),
    *(".github/workflows/ci.yml", ".vscode"),
]


def warnings(
    tmp_path: Path, replies: Sequence[Reply], *arguments: str, build: str = "true\n"
) -> list[str]:
    project = Project.create(
        tmp_path, build=build, files={"a.txt": "old\n", ".gitlab-ci.yml": "old\n"}
    )
    project.write({"requirements.md": "Good.\n"})
    with ScriptedServer(replies) as server:
        environ = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        finished = project.command("--model=gpt-5", "--sandbox=off", *arguments, environ=environ)
    assert finished.exit_code == 0, finished.stderr
    return re.findall(r"warning: (.+): other programs run commands", finished.stderr)


def test_a_build_is_warned_about(tmp_path: Path) -> None:
    response = Reply("^^^a.txt\ngood\n^^^end\n^^^.envrc\nx\n^^^end\n")
    assert sorted(warnings(tmp_path, [response], build=WRITE)) == sorted(EXECUTED)


def test_a_command_of_a_model_is_warned_about(tmp_path: Path) -> None:
    calls = [("shell", {"command": WRITE}), ("final_output", {"summary": "done"})]
    approved = {"summary": "IMPLEMENTATION_APPROVED"}
    replies = [
        Reply(tool_calls=(ToolCall(f"call_{number}", name, arguments),))
        for number, (name, arguments) in enumerate([*calls, ("final_output", approved)])
    ]
    assert sorted(warnings(tmp_path, replies, "--autonomous")) == sorted(EXECUTED)


def test_many_files_share_a_warning(tmp_path: Path) -> None:
    response = "".join(f"^^^.husky/h{number:03}\nx\n^^^end\n" for number in range(300))
    printed = warnings(tmp_path, [Reply(response)])
    assert printed == [
        *(f".husky/h{number:03}" for number in range(20)),
        ".husky/h020 and 279 more",
    ]
