"""Changes are shown as a unified diff, and the project stays as it is."""

from __future__ import annotations

import re

import pytest

from code_commit_workspace import Change, NotReady, Workspace


@pytest.fixture
def workspace(tmp_path, home):
    root = tmp_path / "project"
    for name, content in {
        "a": b"one\ntwo\n",
        "d/b": b"b\n",
        "bytes": b"\0\1",
        "d/e/f": b"f\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "link").symlink_to("a")
    (home / ".gitconfig").write_text(
        "[color]\n\tui = always\n[diff]\n\tnoprefix = true\n\texternal = false\n"
    )
    with Workspace.open(
        root, writes=False, private_folder="agent-config", repository="private"
    ) as workspace:
        yield workspace


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ([], []),
        ([Change("a", b"one\ntwo\n")], []),
        (
            [Change("./a", b"one\n2\n")],
            ["--- a/a", "+++ b/a", "@@ -1,2 +1,2 @@", " one", "-two", "+2"],
        ),
        (
            [Change("new/x", b"x")],
            ["--- /dev/null", "+++ b/new/x", "@@ -0,0 +1 @@", "+x", "\\ No newline at end of file"],
        ),
        (
            [Change("d/b", b"c\n"), Change("d/n/m/o", b"n\n"), Change("d/n/m/p", b"")],
            [
                "--- a/d/b",
                "+++ b/d/b",
                "@@ -1 +1 @@",
                "-b",
                "+c",
                "--- /dev/null",
                "+++ b/d/n/m/o",
                "@@ -0,0 +1 @@",
                "+n",
            ],
        ),
        ([Change("d/b", None)], ["--- a/d/b", "+++ /dev/null", "@@ -1 +0,0 @@", "-b"]),
        ([Change("missing", None)], []),
        ([Change("bytes", b"\0\2")], ["Binary files a/bytes and b/bytes differ"]),
        ([Change("link", b"x\n")], ["--- /dev/null", "+++ b/link", "@@ -0,0 +1 @@", "+x"]),
        (
            [Change("d/b", None), Change("d/e/f", None), Change("d", b"file\n")],
            [
                *("--- /dev/null", "+++ b/d", "@@ -0,0 +1 @@", "+file"),
                *("--- a/d/b", "+++ /dev/null", "@@ -1 +0,0 @@", "-b"),
                *("--- a/d/e/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-f"),
            ],
        ),
        (
            [Change("a", b"\xff\n")],
            ["--- a/a", "+++ b/a", "@@ -1,2 +1 @@", "-one", "-two", "+\ufffd"],
        ),
    ],
)
def test_what_a_change_would_do_is_shown(workspace, changes, lines):
    before = sorted(workspace.root.rglob("*"))
    shown = workspace.diff(changes).splitlines()
    headers = ("diff --git", "index ", "new file mode", "deleted file mode")
    assert sorted(line for line in shown if not line.startswith(headers)) == sorted(lines)
    assert sorted(workspace.root.rglob("*")) == before


def test_the_header_of_a_file_names_both_sides(workspace):
    changes = [Change("a", b""), Change("d/b", None), Change("n w", b"x"), Change("\t", b"x")]
    shown = workspace.diff(changes).splitlines()
    assert [line for line in shown if line.startswith("diff --git")] == [
        'diff --git "a/\\t" "b/\\t"',
        "diff --git a/a b/a",
        "diff --git a/d/b b/d/b",
        "diff --git a/n w b/n w",
    ]


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ([Change("a", b"x" * 2**20)], 2**20 + 4096 + 8),
        ([Change("new", b"1"), Change("a", None), Change("a/x", b"1")], 3 * 4096 + 1 + 8 + 1),
    ],
)
def test_a_diff_of_too_much_is_not_made(workspace, changes, size):
    assert workspace.diff(changes, most=size)
    with pytest.raises(
        NotReady, match=re.escape(f"the diff is larger than {size // 2**20} MiB")
    ) as caught:
        workspace.diff(changes, most=size - 1)
    assert caught.value.hint == "`git diff` shows uncommitted changes of any size"


def test_a_diff_that_cannot_be_written_is_an_error(workspace):
    with pytest.raises(NotReady, match="the diff cannot be made: "):
        workspace.diff([Change("x" * 300, b"x")])
