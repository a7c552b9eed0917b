"""The tables of docs/comparison.md have the faults and the tools that `make peers` measures."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/comparison.md"


@pytest.fixture
def peers(monkeypatch):
    """The names of the faults and of the tools."""
    monkeypatch.syspath_prepend(ROOT / "bench/peers")
    faults, tools = (importlib.import_module(name) for name in ("faults", "tools"))
    monkeypatch.delitem(sys.modules, "faults")
    monkeypatch.delitem(sys.modules, "tools")
    return [fault.name for fault in faults.FAULTS], [tool.name for tool in tools.TOOLS]


def _tables():
    """Return the cells of each table of the page, by the words of its first heading."""
    tables = [block for block in PAGE.read_text("utf-8").split("\n\n") if block.startswith("|")]
    rows = [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for table in tables
    ]
    return {tuple(table[0]): table[2:] for table in rows}


def test_each_fault_is_in_both_tables(peers):
    faults, tools = peers
    tables = _tables()
    assert [row[0] for row in tables["fault", "what happens"]] == faults
    assert [row[0] for row in tables["fault", *tools]] == faults


def test_each_tool_has_a_speed_and_a_version(peers):
    _, tools = peers
    rows = _tables()["tool", "CPU", "time", "calls", "sent", "left on disk"]
    assert [row[0] for row in rows] == tools
    versions = next(
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("Measured on")
    )
    assert all(f" {tool} " in versions for tool in tools)
