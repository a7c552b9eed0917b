"""The format: the instructions for the model, and the parser."""

from __future__ import annotations

from collections.abc import Iterator

from code_commit.plugin_api import Change, Tree
from code_commit_commit.hooks import MalformedResponse, read_blocks

INSTRUCTIONS = """\
In this run, the text of a block does not replace the file: it is added at its end.
"""


def parse(text: str, tree: Tree) -> tuple[Change, ...]:
    """Return the changes of a response, each with the whole new content of its file.

    Raises:
        MalformedResponse: a block is malformed, or its file is not there.
    """
    return tuple(_changes(text, tree))


def _changes(text: str, tree: Tree) -> Iterator[Change]:
    for block in read_blocks(text):
        try:
            old = tree.read(block.path)
        except (OSError, ValueError):
            old = None
        if old is None or block.content is None:
            raise MalformedResponse(f"{block.path}: text can only be added to an existing file")
        yield Change(block.path, old + block.content)
