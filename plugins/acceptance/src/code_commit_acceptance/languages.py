"""What checks a project, by language: the data in `languages.toml`."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pathspec import GitIgnoreSpec

Kind = Literal["test", "support", "snapshot", "configuration"]
_KINDS: Mapping[Kind, str] = {
    "configuration": "configuration",
    "snapshot": "snapshots",
    "test": "tests",
    "support": "support",
}
_NEVER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Language:
    """The marks of test code in one language; see `languages.toml`."""

    name: str
    suffixes: tuple[str, ...]
    comment: tuple[str, ...]
    attribute: str
    test: re.Pattern[str] = field(repr=False)
    definition: re.Pattern[str] = field(repr=False)
    group: re.Pattern[str] = field(repr=False)
    assertion: re.Pattern[str] = field(repr=False)
    skip: re.Pattern[str] = field(repr=False)
    only: re.Pattern[str] = field(repr=False)
    hollow: re.Pattern[str] = field(repr=False)
    suppression: re.Pattern[str] = field(repr=False)


def language_of(path: str) -> Language | None:
    """Return the language of a file, by its suffix."""
    name = _names_by_suffix().get(posixpath.splitext(path)[1])
    return _language(name) if name else None


@cache
def kind_of(path: str) -> Kind | None:
    """Return what a file checks, or None if it is no check file."""
    for kind, spec in _specs().items():
        if spec.match_file(path):
            return kind
    return None


def sections_of(path: str) -> Sequence[str]:
    """Return the beginnings of the names of those parts of a shared file that configure checks."""
    return _sections().get(posixpath.basename(path), ())


@cache
def _data() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((files("code_commit_acceptance") / "languages.toml").read_text("utf-8"))


@cache
def _names_by_suffix() -> Mapping[str, str]:
    return {suffix: name for name, marks in _data().items() for suffix in marks.get("suffixes", ())}


@cache
def _language(name: str) -> Language:
    marks = _data()[name]
    patterns = {
        mark: re.compile(marks[mark]) if mark in marks else _NEVER
        for mark in (
            "test", "definition", "group", "assertion", "skip", "only", "hollow", "suppression",
        )
    }  # fmt: skip
    return Language(
        name,
        suffixes=tuple(marks["suffixes"]),
        comment=tuple(marks["comment"]),
        attribute=marks["attribute"],
        **patterns,
    )


@cache
def _specs() -> Mapping[Kind, GitIgnoreSpec]:
    return {
        kind: GitIgnoreSpec.from_lines(
            pattern for marks in _data().values() for pattern in marks.get(field, ())
        )
        for kind, field in _KINDS.items()
    }


@cache
def _sections() -> Mapping[str, Sequence[str]]:
    sections: dict[str, Sequence[str]] = {}
    for marks in _data().values():
        sections |= marks.get("sections", {})
    return sections
