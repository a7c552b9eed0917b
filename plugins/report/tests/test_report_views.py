"""The parts that read untrusted input: records, diffs, output."""

from __future__ import annotations

import difflib
import html
import re
import sys
import tracemalloc
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pygments.lexers import get_all_lexers, get_lexer_for_filename
from pygments.util import ClassNotFound

from code_commit.plugin_api import Record, printable
from code_commit_report.build_output import output_lines
from code_commit_report.diff_view import file_diffs
from code_commit_report.lexers import lexer_for
from code_commit_report.page import report_page
from code_commit_report.run_view import _KINDS, RunView
from code_commit_report.text import read_shown, visible, without_repetitions
from code_commit_report.timeline import WIDTH, bars

KINDS = sorted(_KINDS)
FIELDS = ("number", "label", "model", "request", "response", "diff", "written", "log", "argv", "seconds", "tampered", "data",
          "exit_code", "refusals", "error", "cost_usd", "input_tokens", "versions", "level", "text",
          "step", "steps", "title", "verifies", "passed", "reason")  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3)
    ),
    max_leaves=5,
)
RECORDS = st.builds(
    Record,
    seq=st.just(1),
    time=st.floats(0, 2_000_000_000),
    run=st.text(max_size=5),
    span=st.integers(1, 4),
    parent=st.none() | st.integers(1, 4),
    kind=st.sampled_from(KINDS),
    data=st.dictionaries(st.sampled_from(FIELDS), JSON | st.integers(1, 3), max_size=5),
)


@given(st.lists(RECORDS, max_size=12))
# One number twice.
@example([Record(1, time, "", 1, None, "call.started", {"number": 1}) for time in (0.0, 1.0)])
def test_any_records_can_be_rendered(records):
    view = RunView()
    for record in records:
        view.receive(record)
    assert report_page(view, Path("/nowhere"), 1024).startswith("<!doctype html>")
    assert all(0 <= bar.x <= bar.x + bar.width <= WIDTH for bar in bars(view))


NAMES = sorted(
    {
        pattern.translate({ord("*"): "a", ord("["): "", ord("]"): ""})
        # Fmt: skip.
        for _, _, patterns, _ in get_all_lexers(plugins=False)
        for pattern in patterns
    }
)


@pytest.mark.parametrize("name", ["Makefile", "a.py", "a.h", "a.sql", "Spec.hs", "b.1", "a.php4", "noname", ".bashrc",
                                  *NAMES[::25]])  # fmt: skip
def test_the_lexer_is_that_of_pygments(name):
    try:
        chosen = type(get_lexer_for_filename(name))
    except ClassNotFound:
        chosen = None
    assert type(lexer_for(f"some/{name}")) is (chosen or type(None))


LINES = st.lists(
    st.sampled_from(
        ["", "a", "b = 1", "'''", "# ü\u202e", "-- x", "++ y", "@@ -1 +1 @@", "def f():", " z"]
    ),
    max_size=12,
)


@given(LINES, LINES, st.sampled_from(["x.py", "x.txt", "x.html", "noname"]))
def test_both_columns_contain_every_line_of_their_side(old, new, path):
    body = "\n".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=100))
    if not body:
        return
    [diff] = file_diffs(f"diff --git a/{path} b/{path}\n{body}\n")
    assert diff.path == path
    assert [str(visible(line)) for line in old] == [_plain(row.old) for row in diff.rows if row.old]
    assert [str(visible(line)) for line in new] == [_plain(row.new) for row in diff.rows if row.new]
    assert [row.new.number for row in diff.rows if row.new] == list(range(1, len(new) + 1))


def _plain(side):
    return html.unescape(re.sub(r"</?span[^>]*>", "", str(side.code)))


HUNK = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -5,2 +5,2 @@\n """\n-a = 1\n+a = 2\n'


@pytest.mark.parametrize("known", [(), ("other\n" * 9,), ("", '"""\n' * 2 + "b\n" * 3 + "a = 2\n")])
def test_without_a_content_that_fits_a_hunk_has_no_colors(known):
    [diff] = file_diffs(HUNK, lambda _: known)
    assert [str(side.code) for row in diff.rows for side in (row.old, row.new) if side] == [
        "&#34;&#34;&#34;", "&#34;&#34;&#34;", "a = 1", "a = 2"]  # fmt: skip


def test_the_content_that_fits_a_hunk_gives_its_colors():
    [diff] = file_diffs(HUNK, lambda _: ("no\n", '"""\n' + "b\n" * 3 + '"""\na = 2\n'))
    assert [str(row.new.code) for row in diff.rows if row.new] == [
        '<span class="ts">&#34;&#34;&#34;</span>', 'a = <span class="tn">2</span>']  # fmt: skip


@given(
    st.lists(st.sampled_from(["a\n", "b" * 600 + "\n", "c" * 1200 + "\n", "\n"]), max_size=12),
    st.integers(0, 12),
)
def test_a_prompt_loses_only_what_the_one_before_has(lines, split):
    before = "".join(lines[:split])
    shown = without_repetitions("".join(lines), before, "q.txt")
    unchanged = [line for line in shown.splitlines(keepends=True) if not line.startswith("[")]
    removed = sum(
        int(number) for number in re.findall(r"\[… (\d+) lines? as in q.txt …\]\n", shown)
    )
    assert len(unchanged) + removed == len(lines)
    assert without_repetitions("".join(lines), "", "q.txt") == "".join(lines)


def test_added_deleted_and_binary_files_are_shown():
    text = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"
        "diff --git a/pic b/pic\nBinary files a/pic and b/pic differ\n"
    )
    rows = [(diff.path, diff.what, diff.added, diff.removed) for diff in file_diffs(text)]
    assert rows == [("new.py", "added", 1, 0), ("gone", "deleted", 0, 1), ("pic", "changed", 0, 0)]


def test_of_a_long_diff_only_the_shown_lines_need_memory():
    lines = "".join(f"+a line of some length, number {number}\n" for number in range(200_000))
    text = f"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,200000 @@\n{lines}"
    tracemalloc.start()
    [diff] = file_diffs(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(diff.rows), diff.cut, diff.added, diff.removed) == (3000, True, 200_000, 0)
    assert str(diff.rows[-1].new.code) == "a line of some length, number 2998"
    assert peak < 1.5 * len(text)


def test_the_shown_rows_of_a_long_change_have_both_sides():
    body = "".join(f"{sign}{number}\n" for sign in "-+" for number in range(5000))
    [diff] = file_diffs(
        f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5000 +1,5000 @@\n{body}@@ -6000 +6000 @@\n-a\n+b\n"
    )
    assert [row.kind for row in diff.rows] == ["hunk", *["changed"] * 2999]
    assert (diff.rows[-1].old, diff.cut, diff.added, diff.removed) == (
        diff.rows[-1].new,
        True,
        5001,
        5001,
    )


def test_text_without_a_diff_is_ignored():
    assert file_diffs("") == []
    assert file_diffs("hello\n@@ -1 +1 @@\n") == []


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("main.c:3: error: expected ';'", "error"),
        ("E   AssertionError: 1 != 2", "error"),
        ("Traceback (most recent call last):", "error"),
        ("test result: FAILED. 1 passed; 1 failed", "error"),
        ("warning: unused variable", "warning"),
        ("0 errors, 0 warnings", ""),
        ("12 passed, 0 failed", ""),
        ("an ordinary line", ""),
        ("terrors of the deep", ""),
    ],
)
def test_lines_with_errors_and_warnings_are_marked(line, mark):
    assert output_lines(line)[0].mark == mark


def test_only_files_in_the_run_folder_are_read(tmp_path):
    (tmp_path / "secret").write_text("s")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "own").write_text("mine")
    assert read_shown(folder, "own", 100).text == "mine"
    for name in ("../secret", "link", "", None, ".", "/etc/passwd", "a\0b"):
        assert read_shown(folder, name, 100) is None


@given(st.text())
def test_invisible_characters_are_escaped(text):
    escaped = str(visible(text))
    assert not [
        character
        for character in escaped
        if character not in "\t\n"
        and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]
    assert escaped == visible(escaped)


def test_the_page_escapes_what_a_terminal_escapes():
    for code in range(sys.maxunicode + 1):
        assert visible(chr(code)) == printable(chr(code))
