"""All functions that take a path of a model agree on what it names."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit_workspace import Change, Workspace, normalise_path

PIECES = [
    "a.txt",
    "d",
    "b.txt",
    "new.txt",
    ".",
    "..",
    "",
    "./",
    "/",
    " ",
    "\0",
    "\ud800",
    "-x",
    "ä",
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / "a.txt").write_text("a\n")
    (root / "d").mkdir()
    (root / "d/b.txt").write_text("b\n")
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        yield workspace


def content(workspace, path):
    return workspace.tree.read(path)


def size(workspace, path):
    return workspace.tree.size(path)


def mode(workspace, path):
    return workspace.tree.mode(path)


def contents(workspace, path):
    return [content for _, content in workspace.tree.contents([path], 99)]


def refusal_to_read(workspace, path):
    refusal = workspace.may_read(path)
    return refusal and (refusal.rule, refusal.reason)


def refusals(workspace, path):
    return [
        (refusal.rule, refusal.reason) for refusal in workspace.check([Change(path, b"changed\n")])
    ]


def diff(workspace, path):
    return workspace.diff([Change(path, b"changed\n")])


FUNCTIONS = [content, size, mode, contents, refusal_to_read, refusals, diff]


def answer(function, workspace, path):
    try:
        return function(workspace, path)
    except (OSError, ValueError) as error:
        return type(error)


@given(st.lists(st.sampled_from(PIECES), max_size=5).map("/".join), st.sampled_from(FUNCTIONS))
@example("a.txt", content)
@example("d/b.txt", refusals)
def test_a_path_and_its_plain_spelling_are_one(workspace, path, function):
    plain = normalise_path(path)

    for spelling in (path, f"./{path}", f".//././/{path}"):
        if normalise_path(spelling) == plain:
            assert answer(function, workspace, spelling) == answer(function, workspace, plain)


@given(st.lists(st.sampled_from(PIECES), max_size=5).map("/".join))
@example("./a.txt")
@example("d/./b.txt")
@example("")
def test_a_path_that_may_be_read_or_written_can_be(workspace, path):
    if workspace.may_read(path) is None:
        assert path.rstrip("/").endswith("d") or isinstance(
            answer(content, workspace, path), bytes | None
        )
    if not workspace.check([Change(path, b"changed\n")]):
        assert "+changed\n" in workspace.diff([Change(path, b"changed\n")])
    assert answer(contents, workspace, path) in ([None], [answer(content, workspace, path)])


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", ".//a.txt", "././new.txt", "./d/b.txt"])
def test_one_spelling_is_applied_as_another(workspace, path):
    written = path.encode()
    assert workspace.may_read(path) is None
    assert workspace.check([Change(path, written)]) == ()
    workspace.apply([Change(path, written)], run=workspace.begin("run"))
    assert workspace.tree.read(path) == written
    assert workspace.tree.read(normalise_path(path)) == written
    assert (workspace.root / normalise_path(path)).read_bytes() == written
