"""Decode the text of a file, with an error that names the line."""

from __future__ import annotations

from code_commit_workspace.errors import NotReady


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
