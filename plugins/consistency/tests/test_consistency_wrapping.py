"""The printed report is wrapped, complete, and keeps its structure."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from code_commit_consistency.wrapping import wrapped

LONG = "word " * 40 + "end"
BLANKS = re.compile(r"[ \t\n\x0b\x0c\r]+")
PIECES = st.sampled_from(
    [
        "word",
        "- item ",
        "1. item ",
        "> quoted ",
        "    code ",
        "```\n",
        "# title ",
        "| a | ",
        "\n",
        "\n\n",
        "  \n",
        " ",
        "---\n",
    ]
)


def words(text: str) -> list[str]:
    """Return the words of a text, without quotation marks, which depend on the line breaks."""
    return [word for word in BLANKS.split(text.replace(">", "")) if word]


@given(st.lists(PIECES | st.text(max_size=100), max_size=60).map("".join), st.integers(20, 100))
def test_no_word_is_lost_or_added(text: str, width: int) -> None:
    assert words(wrapped(text, width)) == words(text)


@given(st.lists(st.text(max_size=80)).map("\n".join))
def test_text_that_fits_stays_unchanged(text: str) -> None:
    text = text.replace("\r", "")
    if all(len(line) <= 80 for line in text.split("\n")):
        assert wrapped(text) == text


@given(
    st.lists(st.text("abc.-", min_size=1, max_size=12), min_size=1).map(" ".join),
    st.integers(20, 100),
)
def test_lines_are_not_longer_than_the_width(text: str, width: int) -> None:
    assert all(len(line) <= width for line in wrapped("It says: " + text, width).split("\n"))


def test_only_the_long_paragraph_is_wrapped() -> None:
    before, after = "short\nlines\n\n", "\n\nanother\nof these\n"
    shown = wrapped(before + LONG + "\nand on" + after)
    assert shown.startswith(before)
    assert shown.endswith(after)
    paragraph = shown.removeprefix(before).removesuffix(after).split("\n")
    assert [len(line) for line in paragraph] == [79, 79, len("word " * 8) + len("end and on")]


def test_list_items_have_a_hanging_indent() -> None:
    shown = wrapped(f"- {LONG}\n- short\n  12. {LONG}\n+ {LONG}\n").split("\n")
    assert [line[:6] for line in shown] == [
        *("- word", "  word", "  word", "- shor"),
        *("  12. ", "      ", "      "),
        *("+ word", "  word", "  word", ""),
    ]


def test_every_line_of_a_quotation_keeps_its_mark() -> None:
    assert all(line.startswith("> word") for line in wrapped(f"> {LONG}\n> {LONG}").split("\n"))


def test_a_quotation_ends_with_its_last_mark() -> None:
    shown = wrapped(f"> quoted\n{LONG}").split("\n")
    assert shown[0] == "> quoted"
    assert shown[1].startswith("word")


def test_code_headings_tables_and_rules_stay_unchanged() -> None:
    text = (
        f"# {LONG}\n\n| {LONG} | x |\n\n    {LONG}\n\n"
        f"```\n{LONG}\n- {LONG}\n```\n\n{'=' * 100}\n{'- ' * 60}\n"
    )
    assert wrapped(text) == text


def test_an_explicit_line_break_stays() -> None:
    shown = wrapped(f"one  \n{LONG}\\\ntwo").split("\n")
    assert (shown[0], shown[-1]) == ("one  ", "two")


def test_a_word_longer_than_a_line_is_not_broken() -> None:
    address = "https://example.org/" + "x" * 100
    assert wrapped(f"see {address} there").split("\n") == ["see", address, "there"]
