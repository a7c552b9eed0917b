"""Files are selected by patterns as in a `.gitignore` file."""

from __future__ import annotations

import subprocess

import pytest

from code_commit_workspace import Workspace


@pytest.mark.parametrize(
    ("patterns", "recursive", "found"),
    [
        ([], True, ["a.py", "src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
        ([], False, ["a.py", "src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
        (["*.py"], True, ["a.py", "src/b.py", "src/deep/c.py"]),
        (["*.py"], False, ["a.py"]),
        (["src/"], True, ["src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
        (["src/"], False, ["src/b.py"]),
        (["src/**/*.py"], False, ["src/b.py"]),
        (["*.py", "!b.py"], True, ["a.py", "src/deep/c.py"]),
        (["src/*", "!*.py", "!src/b.py", "a.py"], False, ["a.py"]),
        (["src/*", "!src/b.py", "src/"], False, ["src/b.py"]),
        (["nothing"], True, []),
    ],
)
def test_files_are_selected_by_patterns(tmp_path, git_init, patterns, recursive, found):
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    git_init(tmp_path)
    with Workspace.open(tmp_path, writes=False, private_folder="agent-config") as workspace:
        assert list(workspace.files(patterns, recursive=recursive)) == found


@pytest.mark.parametrize("recursive", [True, False])
def test_a_pattern_that_is_malformed_is_quoted(tmp_path, git_init, recursive):
    git_init(tmp_path)
    with Workspace.open(tmp_path, writes=False, private_folder="agent-config") as workspace:
        for pattern in ("[z-a]", "\\"):
            with pytest.raises(ValueError, match=r"cannot read|Invalid git pattern"):
                workspace.files([pattern], recursive=recursive)


def test_the_files_are_those_that_a_model_may_read(tmp_path, git_init):
    shown = ["a.py", "src/agent-config", "src/é.py", f"src/{'long' * 20}.py", ".hidden"]
    hidden = ["AGENT-CONFIG", "module", "src/.GIT", "src/a\nb"]
    (tmp_path / "src").mkdir()
    for path in (*shown, *hidden):
        (tmp_path / path).touch()
    git_init(tmp_path)
    entry = f"160000,{'1' * 40},module"
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], cwd=tmp_path, check=True)
    with Workspace.open(tmp_path, writes=False, private_folder="agent-config") as workspace:
        assert workspace.files() == tuple(sorted(shown))
        assert [path for path in (*shown, *hidden) if workspace.may_read(path)] == hidden
