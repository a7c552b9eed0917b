"""Count the lines that a tool changes in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from code_commit.plugin_api import Json, Run
from code_commit_toolbox.tool import Tool, ToolContext
from code_commit_toolbox.toolbox import Toolbox

WRITING_TOOLS = ("write_file", "str_replace")
_COMPARED = 500  # lines; comparing more takes too long
_LIMIT = 10 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """The numbers of lines that a call added to the file at `path` and removed from it."""

    path: str
    added: int
    removed: int


def with_edits(toolbox: Toolbox, run: Run, report: Callable[[Edit], None]) -> Toolbox:
    """Return `toolbox` with tools that report what they changed."""
    tools = dict(toolbox.tools)
    for name in WRITING_TOOLS:
        tools[name] = _reporting(tools[name], run, report)
    return replace(toolbox, tools=tools)


def _reporting(tool: Tool, run: Run, report: Callable[[Edit], None]) -> Tool:
    def call(context: ToolContext, arguments: Json) -> str:
        path = arguments["path"]
        before = _lines(run, path)
        text = tool.call(context, arguments)
        added, removed = changed_lines(before, _lines(run, path))
        report(Edit(path, added, removed))
        return text

    return replace(tool, call=call)


def changed_lines(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """Return how many lines were added and removed; in a large change, moved lines do not count."""
    start = 0
    least = min(len(before), len(after))
    while start < least and before[start] == after[start]:
        start += 1
    end = 0
    while end < least - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old = before[start : len(before) - end]
    new = after[start : len(after) - end]
    if max(len(old), len(new)) > _COMPARED:
        return (Counter(new) - Counter(old)).total(), (Counter(old) - Counter(new)).total()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(new) - same, len(old) - same


def _lines(run: Run, path: str) -> Sequence[bytes]:
    """Return the lines of a file; none if it cannot be read."""
    with suppress(OSError, ValueError):
        return (run.tree.read(path, _LIMIT) or b"").splitlines()
    return ()
