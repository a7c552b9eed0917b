"""Read the project's text files: queries, rollups, requirements."""

from __future__ import annotations

import errno

from code_commit_workspace.errors import NotReady
from code_commit_workspace.records import Tree


def read_text(tree: Tree, path: str) -> str | None:
    """Return the text of a project file; None when it does not exist.

    Raises:
        NotReady: it cannot be read, is not a regular file, or is not UTF-8.
    """
    try:
        content = tree.read(path)
    except OSError as error:
        reason = (
            "it is a link, or in a folder that is one"
            if error.errno == errno.ELOOP
            else error.strerror
        )
        hint = "replace it with a regular file that you can read"
        raise NotReady(f"{path} cannot be read: {reason}", hint=hint) from error
    return None if content is None else decode_text(content, path)


def decode_text(content: bytes, name: str) -> str:
    """Decode `content`; `name` names it in errors.

    Raises:
        NotReady: it is not UTF-8; the message names the line and byte.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotReady(
            f"{name} is not UTF-8: line {line}, byte {error.start}",
            hint="convert it to UTF-8",
        ) from None
