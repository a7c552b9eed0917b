"""Which parts of a large file a repair shows."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import Change
from code_commit_commit.changed_parts import changed_parts, changed_ranges

LINES = [f"line {number}\n" for number in range(1, 1001)]
CODEBASE = f"--- a.txt ---\nold\n--- big.py ---\n{''.join(LINES)}--- z.txt ---\nz\n"


def shown(lines: list[str], codebase: str = CODEBASE) -> str:
    return changed_parts([Change("big.py", "".join(lines).encode())], codebase)


def headers(text: str) -> list[str]:
    return re.findall(r"^--- FILE REPLACEMENT (.*) ---$", text, re.MULTILINE)


OTHERS = "the others are as in the codebase"


def test_each_change_is_shown_with_the_lines_around_it():
    lines = [*LINES]
    lines[99:101] = ["new\n"]
    lines[499:499] = ["more\n"]
    text = shown(lines)
    assert headers(text) == [
        f"big.py: lines 70 to 130 of 1000; {OTHERS}",
        f"big.py: lines 470 to 530 of 1000; {OTHERS}",
    ]
    assert "line 99\nnew\nline 102\n" in text
    assert len(text.splitlines()) == 2 + 61 + 61


def test_near_changes_are_one_part_and_the_ends_of_the_file_are_its_ends():
    lines = ["first\n", *LINES[1:50], "new\n", *LINES[51:-1]]
    assert headers(shown(lines)) == [
        f"big.py: lines 1 to 81 of 999; {OTHERS}",
        f"big.py: lines 970 to 999 of 999; {OTHERS}",
    ]


def test_a_file_is_shown_whole_if_it_is_small_new_or_all_different():
    small = [*LINES[:400]]
    whole = f"--- FILE REPLACEMENT big.py ---\n{''.join(LINES)}"
    assert shown(small) == f"--- FILE REPLACEMENT big.py ---\n{''.join(small)}"
    assert shown(LINES, CODEBASE.replace("--- big.py", "--- other.py")) == whole
    assert headers(shown([f"other {line}" for line in LINES])) == ["big.py: all lines"]
    assert shown(LINES) == "--- FILE REPLACEMENT big.py: as in the codebase ---\n"
    assert changed_parts([Change("big.py", None)], CODEBASE) == "--- FILE REMOVED big.py ---\n"


def test_a_header_in_the_file_only_shows_more():
    codebase = CODEBASE.replace("line 500\n", "--- a title ---\n")
    lines = [line.replace("line 500\n", "--- a title ---\n") for line in LINES]
    lines[9] = "new\n"
    [first, second] = headers(shown(lines, codebase))
    assert (first, second) == (
        f"big.py: lines 1 to 40 of 1000; {OTHERS}",
        f"big.py: lines 470 to 1000 of 1000; {OTHERS}",
    )


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=12)


@given(WORDS, WORDS)
def test_what_is_not_shown_is_the_same_in_both_texts(old, new):
    """The lines between the parts are a series of lines of the old text, in its order."""
    rest = [*new]
    for start, end in reversed(list(changed_ranges(old, new))):
        assert 0 <= start <= end <= len(new)
        del rest[start:end]
    remaining = iter(old)
    assert all(line in remaining for line in rest)
    if old == new:
        assert rest == new
