"""The offers of first-party plugins, for messages about plugins that are not installed.

`python tests/test_first_party.py` generates `first_party.json` from the plugins. The file is read
only if something is missing or clashes, or a run needs the names of all key variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache

_FILE = os.path.join(os.path.dirname(__file__), "first_party.json")  # noqa: PTH118, PTH120 - pathlib costs


@cache
def offers() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the names that each first-party distribution offers, by kind ("flag", "model", "role",
    ...).
    """
    import json

    with open(_FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs
        by_distribution: dict[str, dict[str, list[str]]] = json.load(file)
    return by_distribution


def names(kind: str) -> frozenset[str]:
    """Return all names of `kind` that first-party plugins offer."""
    return frozenset(name for offered in offers().values() for name in offered.get(kind, ()))


def owner(kind: str, name: str) -> str | None:
    """Return the first-party distribution that offers `name`; for a model, also one with similar
    names.
    """
    for distribution, offered in offers().items():
        if name in offered.get(kind, ()):
            return distribution
    if kind == "model" and (family := _family(name)):
        for distribution, offered in offers().items():
            similar = (*offered.get("model", ()), *offered.get("provider", ()))
            if family in map(_family, similar):
                return distribution
    return None


def keeps_its_names(distribution: str) -> bool:
    """Return whether the distribution keeps its names when another one claims them.

    The host, the default workflow and first-party commands keep theirs. A name that two other
    distributions claim belongs to neither.
    """
    offered = offers().get(distribution, {})
    return (
        distribution == "code-commit"
        or "command" in offered
        or "committing-code" in offered.get("workflow", ())
    )


def installation(distribution: str) -> str:
    """Return the commands that install a first-party plugin. No index has it."""
    extra = distribution.removeprefix("code-commit-")
    return f'in a checkout of code-commit, pip install ".[{extra}]" or uv tool install ".[all]"'


def _family(model: str) -> str:
    """Return the first letters of a model's name: "gpt" for "gpt-5-mini"."""
    match = re.match("[a-z]*", model.lower())
    return match[0] if match else ""
