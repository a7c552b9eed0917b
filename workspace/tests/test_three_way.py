"""What a move writes at a path, for all that may have been there, is there, and shall be there."""

from __future__ import annotations

import pytest

from code_commit_workspace import Git
from code_commit_workspace.move.three_way import UNKNOWN, Overlap, TextMerger, three_way
from code_commit_workspace.move.versions import Version

OLD = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
TOP = OLD.replace(b"1\n", b"top\n")
END = OLD.replace(b"9\n", b"end\n")
BOTH = TOP.replace(b"9\n", b"end\n")
CRLF = {text: text.replace(b"\n", b"\r\n") for text in (OLD, TOP, END, BOTH)}
BOM = b"\xef\xbb\xbf"
BYTES = bytes(range(256))


def file(content: bytes, mode: int | None = 0o644) -> Version:
    return Version(content, mode)


def link(target: bytes) -> Version:
    return Version(target, is_link=True)


CASES = {
    # name: (base, current, target, what is written)
    "nothing is there, and shall be": (None, None, None, None),
    "a new file": (None, None, file(OLD), file(OLD)),
    "a new file that is there": (None, file(OLD), file(OLD), file(OLD)),
    "a new file where another one is": (None, file(TOP), file(OLD), Overlap),
    "a file is removed": (file(OLD), file(OLD), None, None),
    "a file is removed that is gone": (file(OLD), None, None, None),
    "a file is removed that was changed": (file(OLD), file(TOP), None, Overlap),
    "a file is changed": (file(OLD), file(OLD), file(TOP), file(TOP)),
    "a file is changed as it is": (file(OLD), file(TOP), file(TOP), file(TOP)),
    "a file is changed that is gone": (file(OLD), None, file(TOP), Overlap),
    "a file shall stay that is gone": (file(OLD), None, file(OLD), Overlap),
    "a file is changed elsewhere": (file(OLD), file(END), file(TOP), file(BOTH)),
    "a file shall stay that was changed": (file(OLD), file(END), file(OLD), file(END)),
    "a file is changed at the same place": (
        file(OLD),
        file(OLD.replace(b"1\n", b"mine\n")),
        file(TOP),
        Overlap,
    ),
    "lines with CRLF": (file(CRLF[OLD]), file(CRLF[END]), file(CRLF[TOP]), file(CRLF[BOTH])),
    "all line ends changed": (file(OLD), file(CRLF[OLD]), file(TOP), Overlap),
    "a BOM stays": (file(BOM + OLD), file(BOM + END), file(BOM + TOP), file(BOM + BOTH)),
    "a BOM was removed": (file(BOM + OLD), file(OLD), file(BOM + TOP), Overlap),
    "no newline at the end": (file(OLD[:-1]), file(OLD[:-1]), file(TOP[:-1]), file(TOP[:-1])),
    "a line is added at the end, without a newline": (
        file(OLD),
        file(OLD + b"10"),
        file(TOP),
        file(TOP + b"10"),
    ),
    "bytes are changed": (file(BYTES), file(BYTES), file(BYTES * 2), file(BYTES * 2)),
    "bytes are changed twice": (file(BYTES), file(b"\0" + BYTES), file(BYTES * 2), Overlap),
    "a link is made of a file": (file(OLD), file(OLD), link(b"x"), link(b"x")),
    "a file is made of a link": (link(b"x"), link(b"x"), file(OLD), file(OLD)),
    "a link is turned": (link(b"x"), link(b"x"), link(b"y"), link(b"y")),
    "a link was turned": (link(b"x"), link(b"z"), link(b"y"), Overlap),
    "a file became a link": (file(OLD), link(OLD), file(TOP), Overlap),
    "a link with the text of the file": (link(OLD), file(OLD), link(TOP), Overlap),
    "a base that nobody knows": (UNKNOWN, file(END), file(TOP), file(TOP)),
    "a removal with a base that nobody knows": (UNKNOWN, file(END), None, None),
    "bits are changed": (file(OLD), file(OLD), file(OLD, 0o755), file(OLD, 0o755)),
    "bits that a person changed stay": (
        file(OLD, 0o755),
        file(OLD, 0o700),
        file(TOP, 0o644),
        file(TOP, 0o700),
    ),
    "bits that a person changed stay in a merged file": (
        file(OLD, 0o644),
        file(END, 0o755),
        file(TOP, 0o644),
        file(BOTH, 0o755),
    ),
    "bits that nobody names": (file(OLD), file(END, 0o600), file(TOP, None), file(BOTH, None)),
    "a base without bits": (file(OLD, None), file(END, 0o600), file(TOP), file(BOTH)),
}


@pytest.mark.parametrize("name", CASES)
def test_three_way(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[merge]\n\tconflictStyle = broken\n")
    base, current, target, written = CASES[name]
    merge = TextMerger(Git(tmp_path))
    if written is Overlap:
        with pytest.raises(Overlap):
            three_way(base, current, target, merge)
        return
    chosen = three_way(base, current, target, merge)
    if written is not None and written.mode is None and chosen is not None:
        written = written._replace(mode=chosen.mode)
    assert chosen == written


def test_a_merge_leaves_nothing_behind(tmp_path, monkeypatch):
    for name in ("project", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    merge = TextMerger(Git(tmp_path / "project"))
    assert merge(END, OLD, TOP) == BOTH
    assert merge(b"mine\n", OLD, TOP) is None
    assert [path.name for path in tmp_path.rglob("*")] == ["project", "temporary"]
