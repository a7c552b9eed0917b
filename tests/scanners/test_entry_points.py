"""What reads the text of others takes linear time: replies, builds, files, reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from code_commit.models.leaked_thinking import visible_text
from code_commit.models.reply_progress import ReplyProgress
from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.review import _file_diff, read_verdict
from code_commit_acceptance.shared_files import with_check_part
from code_commit_acceptance.signals import find_signals
from code_commit_commit.build_scripts.make_rules import just_rules, make_rules
from code_commit_commit.commands.test_counts import count_tests
from code_commit_commit.echo import reject_echo
from code_commit_commit.hooks import Block, MalformedResponse
from code_commit_commit.requested_files import requested_files
from code_commit_commit.response import parse_changes
from code_commit_consistency.code_files import Code
from code_commit_consistency.findings import findings_of
from code_commit_consistency.sections import sectioned
from code_commit_consistency.wrapping import wrapped
from code_commit_context.definitions import defined_names
from code_commit_context.named import FileNames
from code_commit_context.navigator import files_in
from code_commit_context.terms import terms_of
from code_commit_edits.edited_file import edited
from code_commit_edits.edits import read_edits
from code_commit_planner.dialog.text import folded, plain_lines, wrap
from code_commit_report.build_output import output_lines
from code_commit_report.diff_view import file_diffs
from code_commit_tasks.answer import MalformedAnswer, code_of
from code_commit_truncation.placeholders import first_placeholder
from code_commit_workspace import Redactor
from code_commit_workspace.process.sandbox.read_only import read_only_advice
from code_commit_workspace.process.terminal_text import as_on_terminal

# Beginnings of what the scanners look for.
WORDS = (
    *(
        "except ",
        "suppress(",
        "assert",
        "assert.",
        "catch ",
        "#[cfg_attr(",
        "@Test\n",
        "f(",
        "def ",
    ),
    *(
        "mvn ",
        "go test ",
        "mincoverage",
        "lock",
        "|| ",
        "[a ",
        "a.",
        "a=",
        'a."b".',
        "{a=",
        "--- a ---\n",
    ),
    *(
        "^^^a\n",
        "^^^",
        "^^^end\n",
        "^^^a\n\n^^^end\n",
        "<think>",
        "</think>",
        "<|channel|>a",
        "analysis",
    ),
    *(
        "<<<<<<< SEARCH\n",
        "=======\n",
        "```",
        "```\n",
        "~~~",
        "# ... ",
        "/* rest */",
        "-- snip ",
        "(...) ",
    ),
    *(
        "1 passed, ",
        "Ran 1 test in ",
        "\n\n",
        " \n",
        "\r\n",
        "\x1b[m",
        "\x1b[G",
        "a\b",
        "a\r",
        "0000 ",
    ),
    *(
        "error",
        "EROFS /a ",
        "ENOENT ",
        "A+",
        "'/",
        "`a",
        '"abcdefgh" ',
        "1. ",
        "**a",
        "- ",
        "> ",
        "#",
    ),
    *(
        "diff --git a/a b/a\n",
        "@@ -1 +1 @@\n",
        "\n@@ ",
        "%%%accepted\n",
        "a: b\n",
        "const agent_code",
    ),
    *("\u0301", "\U0001f1e6", "\u200d", "a\u0301", "\u3042", "aB", "a_", "$(a)", "a: b c\n", "${"),
)
LANGUAGES = ("test_a.py", "a.test.js", "a_test.go", "tests/a.rs", "ATest.java")
COMMANDS = ("Makefile", "tox.ini", "pyproject.toml", "Cargo.toml", "package.json", "conftest.py")


def changed(path: str) -> Callable[[str], object]:
    """Return a function that judges a change to a text, and one from it."""

    def run(text: str) -> None:
        content = text.encode("utf-8", "replace")
        find_signals([FileChange(path, b"", content)])
        find_signals([FileChange(path, content, b"a")])

    return run


def reviewed(text: str) -> None:
    content = text.encode("utf-8", "replace")
    _file_diff(FileChange("a", content, content.replace(b"\n", b"\nb\n")))


def response(text: str) -> None:
    with suppress(MalformedResponse):
        parse_changes(text)
    with suppress(MalformedResponse):
        parse_changes(f"^^^a\n{text}\n^^^end\n")
    with suppress(MalformedResponse):
        requested_files(text)
    with suppress(MalformedResponse):
        reject_echo(f"^^^a\n{text}\n^^^end\n", "", [text])


def edits(text: str) -> None:
    with suppress(MalformedResponse):
        read_edits(Block("a", text.encode("utf-8", "replace"), 1))
    block = f"<<<<<<< SEARCH\n{text}x\n=======\n\n>>>>>>> REPLACE\n"
    with suppress(MalformedResponse):
        edited("a", text.encode("utf-8", "replace"), read_edits(Block("a", block.encode(), 1)))


def progress(text: str) -> None:
    progress = ReplyProgress(1)
    for start in range(0, len(text), 1000):
        progress.add(text[start : start + 1000], "text")


def report(text: str) -> None:
    code = Code(text)
    list(findings_of(sectioned(text), code, ["a"], 1))
    wrapped(text)


def answer(text: str) -> None:
    with suppress(MalformedAnswer):
        code_of(f"{text}```typescript\n{text}\n```\n")


def secrets(text: str) -> None:
    Redactor(["s3cr3t-of-many-characters"]).text(text)


SCANNERS: Mapping[str, Callable[[str], object]] = {
    **{f"signals of {path}": changed(path) for path in (*LANGUAGES, *COMMANDS)},
    "parts of TOML": lambda text: with_check_part("pyproject.toml", f"{text}b = 1", "a = 1"),
    "verdict": read_verdict,
    "diff for the reviewer": reviewed,
    "response": response,
    "edits": edits,
    "thinking": visible_text,
    "progress": progress,
    "placeholder": lambda text: first_placeholder("a.py", b"", text.encode("utf-8", "replace")),
    "placeholder in prose": lambda text: first_placeholder("a.md", b"", text.encode()),
    "counts of tests": count_tests,
    "Makefile": lambda text: make_rules(text).runs_nothing("a"),
    "justfile": lambda text: just_rules(text).runs_nothing("a"),
    "advice": lambda text: read_only_advice(
        text, project="/p", homes=["/h"], writable=[], may_open=lambda _: False
    ),
    "terminal": lambda text: as_on_terminal(text.encode("utf-8", "replace")),
    "secrets": secrets,
    "build in the report": output_lines,
    "diff in the report": file_diffs,
    "findings": report,
    "definitions": defined_names,
    "terms": terms_of,
    "named files": FileNames(["a/b.py", "c.py"]).named_in,
    "chosen files": lambda text: files_in(text, {"a"}),
    "answer with code": answer,
    "dialog": lambda text: (plain_lines(text), wrap(text, 80), folded(text, 80)),
}


@pytest.mark.parametrize("name", SCANNERS)
def test_texts_of_others_take_linear_time(
    name: str,
    repeated: Callable[[str], Any],
    slow_text: Callable[..., str],
) -> None:
    texts = [repeated(unit) for unit in WORDS]
    assert not slow_text(SCANNERS[name], texts, lengths=(100, 1000, 4000), quick=1e-3)


def test_a_file_whose_lines_move_is_compared_in_linear_time(
    repeated: Callable[[str], Any], slow_text: Callable[..., str]
) -> None:
    def compare(text: str) -> None:
        old = "".join(f"{number}\n" for number in range(len(text)))
        new = "".join(f"{number ^ 1}\n" for number in range(len(text)))
        _file_diff(FileChange("a", old.encode(), new.encode()))

    assert not slow_text(compare, [repeated("a")], lengths=(100, 10_000, 40_000), quick=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCANNERS)
def test_a_megabyte_takes_linear_time(
    name: str, repeated: Callable[[str], Any], slow_text: Callable[..., str]
) -> None:
    texts = [repeated(unit) for unit in ("except ", "^^^a\n", "```\n", "\n", " ", "a")]
    assert not slow_text(SCANNERS[name], texts, lengths=(16_000, 250_000, 1_000_000), quick=1)
