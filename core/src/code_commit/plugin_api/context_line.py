"""The line for people about the files that a context chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_commit.plugin_api.words import count_of

_CAUSES = {
    "request": "the response asks for more files: ",
    "failure": "files for the repair: ",
}


def describe_context(data: Mapping[str, Any]) -> str:
    """Return how many files the data of a `context.chosen` are about, with tokens and cost."""
    files, cost = data.get("files"), data.get("cost_usd")
    shown = len(files) if isinstance(files, list | tuple) else 0
    text = (
        f"{_CAUSES.get(str(data.get('cause')), '')}{data.get('context')} "
        f"{shown:,} of {_count(data, 'total', 'file')}, about {_count(data, 'tokens', 'token')}"
    )
    return f"{text} (${cost:.2f})" if isinstance(cost, int | float) else text


def _count(data: Mapping[str, Any], name: str, noun: str) -> str:
    number = data.get(name)
    return count_of(number if isinstance(number, int) else 0, noun)
