"""The page about models says what each finish word does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from code_commit.plugin_api import Finish
from code_commit.plugin_api.reply import FINISH_WORDS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
MEANINGS = {
    Finish.STOP: "the reply is whole",
    Finish.TOOL_CALLS: "the model calls tools",
    Finish.PAUSED: "the model takes a break",
    Finish.LENGTH: "too long",
    Finish.FILTERED: "filtered",
    Finish.REFUSED: "the model refused",
}


@pytest.mark.parametrize("word", FINISH_WORDS)
def test_the_page_has_the_meaning_of_a_word(word):
    section = PAGE.read_text().split("## The end of a reply")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| (.*?) \|", section, re.MULTILINE)
    meanings = [meaning for words, meaning in rows if f"`{word}`" in words.split(", and any")[0]]
    assert [meaning.split(";")[0] for meaning in meanings] == [MEANINGS[FINISH_WORDS[word]]]
