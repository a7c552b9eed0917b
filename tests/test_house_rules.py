"""Rules of the code that import-linter cannot check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
GIT = ROOT / "workspace/src/code_commit_workspace/git/command.py"
# Acts in tests as a person who uses git in a project.
TESTING = ROOT / "testing/src/code_commit_testing/command.py"


@cache
def tree_of(source: Path) -> ast.Module:
    return ast.parse(source.read_text("utf-8"))


def names_git(node: ast.AST) -> bool:
    """Return whether this is a command line that starts with git, or a call with its name as an
    argument.
    """
    match node:
        case (
            ast.List(elts=[ast.Constant(value=str(program)), *_])
            | ast.Tuple(elts=[ast.Constant(value=str(program)), *_])
        ):
            return PurePath(program).name == "git"
        case ast.Call(args=arguments):
            texts = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            return any(
                isinstance(text, str) and re.match(r"git$|git -*[a-z]+ -", text) for text in texts
            )
    return False


def test_git_is_called_in_one_place() -> None:
    assert {GIT, TESTING} < {*SOURCES}
    unread = [
        source for source in {*SOURCES} - {GIT, TESTING} if "git" in source.read_text("utf-8")
    ]
    assert [
        (path, ast.unparse(node))
        for path in unread
        for node in ast.walk(tree_of(path))
        if names_git(node)
    ] == []


def test_the_check_finds_git_in_its_module() -> None:
    assert any(names_git(node) for node in ast.walk(tree_of(GIT)))


def calls_at_import(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls that run when a module is imported."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call() as call):
                yield call
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                pass
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
                yield from calls_at_import([*statement.body, *getattr(statement, "orelse", [])])


def test_imports_call_nothing() -> None:
    assert [
        (path, ast.unparse(call))
        for path in SOURCES
        for call in calls_at_import(tree_of(path).body)
    ] == []


def test_importing_a_package_imports_none_of_its_modules() -> None:
    """`code-commit --version` must be fast. A package imports its public names on first use."""
    packages = sorted(
        {
            *(path.parent for path in SOURCES if path.parts[-3] == "src"),
            *ROOT.glob("examples/*/src/*_*"),
        }
    )
    code = (
        f"import sys; sys.path[:0] = {[str(package.parent) for package in packages]}\n"
        f"for package in {[package.name for package in packages]}:\n"
        "    before = {*sys.modules}\n"
        "    __import__(package)\n"
        "    new = sys.modules.keys() - before\n"
        "    print(package, *(name for name in new if name.startswith(f'{package}.')))\n"
        "    for name in new: del sys.modules[name]\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    expected = "".join(f"{package.name}\n" for package in packages)
    assert (completed.stdout, completed.stderr) == (expected, "")


def test_the_plugin_api_imports_nothing_slow() -> None:
    """Every start imports the plugins, even `--help`."""
    slow = [
        "httpx",
        "pydantic",
        "pydantic_settings",
        "structlog",
        "rich",
        "genai_prices",
        "prompt_toolkit",
        "asyncio",
    ]
    code = f"import sys, code_commit.plugin_api; print(*(set({slow}) & set(sys.modules)))"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (completed.stdout, completed.stderr) == ("\n", "")


def test_the_workspace_imports_nothing_of_the_host() -> None:
    """Other programs use it without the host and its libraries."""
    code = (
        "import sys, code_commit_workspace as workspace; [getattr(workspace, name) for name in workspace.__all__]; "
        "import code_commit_workspace.process.runner, code_commit_workspace.diff, code_commit_workspace.guard.guard; "
        "print(*({'code_commit', 'pluggy', 'pydantic', 'structlog', 'httpx'} & set(sys.modules)))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (completed.stdout, completed.stderr) == ("\n", "")
