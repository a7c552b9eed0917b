"""The table of docs/models.md about prompt caching matches the prices of genai-prices and the data
of the plugins.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from code_commit.plugin_api import Usage, cost_of
from code_commit_anthropic.models import MODELS as ANTHROPIC
from code_commit_anthropic.models import WRITE, WRITE_FOR_AN_HOUR
from code_commit_gemini.models import MODELS as GEMINI
from code_commit_openai.models import CACHE_MINIMUM
from code_commit_openai.models import MODELS as OPENAI

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8")
TABLE = PAGE.partition("| models | a read |")[2].partition("\n\n")[0].splitlines()[2:]
ROWS = [
    (model, *(cell.strip() for cell in cells))
    for first, *cells in (line.strip("| ").split("|") for line in TABLE)
    for model in re.findall("`([^`]+)`", first)
]
TAIL = 1 / 8  # of what prompts have in common


def multiple(model: str, **usage: int) -> float:
    """Return the price of input of some kind, as a multiple of that of other input."""
    cost, plain = (cost_of(model, Usage(10_000, 0, **fields)) for fields in (usage, {}))
    assert cost is not None
    assert plain
    return cost / plain


@pytest.mark.parametrize(("model", "read", "write", "repair", "pays", "minimum"), ROWS)
def test_a_row_matches(model, read, write, repair, pays, minimum):
    reads, writes = multiple(model, cache_read=10_000), multiple(model, cache_write=10_000)
    assert reads == pytest.approx(float(read))
    assert writes == pytest.approx(float(write))
    assert repair.startswith(f"{(reads + TAIL) / (1 + TAIL):.0%}".replace("%", " %"))
    chance = f"{(writes - 1) / (1 - reads):.0%}".replace("%", " %")
    assert pays == (f"from a {chance} chance of a repair" if writes > 1 else "always")
    minimums = {name: least for name, (*_, least) in {**ANTHROPIC, **GEMINI}.items()}
    assert int(minimum.replace(",", "")) == minimums.get(model, CACHE_MINIMUM)


def test_every_model_has_a_row():
    assert {*ANTHROPIC, *GEMINI, *OPENAI} <= {model for model, *_ in ROWS}


def test_an_hour_costs_what_the_page_says():
    assert multiple("claude-sonnet-5", cache_write=10_000) == pytest.approx(WRITE)
    assert f"a write then costs\n  {WRITE_FOR_AN_HOUR:.0f} times" in PAGE
    assert f"pays from {(WRITE_FOR_AN_HOUR - 1) / (1 - 0.1):.2f} repairs" in PAGE


@pytest.mark.parametrize(
    ("model", "window"), [(name, row[1]) for name, row in {**OPENAI, **ANTHROPIC, **GEMINI}.items()]
)
def test_windows_are_near_those_of_genai_prices(model, window):
    from genai_prices import data_snapshot

    priced = (
        data_snapshot.get_snapshot().find_provider_model(model, None, None, None)[1].context_window
    )
    assert priced is None or abs(window / priced - 1) <= 0.051
