"""The cost of calls."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import Usage
from code_commit_history.cost import Cost


@pytest.mark.parametrize(
    ("provider", "usage", "recorded", "error_kind", "expected"),
    [
        ("gemini", Usage(1000, 100), 0.5, None, "$0.5000"),
        ("replay", Usage(1000, 100), None, None, "$0.0000"),
        ("gemini", Usage(None, None), None, None, "?"),
        ("gemini", Usage(None, None), None, "auth", "$0.0000"),
        ("gemini", Usage(None, None), None, "network", "?"),
        ("gemini", Usage(None, None), None, "interrupted", "?"),
    ],
)
def test_the_cost_of_a_call(provider, usage, recorded, error_kind, expected):
    cost = Cost.of_call(provider, "gemini-2.5-pro", usage, recorded=recorded, error_kind=error_kind)
    assert str(cost) == expected


def test_a_sum_with_an_unknown_cost_is_marked():
    assert str(Cost.sum([Cost(0.25, complete=True), Cost(0.0, complete=False)])) == "$0.2500+"
