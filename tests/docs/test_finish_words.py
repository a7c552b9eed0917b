"""The page about models says what each finish word does.

python tests/docs/test_finish_words.py       writes the words of `FINISH_WORDS` to the page
"""

from __future__ import annotations

import re
from pathlib import Path

from code_commit.plugin_api import Finish
from code_commit.plugin_api.finish_words import FINISH_WORDS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
MEANINGS = {
    Finish.STOP: "the reply is whole",
    Finish.TOOL_CALLS: "the model calls tools",
    Finish.PAUSED: "the model takes a break",
    Finish.LENGTH: "too long",
    Finish.FILTERED: "filtered",
    Finish.REFUSED: "the model refused",
}


def with_words(page: str) -> str:
    """Return the page with the words of the table that says what they mean."""
    for finish, meaning in MEANINGS.items():
        words = ", ".join(f"`{word}`" for word, known in FINISH_WORDS.items() if known is finish)
        row = re.compile(rf"^\| `[^|]*?`(, and any other word [^|]*)? \| {meaning}\b", re.MULTILINE)
        page, rows = row.subn(rf"| {words}\1 | {meaning}", page)
        assert rows == 1, f"the page has {rows} rows for {meaning!r}"
    return page


def test_the_page_has_the_meaning_of_each_word():
    page = PAGE.read_text("utf-8")

    assert set(MEANINGS) == set(FINISH_WORDS.values())
    assert with_words(page) == page


if __name__ == "__main__":
    PAGE.write_text(with_words(PAGE.read_text("utf-8")), "utf-8")
