"""What the response format has no word for is kept: CRLF, a BOM, the mode of a file that moves."""

from __future__ import annotations

import re

import pytest

BOM = b"\xef\xbb\xbf"
GREEN = "^^^a.txt\ngood\n^^^end\n"


def block(path: str, content: str | None) -> str:
    return f"^^^{path}\n^^^delete\n" if content is None else f"^^^{path}\n{content}^^^end\n"


def put(change, path, content, mode=0o644):
    file = change.project.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    change.show()
    return file


def told(finished):
    return re.findall(r"^(?:\[[\d:]+\] )?(.+: .*it keeps its .+)$", finished.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "reply", "new", "lines"),
    [
        (b"one\r\ntwo\r\n", "1\n2\n", b"1\r\n2\r\n", ["d/x.txt: it keeps its CRLF line ends"]),
        (BOM + b"one\n", "1\n", BOM + b"1\n", ["d/x.txt: it keeps its byte order mark"]),
        (
            BOM + b"one\r\n",
            "1\n",
            BOM + b"1\r\n",
            ["d/x.txt: it keeps its CRLF line ends", "d/x.txt: it keeps its byte order mark"],
        ),
        (b"one\r\n", "1\r\n2\n", b"1\r\n2\n", []),  # byte for byte what the response says
        (b"one\r\n", "1\r\n", b"1\r\n", []),
        (BOM + b"one\n", "\ufeff1\n", BOM + b"1\n", []),
        (b"one\r\ntwo\n", "1\n", b"1\n", []),  # not uniform
        (b"one\n", "1\n", b"1\n", []),
        (BOM + b"one\r\n", "", b"", []),
        (b"one\r\n", "one\n", b"one\r\n", []),  # changes nothing
    ],
)
def test_a_replaced_file_keeps_its_line_ends_and_its_bom(change, old, reply, new, lines):
    file = put(change, "d/x.txt", old)
    finished = change([GREEN + block("./d/x.txt", reply)])
    assert (finished.exit_code, file.read_bytes()) == (0, new), finished.stderr
    assert told(finished) == lines


def test_a_response_with_the_text_of_a_crlf_file_changes_nothing(change):
    put(change, "a.txt", BOM + b"good\r\n")
    finished = change([GREEN], "--repairs", "0")
    assert (finished.exit_code, change.result()["nothing_to_change"]) == (0, True), finished.stderr
    assert told(finished) == []


def test_a_repair_may_repeat_the_replacement_that_it_was_shown(change):
    file = put(change, "a.txt", b"old\r\n")
    finished = change(
        ["^^^a.txt\nbad\n^^^end\n", "^^^a.txt\nbad\r\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"]
    )
    assert (finished.exit_code, file.read_bytes()) == (0, b"good\r\n")
    prompt = (change.project.run_folder / "2-repair-query.txt").read_bytes()
    assert prompt.endswith(b"--- FILE REPLACEMENT a.txt ---\nbad\r\n")
    assert (change.project.run_folder / "2-build.txt").exists(), (
        "a response that changes nothing is built"
    )


SCRIPT = b"#!/bin/sh\necho one\necho two\necho three\n"


@pytest.mark.parametrize(
    ("path", "content", "source"),
    [
        ("bin/go.sh", SCRIPT, "run.sh"),  # the same text
        ("bin/run.sh", b"quite another\n", "run.sh"),  # the same name
        ("bin/go.sh", SCRIPT.replace(b"three", b"four"), "run.sh"),  # most of the lines
        ("bin/go.sh", b"quite another\n", None),
    ],
)
def test_a_file_that_moves_keeps_its_mode(change, path, content, source):
    put(change, "run.sh", SCRIPT, 0o755)
    put(change, "notes.txt", b"notes\n")
    response = (
        GREEN + block("run.sh", None) + block(path, content.decode()) + block("notes.txt", None)
    )
    finished = change([response])
    moved = change.project.root / path
    assert (finished.exit_code, moved.read_bytes()) == (0, content)
    assert moved.stat().st_mode & 0o777 == (0o755 if source else 0o666 & ~0o022)
    assert told(finished) == (
        [f"{path}: moved from {source}, it keeps its mode 0755"] if source else []
    )


def test_a_file_that_moves_keeps_its_line_ends(change):
    put(change, "old.bat", b"echo one\r\necho two\r\n", 0o755)
    finished = change([GREEN + block("old.bat", None) + block("new.bat", "echo one\necho two\n")])
    assert (change.project.root / "new.bat").read_bytes() == b"echo one\r\necho two\r\n"
    assert told(finished) == [
        "new.bat: moved from old.bat, it keeps its CRLF line ends",
        "new.bat: moved from old.bat, it keeps its mode 0755",
    ]


BAD = "^^^a.txt\nbad\n^^^end\n"
LINES = "#!/bin/sh\necho one\necho two\n"


@pytest.mark.parametrize("between", [[], ["Why?"], [block("new.txt", "new\n")]])
@pytest.mark.parametrize(
    ("path", "content", "moved"),
    [
        ("run.sh", "quite another\n", ""),
        ("bin/run.sh", LINES, "moved from run.sh, "),
        ("go.sh", LINES, "moved from run.sh, "),
    ],
)
def test_a_file_that_an_earlier_attempt_deleted_keeps_its_form(
    change, path, content, moved, between
):
    put(change, "run.sh", LINES.replace("\n", "\r\n").encode(), 0o755)
    put(change, "other.txt", b"other\n")
    delete = BAD + block("run.sh", None) + block("other.txt", None)
    finished = change([delete, *between, GREEN + block(path, content)])
    file = change.project.root / path
    assert (finished.exit_code, file.read_bytes()) == (0, content.replace("\n", "\r\n").encode()), (
        finished.stderr
    )
    assert file.stat().st_mode & 0o777 == 0o755
    assert told(finished) == [
        f"{path}: {moved}it keeps its {what}" for what in ("CRLF line ends", "mode 0755")
    ]


def test_a_file_that_an_earlier_attempt_emptied_keeps_its_line_ends(change):
    file = put(change, "x.bat", BOM + b"one\r\n", 0o755)
    finished = change([BAD + block("x.bat", ""), GREEN + block("x.bat", "1\n")])
    assert (finished.exit_code, file.read_bytes(), file.stat().st_mode & 0o777) == (
        0,
        BOM + b"1\r\n",
        0o755,
    )
    assert told(finished) == [
        "x.bat: it keeps its CRLF line ends",
        "x.bat: it keeps its byte order mark",
    ]


def test_a_dry_run_shows_the_mode_of_a_file_that_moves(change):
    put(change, "run.sh", SCRIPT, 0o755)
    finished = change(
        [block("run.sh", None) + block("go.sh", SCRIPT.decode().replace("one", "1"))], "--dry-run"
    )
    assert finished.exit_code == 0
    assert re.search(r"(?m)^index .* 100755$", finished.stdout)
    assert "old mode" not in finished.stdout


def test_an_undo_puts_a_moved_file_back(change):
    file = put(change, "run.sh", SCRIPT, 0o755)
    change([GREEN + block("run.sh", None) + block("bin/run.sh", SCRIPT.decode())])
    assert change.project.command("undo").exit_code == 0
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (SCRIPT, 0o755)
    assert not (change.project.root / "bin").exists()


def test_a_file_that_never_was_is_not_shown_as_removed(change):
    change(["^^^a.txt\nbad\n^^^end\n^^^never.txt\n^^^delete\n", GREEN])
    assert "FILE REMOVED" not in change.prompts()[1]


def test_a_block_repeated_from_the_code_is_refused_in_any_form(change):
    put(change, "x.txt", b"old\r\n")
    put(change, "docs.md", b"text\n^^^x.txt\nnew\n^^^end\n")
    change.project.write(
        {"agent-config/codeRollup.txt": "--- docs.md ---\ntext\n^^^x.txt\nnew\n^^^end\n"}
    )
    finished = change(["^^^x.txt\nnew\n^^^end\n"], "--repairs", "0")
    assert finished.exit_code == 5
    assert "repeats the block" in finished.stderr
