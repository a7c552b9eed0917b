"""Every promise of docs/security.md names tests, and they exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
COLUMNS = ["promise", "how it is enforced", "tests", "where it ends"]
TEST = re.compile(r"\[(?P<words>[^\]]+)\]\((?P<file>[^)#]+\.py)#(?P<name>test_\w+)\)")


def promises() -> Iterator[list[str]]:
    """Yield the cells of each row of the tables of promises."""
    in_table = False
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if in_table and cells and not set(cells[0]) <= {"-"}:
            yield cells
        in_table = cells == COLUMNS or (in_table and bool(cells))


@cache
def names_of_tests(file: Path) -> frozenset[str]:
    return frozenset(
        re.findall(r"^ *(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    )


ROWS = list(promises())


def test_the_page_has_promises() -> None:
    assert len(ROWS) > 40
    assert all(len(row) == len(COLUMNS) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row[0])[:60])
def test_each_promise_has_tests_that_exist(row: list[str]) -> None:
    assert TEST.search(row[2])
    for test in TEST.finditer(" ".join(row)):
        assert test["name"] in names_of_tests(PAGE.parent / test["file"]), test[0]
