"""The exercises as a fleet: two scripted models of known strength, and their page."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from code_commit.plugin_api import Usage
from code_commit_testing import Project, Reply, ScriptedServer

FOLDER = Path(__file__).parents[1] / "examples/fleet-exercises"
EXERCISES = sorted(path.name for path in (FOLDER / "exercises").iterdir())
SOLVED = {"gpt-4.1": set(EXERCISES[:18]), "gpt-4.1-mini": set(EXERCISES[::2][:9])}
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="the exercises in JavaScript need Node.js"
)


def answer(request) -> Reply:
    """Return the reference for the exercises that the model can solve, else an answer that changes
    nothing of use.
    """
    header = re.search(r"^--- README\.md ---\n# (\S+)$", request.prompt, re.MULTILINE)
    exercise = header[1] if header else ""
    text = "^^^notes.txt\nI do not know.\n^^^end\n"
    if exercise in SOLVED[request.model]:
        references = sorted((FOLDER / "references" / exercise).iterdir())
        text = "".join(f"^^^{path.name}\n{path.read_text()}^^^end\n" for path in references)
    return Reply(text, usage=Usage(1000, 100))


def prepared(tmp_path: Path) -> Path:
    target = tmp_path / "exercises"
    subprocess.run(["bash", FOLDER / "prepare.sh", target], check=True)
    return target


@pytest.mark.slow  # two builds of each of some twenty exercises
def test_each_exercise_begins_red_and_its_reference_is_green(tmp_path) -> None:
    """Those in JavaScript where Node.js is."""
    folder = prepared(tmp_path)
    assert len(EXERCISES) == 20
    assert {name.partition("-")[0] for name in EXERCISES} == {"python", "javascript", "bash"}
    for name in EXERCISES:
        if name.startswith("javascript") and shutil.which("node") is None:
            continue
        build = ["bash", "build.sh"]
        assert subprocess.run(
            build, cwd=folder / name, capture_output=True, check=False
        ).returncode, name
        shutil.copytree(FOLDER / "references" / name, folder / name, dirs_exist_ok=True)
        assert not subprocess.run(
            build, cwd=folder / name, capture_output=True, check=False
        ).returncode, name


@needs_node
@pytest.mark.slow
def test_the_page_tells_the_known_strength(tmp_path) -> None:
    folder = prepared(tmp_path)
    project = Project.create(tmp_path / "home")  # for its environment
    with ScriptedServer() as server:
        server.script(*[answer] * 40)
        environ = {**server.environment(), "OPENAI_API_KEY": "sk-canary-0123456789-key7Q"}
        finished = project.command(
            "fleet", "run", "fleet.toml", environ=environ, cwd=folder, timeout=280
        )
    assert finished.exit_code == 1, finished.stderr  # not all were reached
    page = (folder / "fleet.fleet/report.html").read_text("utf-8")
    rows = {}
    for row in re.findall(
        r"<tr>.*?</tr>", page[page.index('id="models"') : page.index('id="failures"')], re.DOTALL
    )[1:]:
        cells = [
            " ".join(html.unescape(re.sub("<[^>]*>", " ", cell)).split())
            for cell in re.findall("<td.*?</td>", row, re.DOTALL)
        ]
        rows[cells[0]] = cells
    # Wilson's intervals for 18 and 9 of 20
    assert rows["gpt-4.1"][2:4] == ["20 of 20", "90% (70% to 97%)"]
    assert rows["gpt-4.1-mini"][2:4] == ["20 of 20", "45% (26% to 66%)"]
    # 1,000 tokens in and 100 out cost $0.0028 and $0.00056; 20 of them for 18 and 9 successes
    assert rows["gpt-4.1"][4].startswith("$0.0031")
    assert rows["gpt-4.1-mini"][4].startswith("$0.0012")
    for model, solved in SOLVED.items():
        reached = {name for name in EXERCISES if unit_of(page, name, model) == "reached"}
        assert reached == solved


def unit_of(page: str, repository: str, model: str) -> str:
    row = next(
        row
        for row in re.findall(r"<tr>.*?</tr>", page[page.index('id="repositories"') :], re.DOTALL)
        if f"<td>{repository}</td>" in row
    )
    return re.findall(r'class="badge [a-z]+"[^>]*>(\w+)', row)[list(SOLVED).index(model)]
