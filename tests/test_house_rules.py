"""Rules of the code that import-linter cannot see."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
GIT = ROOT / "workspace/src/code_commit_workspace/git.py"
# In a test it stands for the person who uses git on a project.
TESTING = ROOT / "testing/src/code_commit_testing/command.py"

each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def tree_of(source: Path) -> ast.Module:
    return ast.parse(source.read_text("utf-8"))


def names_git(node: ast.AST) -> bool:
    """Whether this is a command line that begins with git, or a call that is given the program's name."""
    match node:
        case (
            ast.List(elts=[ast.Constant(value=str(program)), *_])
            | ast.Tuple(elts=[ast.Constant(value=str(program)), *_])
        ):
            return PurePath(program).name == "git"
        case ast.Call(args=arguments):
            texts = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            return any(isinstance(text, str) and re.match(r"git$|git -*[a-z]+ -", text) for text in texts)
    return False


@each_source
def test_git_is_called_in_one_place(source: Path) -> None:
    lines = [ast.unparse(node) for node in ast.walk(tree_of(source)) if names_git(node)]
    assert source in {GIT, TESTING} or not lines


def test_the_one_place_is_seen_as_such() -> None:
    assert any(names_git(node) for node in ast.walk(tree_of(GIT)))


def calls_at_import(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """The bare calls among a module's statements: what an import would do rather than define."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call() as call):
                yield call
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                pass
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
                yield from calls_at_import([*statement.body, *getattr(statement, "orelse", [])])


@each_source
def test_nothing_happens_at_import(source: Path) -> None:
    assert [ast.unparse(call) for call in calls_at_import(tree_of(source).body)] == []


@pytest.mark.parametrize(
    "package", sorted(path.parent for path in ROOT.glob("**/src/*/__init__.py")), ids=lambda path: path.name
)
def test_importing_a_package_imports_none_of_its_modules(package: Path) -> None:
    """`code-commit --version` imports one, and must not wait. Names that a package offers are imported when used."""
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r}); import {package.name}; "
        f"print(*(name for name in sys.modules if name.startswith('{package.name}.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_the_plugin_api_imports_nothing_slow() -> None:
    """A plugin is imported at every start, `--help` included."""
    slow = ["httpx", "pydantic", "pydantic_settings", "structlog", "rich", "genai_prices", "stamina", "asyncio"]
    code = f"import sys, code_commit.plugin_api; print(*(set({slow}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_the_workspace_imports_nothing_of_the_host() -> None:
    """Other programs use it, without the host and its libraries."""
    code = (
        "import sys, code_commit_workspace as workspace; [getattr(workspace, name) for name in workspace.__all__]; "
        "import code_commit_workspace.process.runner, code_commit_workspace.diff, code_commit_workspace.guard; "
        "print(*({'code_commit', 'pluggy', 'pydantic', 'structlog', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_what_the_workspace_offers_is_what_its_stub_says() -> None:
    stub = tree_of(ROOT / "workspace/src/code_commit_workspace/__init__.pyi")
    told = {name.asname for node in ast.walk(stub) if isinstance(node, ast.ImportFrom) for name in node.names}
    import code_commit_workspace

    assert told | {"__version__"} == set(code_commit_workspace.__all__)
