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
    """Return the names that each first-party distribution offers, by kind, such as "flag"."""
    import json

    with open(_FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs
        by_distribution: dict[str, dict[str, list[str]]] = json.load(file)
    return by_distribution


def names(kind: str) -> frozenset[str]:
    """Return all names of `kind` that first-party plugins offer."""
    all_offers = offers().values()
    return frozenset(name for names_by_kind in all_offers for name in names_by_kind.get(kind, ()))


def owner(kind: str, name: str) -> str | None:
    """Return the first-party distribution that offers `name`; for a model, also a similar name."""
    for distribution, names_by_kind in offers().items():
        if name in names_by_kind.get(kind, ()):
            return distribution
    family = _family(name)
    if kind != "model" or not family:
        return None
    for distribution, names_by_kind in offers().items():
        models = (*names_by_kind.get("model", ()), *names_by_kind.get("provider", ()))
        if family in map(_family, models):
            return distribution
    return None


def keeps_its_names(distribution: str) -> bool:
    """Return whether the distribution keeps its names when another one claims them.

    The host, the default workflow and first-party commands keep theirs. A name that two other
    distributions claim belongs to neither.
    """
    if distribution == "code-commit":
        return True
    names_by_kind = offers().get(distribution, {})
    return "command" in names_by_kind or "committing-code" in names_by_kind.get("workflow", ())


def _family(model: str) -> str:
    """Return the first letters of a model's name: "gpt" for "gpt-5-mini"."""
    return re.split("[^a-z]", model.lower(), maxsplit=1)[0]
