"""The response format `edits`: the blocks of the format `files`, with a whole file or edits."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, count_of
from code_commit_commit.hooks import (
    MalformedResponse,
    ResponseFormat,
    read_blocks,
    watch_blocks,
)
from code_commit_edits.edited_file import edited
from code_commit_edits.edits import read_edits

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

_LARGEST = 128 * 1024 * 1024  # bytes of a file
_MOST_FILES = 10  # that a message describes


def edits_format() -> ResponseFormat:
    """Return the format."""
    return ResponseFormat(
        name="edits",
        help="the changed parts of files, as search and replace blocks",
        instructions=(files("code_commit_edits") / "instructions.txt").read_text("utf-8"),
        parse=parse_response,
        watch=watch_response,
        is_partial=True,
    )


def parse_response(response: str, tree: Tree) -> list[Change]:
    """Return the changes of a response, with the whole new content of each file.

    Raises:
        MalformedResponse: a block is malformed, or the edits of a file do not fit it.
    """
    blocks = [(block, read_edits(block)) for block in read_blocks(response)]
    changes: list[Change] = []
    faults: list[str] = []
    for block, edits in blocks:
        content = block.content
        if edits:
            try:
                describe = len(faults) < _MOST_FILES
                old = _content(block.path, tree)
                content = edited(block.path, old, edits, describe=describe)
            except MalformedResponse as problem:
                faults.append(str(problem))
        changes.append(Change(block.path, content))
    if faults:
        described = faults[:_MOST_FILES]
        if left_out := len(faults) - len(described):
            described.append(f"The edits of {count_of(left_out, 'more file')} do not fit, either.")
        raise MalformedResponse("\n\n".join(described))
    return changes


def watch_response(max_files: int) -> Callable[[str], int | None]:
    """Return a function for one response, which finds malformed blocks while they arrive."""
    return watch_blocks(max_files, read_edits)


def _content(path: str, tree: Tree) -> bytes | None:
    """Return the content of a file, or None if there is none.

    Raises:
        MalformedResponse: it cannot be read, or is too large.
    """
    try:
        content = tree.read(path, _LARGEST + 1)
    except (OSError, ValueError) as error:
        raise MalformedResponse(f"{path}: it is not a file that can be edited") from error
    if content is not None and len(content) > _LARGEST:
        raise MalformedResponse(f"{path}: it is too large to be edited")
    return content
