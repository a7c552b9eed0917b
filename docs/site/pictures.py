"""Make the pictures of README.md: `python docs/site/pictures.py`, with tmux and Chromium on PATH.

A real run in a small project, with scripted responses in place of a service; the terminal is 100
columns wide.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from code_commit.plugin_api import Usage
from code_commit_testing import Project, Reply, ScriptedServer

IMAGES = Path(__file__).parents[1] / "images"
CODE = 'def greet(name):\n    return f"Hello, {name}!"\n'
TEST = """\
import unittest
from greeting import greet


class GreetTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""
MORE = """
    def test_many(self):
        self.assertEqual(greet(["Ada", "Alan"]), "Hello, Ada and Alan!")
"""
WRONG = "def greet(names):\n    return f\"Hello, {' and '.join(names)}!\"\n"
RIGHT = WRONG.replace("    ret", "    if isinstance(names, str):\n        names = [names]\n    ret")
QUERY = "Let greet take a list of names as well. Add a test."


def block(path: str, text: str) -> str:
    return f"^^^{path}\n{text}^^^end\n"


def play(folder: Path) -> tuple[Project, str]:
    """Run the command in tmux; return the project and the screen with its escape codes."""
    project = Project.create(
        folder, files={"greeting.py": CODE, "test_greeting.py": TEST}, query=None, rollup=None
    )
    project.git("rm", "-q", "build.sh")
    project.command("init", "--no-build")
    project.git("add", "-A")
    project.git("commit", "-qm", "Prepare code-commit")
    project.command("rollup")
    answers = [
        block("greeting.py", WRONG) + block("test_greeting.py", TEST + MORE),
        block("greeting.py", RIGHT),
    ]
    usage = Usage(input=1204, output=188)
    command = f"{sys.executable} -P -m code_commit --query {shlex.quote(QUERY)}"
    with ScriptedServer(
        [Reply(text, usage=usage, delay=2.4, model="gemini-2.5-pro") for text in answers]
    ) as server:
        environ = project.environment(
            {**server.environment(), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        )
        settings = " ".join(
            f"{name}={shlex.quote(value)}"
            for name, value in environ.items()
            if name != "PYTHONPATH"
        )
        socket = f"{folder}/tmux"
        script = f"env -i {settings} {command}; touch {folder}/done; sleep 60"
        tmux = ["tmux", "-S", socket]
        subprocess.run(
            [*tmux, "new-session", "-d", "-x", "100", "-y", "40", "-c", project.root, script],
            check=True,
        )
        while not (folder / "done").exists():
            time.sleep(0.2)
        time.sleep(0.5)
        screen = subprocess.run(
            [*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True
        ).stdout
        subprocess.run([*tmux, "kill-server"], check=True)
    screen = screen.replace(str(folder), "/home/ada")
    return project, f'\x1b[1m$ code-commit --query "{QUERY}"\x1b[0m\n{screen.rstrip()}'


def draw_terminal(screen: str, target: Path) -> None:
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(Text.from_ansi(screen))
    svg = console.export_svg(title="code-commit")
    # Fonts from elsewhere.
    target.write_text(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL), "utf-8")


def draw_report(page: Path, target: Path) -> None:
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,650"]
    subprocess.run(
        ["chromium", *options, f"--screenshot={target}", page.as_uri()],
        check=True,
        capture_output=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project, screen = play(Path(folder))
        draw_terminal(screen, IMAGES / "run.svg")
        project.command("runs", "open")
        draw_report(project.run_folder / "report.html", IMAGES / "report.png")


if __name__ == "__main__":
    main()
