"""What is at a path of others is an answer, never an exception; and no module asks in another
way.
"""

from __future__ import annotations

import ast
import os
from contextlib import suppress
from pathlib import Path

import pytest

from code_commit_workspace.files import path_kinds

SOURCE = Path(path_kinds.__file__).parents[1]
RAISING = frozenset(
    {"exists", "is_block_device", "is_char_device", "is_dir", "is_fifo", "is_file", "is_mount"}
)
RAISING_TOO = frozenset({"is_socket", "is_symlink"})
PACKAGES = ("git", "guard", "move", "store")
MODULES = ("opening", "workspace", "files/project_tree", "files/small_file", "files/tree_removal")
ASKING = {name: getattr(path_kinds, name) for name in path_kinds.__all__ if name != "kind_of"}


def sources() -> list[Path]:
    inside = [path for package in PACKAGES for path in sorted((SOURCE / package).glob("*.py"))]
    return [*inside, *(SOURCE / f"{name}.py" for name in MODULES)]


@pytest.mark.parametrize("source", sources(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_asks_pathlib_which_raises(source):
    calls = [
        node.func
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]
    questions = [
        func
        for func in calls
        if isinstance(func, ast.Attribute) and func.attr in RAISING | RAISING_TOO
    ]
    of_paths = [
        func
        for func in questions
        if not (isinstance(func.value, ast.Name) and func.value.id == "entry")
    ]
    assert [f"line {func.lineno}: {func.attr}" for func in of_paths] == []


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop" / "x"


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    "make", [loop, lambda folder: folder / ("n" * 300), lambda folder: folder / "a\0b"]
)
def test_no_path_raises(tmp_path, name, make):
    assert not ASKING[name](make(tmp_path))


def test_a_closed_folder_raises_nothing(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/x").touch()
    (tmp_path / "closed").chmod(0)
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    if not (child := os.fork()):
        try:
            with suppress(PermissionError):  # without capabilities, root may not enter it either
                _become_nobody()
            answered = [name for name, ask in ASKING.items() if ask("closed/x")]
            os.write(writer, repr(answered).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    (tmp_path / "closed").chmod(0o700)
    assert os.read(reader, 1000) == b"[]"
    os.close(reader)


def _become_nobody() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


@pytest.mark.parametrize(
    ("kind", "blocks"), [("pipe", True), ("file", False), ("folder", False), ("null", False)]
)
def test_what_blocks_readers(tmp_path, kind, blocks):
    path = {"null": Path(os.devnull)}.get(kind, tmp_path / kind)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "file":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    assert bool(path_kinds.blocks_readers(path)) == blocks
