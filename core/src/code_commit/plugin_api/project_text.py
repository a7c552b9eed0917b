"""Read the project's text files: queries, rollups, requirements."""

# ruff: noqa: PLC0414 - a function of the workspace, for plugins
from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from code_commit_workspace import NotReady
from code_commit_workspace import decode_text as decode_text

if TYPE_CHECKING:
    from code_commit_workspace import Tree


def read_text(tree: Tree, path: str) -> str | None:
    """Return the text of a project file; None when it does not exist.

    Raises:
        NotReady: it cannot be read, is not a regular file, or is not UTF-8.
    """
    try:
        content = tree.read(path)
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.ELOOP:
            reason = "it is a link, or in a folder that is one"
        raise NotReady(
            f"{path} cannot be read: {reason}",
            hint="replace it with a regular file that you can read",
        ) from error
    if content is None:
        return None
    return decode_text(content, path)
