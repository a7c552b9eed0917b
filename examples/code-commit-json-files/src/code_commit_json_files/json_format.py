"""The format: the instructions for the model, and the parser."""

from __future__ import annotations

import json

from code_commit.plugin_api import Change, Tree
from code_commit_commit.hooks import MalformedResponse

INSTRUCTIONS = """\
Do not use the blocks described above. Respond with one JSON object and nothing else: each key is
the path of a file, each value its whole new content as a string, or null to delete the file.
"""


def parse(text: str, tree: Tree) -> tuple[Change, ...]:
    """Return the changes of a response.

    Raises:
        MalformedResponse: it is no JSON object of texts.
    """
    try:
        files = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise MalformedResponse(f"the response is no JSON: {error}") from None
    if not isinstance(files, dict) or not files:
        raise MalformedResponse("the response is no JSON object with at least one file")
    return tuple(_change(path, content) for path, content in files.items())


def _change(path: str, content: object) -> Change:
    if content is None:
        return Change(path, None)
    if not isinstance(content, str):
        raise MalformedResponse(f"the content of {path} is neither a string nor null")
    try:
        return Change(path, content.encode())
    except UnicodeEncodeError:
        raise MalformedResponse(f"the content of {path} is not valid Unicode") from None


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object, and refuse a file that it names twice."""
    files = dict(pairs)
    if len(files) < len(pairs):
        raise MalformedResponse("the response names a file twice")
    return files
