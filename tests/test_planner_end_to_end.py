"""Planning with the three protocols: one scripted service acts as planner, player and coach."""

from __future__ import annotations

from typing import Any

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer

PROVIDERS = {
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY"),
    "openai": ("gpt-5", "OPENAI_API_KEY"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
}
KEY = "sk-canary-0123456789-key7Q"


def called(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{name}", name, arguments)


SCRIPT = (
    Reply("I look.", tool_calls=(called("read_file", path="g3-plan/new_requirements.md"),)),
    Reply(
        thinking="hm",
        tool_calls=(
            called(
                "write_file",
                path="g3-plan/new_requirements.md",
                content="{{CURRENT REQUIREMENTS}}\nAdd é.\n",
            ),
            called("final_output", summary="Add é alone."),
        ),
    ),
    Reply("Add é."),
    Reply(
        tool_calls=(
            called("todo_write", content="- [x] é\n"),
            called("write_file", path="é.txt", content="é\n"),
        )
    ),
    Reply(tool_calls=(called("final_output", summary="é is there"),)),
    Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
    Reply("Add é\n\nAdds é.txt."),
)


@pytest.mark.parametrize(
    ("provider", "stream"),
    [
        *(("gemini", "never"), ("openai", "never"), ("anthropic", "always")),
        pytest.param("anthropic", "never", marks=pytest.mark.slow),
    ],
)
def test_planning_works_with_each_provider(provider, stream, tmp_path):
    model, variable = PROVIDERS[provider]
    project = Project.create(tmp_path)
    project.git("config", "user.name", "Author")
    project.git("config", "user.email", "author@example.org")
    project.write({"g3-plan/new_requirements.md": "é, please\n"})
    with ScriptedServer(SCRIPT) as server:
        finished = project.command(
            *("--planning", f"--codepath={project.root}", "--model", model, "--sandbox=off"),
            environ={variable: KEY, "CODE_COMMIT_STREAM": stream, **server.environment()},
            stdin="yes\n\nyes\ncommit\nquit\n",
        )
        assert (finished.exit_code, server.unused) == (0, 0)
    assert project.git("log", "--format=%s").splitlines() == ["Add é", "start"]
    assert project.git("status", "--porcelain") == ""
    assert project.read("é.txt") == "é\n"
    assert KEY not in finished.stdout + finished.stderr


def test_flags_of_a_missing_planner_show_the_package(tmp_path):
    project = Project.create(tmp_path)
    for flag in (
        "--planning",
        "--codepath=x",
        "--no-git",
        "--max-turns=3",
        "--autonomous",
        "--auto",
        "--chat",
    ):
        finished = project.command(flag, "--disable-plugin", "planner")
        assert finished.exit_code == 2
        assert "code-commit-planner" in finished.stderr
