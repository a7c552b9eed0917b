"""The page of a task shows its steps as a tree: what each verified, and why attempts failed."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from code_commit_testing import Project, ScriptedServer


def returns(value: Any) -> str:
    return f"```typescript\nasync function agent_code(): Promise<any> {{ return {json.dumps(value)}; }}\n```\n"


def listed(*titles: str) -> str:
    steps = [
        {
            "title": title,
            "description": "…",
            "step_type": "research",
            "exit_requirement": {"type": "pattern", "pattern": "^<ok>"},
        }
        for title in titles
    ]
    return returns({"title": "all", "steps": steps})


def test_the_page_shows_the_tree_of_steps(tmp_path) -> None:
    project = Project.create(tmp_path, files={"README.md": "x\n"})
    with ScriptedServer() as server:
        server.script(
            listed("one", "two"),
            listed("first <part>"),
            returns("<ok> really"),
            # The result of a list begins with the place of its first step.
            returns("<ok> at once"),
            *[returns("no"), returns("<ok>")],
        )
        environ = {
            "OPENAI_BASE_URL": server.url("openai"),
            "OPENAI_API_KEY": "sk-canary-0123456789-key7Q",
        }
        finished = project.command(
            "--model",
            "gpt-5",
            "--sandbox",
            "off",
            "--no-build",
            "--task",
            "Do it.",
            environ=environ,
        )
    assert finished.exit_code == 0, finished.stderr
    assert project.command("runs", "open").exit_code == 0
    (page,) = project.run_folder.glob("*.html")
    rows = [
        [
            " ".join(html.unescape(re.sub("<[^>]*>", " ", cell)).split())
            for cell in re.findall("<td.*?</td>", row)
        ]
        for row in re.findall(
            r'<tr><td data-name="Step">.*?</tr>', page.read_text("utf-8"), re.DOTALL
        )
    ]
    verified = "The returned string matches this regular expression: ^<ok>"
    assert [row[:2] for row in rows] == [
        ["1 one", "passed"],
        ["1.1 first <part>", "passed"],
        ["2 two", "passed"],
    ]
    assert rows[1][2] == verified
    assert rows[0][2].startswith(f"{verified} attempt 1 failed: The exit requirement is not met.")
    assert rows[2][2].startswith(f"{verified} attempt 1 failed: The exit requirement is not met.")
