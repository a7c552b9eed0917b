"""The text of a reply on a terminal: lines break between words, however the text arrives."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from code_commit.run.reply_printer import ReplyPrinter, cells

ALPHABET = st.sampled_from("ab字 \t\n")


def screen(written: str, columns: int) -> list[str]:
    """Return the lines of a terminal, for the commands that the printer uses."""
    lines = [""]
    column = 0
    for back, character in re.findall(r"\x1b\[(\d+)D\x1b\[K|([^\x1b])", written):
        if back:
            column -= int(back)
            while cells(lines[-1]) > column:
                lines[-1] = lines[-1][:-1]
        elif character == "\n":
            lines.append("")
            column = 0
        else:
            assert column + cells(character) < columns  # the terminal would break the line
            lines[-1] += character
            column += cells(character)
    return lines


@given(st.lists(st.text(ALPHABET, max_size=8)), st.integers(30, 60))
def test_lines_break_between_words_however_the_text_arrives(pieces, columns):
    written: list[str] = []
    printer = ReplyPrinter(written.append, str, columns=columns)
    text = "".join(pieces)
    if max((cells(word) for word in text.split()), default=0) >= columns:
        return  # the terminal breaks such a word
    for piece in pieces:
        printer(piece)
    shown = screen("".join(written), columns)
    whole: list[str] = []
    ReplyPrinter(whole.append, str, columns=columns)(text)
    assert [line.rstrip() for line in shown] == [
        line.rstrip() for line in screen("".join(whole), columns)
    ]
    assert " ".join(shown).split() == text.split()
    assert "\x1b" not in "".join(whole)


def test_the_speaker_is_named_before_the_first_words_and_no_pipe_gets_line_breaks():
    written: list[str] = []
    printer = ReplyPrinter(written.append, str.upper, speaker="coach")
    for piece in ("\n", " \n\n  if a:", "\n", "    b\n", "word " * 40):
        printer(piece)
    assert "".join(written) == f" coach says:\n  IF A:\n    B\n{'WORD ' * 40}"
