"""No process of ours imports code of a project, whatever its files are called."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from code_commit.plugin_api import python_environment
from code_commit_fleet.unit_process import run_code_commit
from code_commit_tasks.workers.asking import ask_worker
from code_commit_testing import Project, ScriptedServer
from code_commit_toolbox.tools.code_search import _search

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
# What Python and this program import early, and what they find by themselves.
PACKAGES = (
    "code_commit", "code_commit_workspace", "code_commit_toolbox", "pluggy", "httpx", "anyio",
    "encodings", "json", "os", "runpy", "sitecustomize", "usercustomize", "supervisor", "ctypes", "pathspec", "evil",
)  # fmt: skip
# Programs that would run by name, if a variable leads to the working directory.
PROGRAMS = ("python", "python3", "code-commit", "git", "bash", "sh", "setpriv", "bwrap")
VARIABLES = {"PATH": f".:bin:{os.environ['PATH']}", "PYTHONSTARTUP": "evil.py"}
ENTRY_POINTS = "[code_commit]\nevil = evil\n[code_commit.path_rules]\nevil = evil\n"


class Hostile:
    """A project whose files say so, outside of it, when they are imported."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "imported"
        code = f"open({str(self.mark)!r}, 'a').write(__file__ + '\\n')\n"
        names = [f"{name}.py" for name in PACKAGES]
        names += [f"{name}/{file}.py" for name in PACKAGES for file in ("__init__", "__main__")]
        files = dict.fromkeys(names, code)
        files["evil.pth"] = f"import os; {code}"
        for metadata_folder in ("evil-1.0.dist-info", "evil.egg-info"):
            files[f"{metadata_folder}/METADATA"] = files[f"{metadata_folder}/PKG-INFO"] = (
                "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"
            )
            files[f"{metadata_folder}/entry_points.txt"] = ENTRY_POINTS
        below = {f"{part}/{name}": text for part in ("lib", "bin") for name, text in files.items()}
        files |= dict.fromkeys(["pyvenv.cfg", "setup.cfg"], "home = .\n")
        files[".env"] = f"CODE_COMMIT_MODEL=evil\nPYTHONPATH={folder}\n"
        self.project = Project.create(folder / "made", files=files | below, build="true\n")
        for name in PROGRAMS:
            for place in (name, f"bin/{name}"):
                program = self.project.root / place
                program.write_text(f"#!/bin/sh\necho {name} >> {self.mark}\n")
                program.chmod(0o755)

    @property
    def imported(self) -> list[str]:
        return self.mark.read_text().splitlines() if self.mark.exists() else []


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def test_the_project_is_hostile(hostile: Hostile) -> None:
    """Python that is started as users must not start it imports the files."""
    import subprocess

    command = [sys.executable, "-m", "code_commit", "--version"]
    subprocess.run(command, cwd=hostile.project.root, capture_output=True, check=False)
    assert hostile.imported


def test_a_run_and_its_supervisor(hostile: Hostile) -> None:
    with ScriptedServer() as server:
        server.script("^^^greeting.txt\nhello\n^^^end\n")
        environ = server.environment() | VARIABLES | {"OPENAI_API_KEY": "sk-test-1234567890"}
        finished = hostile.project.command("--model", "gpt-4.1", environ=environ, cold=True)
    assert finished.exit_code == 0, finished.stderr
    assert hostile.imported == []


@pytest.mark.parametrize(
    "words", [["code-commit"], ["python", "-P", "-m", "code_commit"]], ids=" ".join
)
def test_the_mcp_server(hostile: Hostile, words: list[str]) -> None:
    program, *arguments = words
    installed = Path(sys.executable).with_name(program)
    if not installed.exists():
        pytest.skip(f"{program} is not installed next to this Python")
    command = StdioServerParameters(
        command=str(installed),
        args=[*arguments, "mcp", "serve"],
        env={**os.environ, **hostile.project.environment(), **VARIABLES},
        cwd=hostile.project.root,
    )

    async def main() -> Any:
        async with Client(command) as client:
            return await client.call_tool("list_runs", {})

    result = anyio.run(main)
    assert not result.is_error, result.content
    assert hostile.imported == []


def test_the_demo(hostile: Hostile) -> None:
    finished = hostile.project.command("demo", str(hostile.mark.parent / "played"), cold=True)
    assert finished.exit_code == 0, finished.stderr
    assert hostile.imported == []


@pytest.mark.parametrize("path", ["", ".", ":lib", "lib:bin:."])
def test_a_unit_of_a_fleet(hostile: Hostile, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A fleet is in another folder: a relative folder on PYTHONPATH would be in the clone."""
    folders = {"PYTHONPATH": path, "PYTHONUSERBASE": "lib", "PYTHONPYCACHEPREFIX": "lib"}
    for name, value in (hostile.project.environment() | VARIABLES | folders).items():
        monkeypatch.setenv(name, value)
    ended = run_code_commit(
        ["runs", "list"], hostile.project.root, deadline=float("inf"), stopped=lambda: False
    )
    assert ended.exit_code == 0, ended.stderr
    assert hostile.imported == []


def test_workers_and_code_search(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile.project.root)
    for name, value in (VARIABLES | {"PYTHONPATH": ":lib:."}).items():
        monkeypatch.setenv(name, value)
    assert ask_worker("syntax_search", [("a.py", "python", "x = (\n")], seconds=60)
    search = {"pattern": "print($A)", "language": "python"}
    file = {"path": "a.py", "text": "print(1)\n", "searches": [0]}
    matches, trouble = _search([search], [file], 60)
    assert (len(matches), trouble) == (1, "")
    assert hostile.imported == []


def test_the_environment_has_no_relative_folder_of_code() -> None:
    absolute = {
        "PYTHONPATH": "/a:/b",
        "PYTHONUSERBASE": "/c",
        "OTHER": ".:x",
        "PYTHONUNBUFFERED": "1",
    }
    assert python_environment(absolute) == absolute
    relative = {
        "PYTHONPATH": ":/a::b:./c:",
        "PYTHONHOME": "x",
        "PYTHONPYCACHEPREFIX": ".",
        "PYTHONUSERBASE": "",
    }
    assert python_environment(relative) == {"PYTHONPATH": "/a"}


# Modules that name the interpreter or `-m` for another reason.
OWN = "core/src/code_commit/plugin_api/own_python.py"
OTHERS = {
    "workspace/src/code_commit_workspace/process/launch.py": "the supervisor, isolated",
    "core/src/code_commit/cli/arguments.py": "--model",
    "core/src/code_commit/cli/doctor.py": "--model",
    "core/src/code_commit/plugin_api/how_to_install.py": "a command for people to type",
    "plugins/fleet/src/code_commit_fleet/exporting.py": "git commit-tree",
    "testing/src/code_commit_testing/command.py": "git commit",
    "testing/src/code_commit_testing/warm_server.py": "plays an interpreter",
    "testing/src/code_commit_testing/warm_start.py": "plays an interpreter",
}


def names_python(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text == "-m"
        case ast.Attribute(value=ast.Name(id="sys"), attr="executable"):
            return True
        case ast.ImportFrom(module="sys", names=names):
            return any(name.name == "executable" for name in names)
    return False


def test_one_module_starts_python() -> None:
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if any(map(names_python, ast.walk(ast.parse(path.read_text("utf-8")))))
    }
    assert naming == {OWN, *OTHERS}
