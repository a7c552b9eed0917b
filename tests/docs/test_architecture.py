"""docs/architecture.md names existing files and definitions, and every word of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
PACKAGES = [
    path.parent
    for pattern in ("*/src/*", "plugins/*/src/*")
    for path in ROOT.glob(f"{pattern}/__init__.py")
]
# Each has one meaning in the code and a row on the page.
WORDS = """workspace|change|change set|path rule|refusal|store|tree|state|move|merge|conflict|log of a run|sandbox|run|
attempt|call|completion|wire|provider|named config|role|layer|sink|event|command|fleet|unit"""


def named_files() -> set[str]:
    """Return the files that the page names."""
    return set(re.findall(r"`([\w/]+\.(?:py|json))`", PAGE)) - {"run.json"}


def named_definitions() -> set[tuple[str, str]]:
    """Return the names that the page says are defined in a file, each with the file."""
    return set(re.findall(r"`(\w+)` in (?:the workspace's )?`([\w/]+\.py)`", PAGE))


def files_named(name: str) -> list[Path]:
    return [
        path
        for package in PACKAGES
        for path in package.rglob(Path(name).name)
        if str(path).endswith(f"/{name}")
    ]


@pytest.mark.parametrize("name", sorted(named_files()))
def test_a_named_file_exists(name: str) -> None:
    assert files_named(name) or (ROOT / name).is_file()


@pytest.mark.parametrize(("name", "file"), sorted(named_definitions()))
def test_a_named_definition_is_in_its_file(name: str, file: str) -> None:
    definition = re.compile(rf"^(?:(?:def|class) )?{name}\b", re.MULTILINE)
    assert any(definition.search(path.read_text("utf-8")) for path in files_named(file))


@pytest.mark.parametrize("word", re.split(r"\|\s*", WORDS))
def test_the_glossary_contains_each_word(word: str) -> None:
    assert f"\n| {word} | " in PAGE
