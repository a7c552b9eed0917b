"""Generated texts: lines of the history, commit messages."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_planner.dialog.text import columns, plain_lines, shortened, wrap
from code_commit_planner.git.commit_message import commit_message
from code_commit_planner.plan_folder.history import (
    Completed,
    attempting_recovery,
    completed,
    completed_at,
    git_commit,
    git_head,
    is_recorded,
    is_started,
    refining,
    skipped_recovery,
    start_implementing,
    summary_lines,
)

SEED = (Path(__file__).parent / "cases/seed-003.txt").read_text("utf-8")
at = datetime.fromisoformat
WHEN = at("2025-12-08 18:30:00")
COMPLETED = Completed(WHEN)


# History


def test_the_history_has_the_format_of_the_seed():
    """The stored seed lacks the two blanks before the lines of the summary."""
    example = SEED.partition('Format:\n"""\n')[2].partition('\n"""')[0]
    summary = example.partition("<<\n")[2].partition("\n>>")[0]
    written = (
        refining(at("2025-12-08 14:31:00"))
        + git_head(at("2025-12-08 17:24:05"), "<SHA>")
        + start_implementing(at("2025-12-08 17:25:31"), summary)
        + attempting_recovery(at("2025-12-08 18:20:00"))
        + completed(COMPLETED)
        + git_commit(WHEN, "<MESSAGE>")
    )
    assert "\n  This is an example of" in written
    lines = example.split("\n")
    assert written.replace("\n  ", "\n").split("\n")[:-1] == lines[: written.count("\n")]
    assert skipped_recovery(at("2025-12-08 14:31:00")) == f"{_quoted('USER SKIPPED RECOVERY')}\n"
    assert attempting_recovery(at("2025-12-08 14:31:00")) == f"{_quoted('ATTEMPTING RECOVERY')}\n"


def _quoted(words_of_it: str) -> str:
    match = re.search(rf'"(2025-12-08 14:31:00 {words_of_it})"', SEED)
    assert match
    return match[1]


@given(st.text())
def test_a_summary_has_at_most_five_lines_of_120_characters(text):
    lines = summary_lines(text)
    assert len(lines) <= 5
    assert all(line and len(f"  {line}") <= 120 for line in lines)
    entry = start_implementing(WHEN, text)
    assert entry.count("\n<<\n") == 1
    assert entry.count("\n>>\n") == 1
    assert entry.isprintable() or "\n" in entry


@given(st.datetimes(min_value=at("1000-01-01 00:00:00")), st.booleans())
def test_a_completion_is_recognized_by_its_file_names(when, with_todo):
    completion = Completed(when.replace(microsecond=0), with_todo)
    assert completed_at(completion.requirements) == completion.when
    assert is_recorded(refining(when) + completed(completion), completion)
    assert not is_recorded(completed(Completed(completion.when + timedelta(seconds=1))), completion)


def test_other_names_are_not_completions():
    for name in (
        "completed_requirements_2025-13-08_17-25-31.md",
        "completed_todo_2025-12-08_17-25-31.md",
        "x.md",
    ):
        assert completed_at(name) is None


def test_the_history_records_the_start_of_the_implementation():
    begun = (
        refining(WHEN)
        + git_head(WHEN, None)
        + start_implementing(WHEN, "2025-12-08 18:30:00 - COMPLETED REQUIREMENTS ()")
    )
    assert not is_started("")
    assert not is_started(refining(WHEN) + git_head(WHEN, "abc"))
    assert is_started(begun + attempting_recovery(WHEN) + attempting_recovery(WHEN))
    assert not is_started(begun + completed(COMPLETED) + git_commit(WHEN, "x"))
    assert "GIT HEAD (no commit yet)" in begun


# Wrapping and the commit message


@given(st.text(), st.integers(1, 100))
def test_wrapping_loses_only_blanks(text, width):
    lines = wrap(text, width)
    assert all(line and len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3fd",
        "\U0001f468\u200d\U0001f469",
        "\u1112\u1161\u11ab",
    ],
)
def test_a_character_is_not_separated_from_its_marks(character):
    assert all(
        line == character * (len(line) // len(character)) for line in wrap(character * 50, 7)
    )


def test_wide_characters_take_two_columns():
    lines = [*wrap("\u5b57" * 100, 80, columns), shortened("\u5b57" * 100, 80)]
    assert [len(line) for line in lines] == [40, 40, 20, 38 + len("...")]
    assert columns("a\u5b57e\u0301") == 4


@given(st.text(), st.booleans())
def test_a_commit_message_keeps_its_limits(written, with_todo):
    completion = Completed(WHEN, with_todo)
    message = commit_message(written, completion)
    assert 0 < len(message.summary) <= 72
    assert "\n" not in message.summary
    assert len(message.description) <= 10
    assert all(len(line) <= 72 for line in message.description)
    assert (
        message.description[-len(completion.files) :]
        == (
            "Requirements: completed_requirements_2025-12-08_18-30-00.md",
            "Todo: completed_todo_2025-12-08_18-30-00.md",
        )[: len(completion.files)]
    )


def test_the_example_of_the_seed():
    written = """Add user authentication with OAuth2 support

Implements OAuth2 flow for Google and GitHub providers.
Includes token refresh logic and secure storage."""
    message = commit_message(written, Completed(at("2025-12-08 17:25:31")))
    example = SEED.partition("Example:\nAdd user")[2].partition("\nTimestamp Formats")[0]
    lines = [line for line in str(message).split("\n") if line]
    assert "\n".join(lines) == f"Add user{example}"  # the stored seed lacks the empty lines


@pytest.mark.parametrize(
    ("written", "summary"),
    [
        ("Summary: Add a file.\n\nDescription: It is new.", "Add a file"),
        ("```\nAdd a file\n\nIt is new.\n```", "Add a file"),
        ("**Add a file**\n\nIt is new.", "Add a file"),
        ("Ajoute « é » 漢字\r\n\r\nIt is new.", "Ajoute « é » 漢字"),
        ("Add \x1b[31ma file\x07\n\nIt is new.", "Add [31ma file"),
    ],
)
def test_decoration_around_a_message_is_removed(written, summary):
    message = commit_message(written, COMPLETED)
    assert message.summary == summary
    assert message.description[0] == "It is new."
    assert message.description[1] == ""


@pytest.mark.parametrize(
    "written",
    [
        "# Add `x`",
        '**Say "x"**',
        "`x` and `y`",
        "Add `x`",
        "Don't say 'x'",
        '"quoted"',
        "## Add x ##",
    ],
)
def test_marks_belong_to_their_pairs(written):
    plain = {
        "# Add `x`": "Add `x`",
        '**Say "x"**': 'Say "x"',
        '"quoted"': "quoted",
        "## Add x ##": "Add x",
    }
    assert commit_message(written, COMPLETED).summary == plain.get(written, written)


def test_a_long_summary_continues_in_the_description():
    message = commit_message("Add " + "word " * 30 + "\n\nMore.", COMPLETED)
    assert message.summary == ("Add " + "word " * 13).strip()
    assert message.description[0].startswith("word word")
    assert "More." in message.description


def test_an_empty_message_is_replaced_by_file_names():
    message = commit_message(" \n", COMPLETED)
    assert message.summary == "Complete completed_requirements_2025-12-08_18-30-00.md"


def test_a_long_description_ends_at_a_line():
    message = commit_message(
        "Add\n" + "\n".join(f"line {number}" for number in range(20)), COMPLETED
    )
    assert message.description[:7] == tuple(f"line {number}" for number in range(7))
    assert len(message.description) == 10


@given(st.text())
def test_plain_lines_contain_no_control_characters(text):
    for line in plain_lines(text):
        assert line.strip() == line != ""
        assert "\x1b" not in line
