"""The estimate of tokens, compared with counts of real tokenizers.

`cases/token_counts.json` holds texts with their tokens in `o200k_base` and `cl100k_base` of OpenAI
(js-tiktoken 1.0) and in the tokenizer that Anthropic has published (@anthropic-ai/tokenizer 0.0.4,
of older models). The middle is the geometric mean of the first and the last. Gemini's tokenizer,
and those of newer Claude models, are not public.
"""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path

import pytest

from code_commit.plugin_api import estimate_tokens
from code_commit.plugin_api.tokens import ArrivingText, most_tokens

COUNTS = json.loads((Path(__file__).parent / "cases/token_counts.json").read_text("utf-8"))
TOKENIZERS = ("o200k_base", "cl100k_base", "claude")
CODE = COUNTS["python"]["text"]


@pytest.mark.parametrize("kind", COUNTS)
def test_the_estimate_is_within_20_percent_of_the_middle(kind: str) -> None:
    middle = math.sqrt(COUNTS[kind]["o200k_base"] * COUNTS[kind]["claude"])
    assert estimate_tokens(COUNTS[kind]["text"]) == pytest.approx(middle, rel=0.2)


@pytest.mark.parametrize("kind", COUNTS)
def test_no_tokenizer_has_more_than_the_bound(kind: str) -> None:
    counted = max(COUNTS[kind][name] for name in TOKENIZERS)
    assert counted < most_tokens(COUNTS[kind]["text"]) <= len(COUNTS[kind]["text"].encode())


def test_the_bound_of_code_is_far_below_its_bytes() -> None:
    assert most_tokens(CODE) < 0.45 * len(CODE)


@pytest.mark.parametrize(
    ("letters", "tokens"),
    # Tokens of 1,000 random characters, the most of the three tokenizers.
    [
        ("!@#$%^&*()[]{};:,.<>/?|~`+-=_", 693),
        ("abcdefghijklmnopqrstuvwxyz", 554),
        ("\x01\x02\x7f", 1000),
        ("é界🚀", 1628),
        (" \t\n\r", 489),
    ],
)
def test_the_bound_holds_for_text_that_no_person_writes(letters: str, tokens: int) -> None:
    text = "".join(random.Random(7).choices(letters, k=1000))  # noqa: S311 - the same each time
    assert most_tokens(text) >= tokens


def test_a_long_text_is_sampled() -> None:
    mixed = CODE * 200 + COUNTS["base64"]["text"] * 100
    whole = 200 * estimate_tokens(CODE) + 100 * estimate_tokens(COUNTS["base64"]["text"])
    assert estimate_tokens(mixed) == pytest.approx(whole, rel=0.1)
    assert (estimate_tokens(""), most_tokens("")) == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 32_768, 32_769, 100_003, 1_000_000])
def test_a_text_that_arrives_in_pieces_has_the_same_estimate(size: int) -> None:
    text = (CODE + "é界🚀 {}[]\n" + COUNTS["base64"]["text"]) * (size // 1000 + 1)
    content = text.encode()[:size]
    whole = content.decode("utf-8", "ignore")
    choices = random.Random(size)  # noqa: S311 - the same each time
    arriving, start = ArrivingText(), 0
    while start < len(whole.encode()):
        end = start + choices.choice([1, 7, 300, 5000, 700_000])
        arriving.add(whole.encode()[start:end])
        start = end
    assert (arriving.size, arriving.tokens) == (len(whole.encode()), estimate_tokens(whole))


@pytest.mark.parametrize("letter", " \n\t.aA1é")
def test_time_is_linear_in_the_text(letter: str) -> None:
    start = time.process_time()
    most_tokens(letter * 100_000)
    assert time.process_time() - start < 5
