"""Read and write one file of the project as text, within the host's path rules."""

from __future__ import annotations

from code_commit.plugin_api import Change, NotReady, ResponseRefused, Run, count_of
from code_commit_toolbox.tool import ToolError
from code_commit_workspace import normalise_path

_SAMPLE = 8192  # a NUL in the first bytes marks a binary file


def folder_named(path: str) -> str:
    """Return the folder that a model names `path`; "" is the root."""
    folder = normalise_path(path).rstrip("/")
    return "" if folder == "." else folder


def is_below(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies in it; "" is the root."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def require_readable(run: Run, path: str) -> None:
    """Check that a model may read `path`.

    Raises:
        ToolError: a model may not read it.
    """
    if refusal := run.may_read(path):
        raise ToolError(f"{path} cannot be read: {refusal.reason}")


def read_text(run: Run, path: str, limit: int) -> str:
    """Return the text of the file at `path`, of at most `limit` bytes.

    Raises:
        ToolError: a model may not read it, or it is missing, not text, or too large.
    """
    text = text_if_any(run, path, limit)
    if text is None:
        raise ToolError(f"There is no file {path}.")
    return text


def text_if_any(run: Run, path: str, limit: int) -> str | None:
    """Return the text of the file at `path`, or None if it does not exist.

    Raises:
        ToolError: as `read_text`.
    """
    require_readable(run, path)
    try:
        content = run.tree.read(path, limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ToolError(f"{path} is not a file that can be read: {reason}") from error
    if content is None:
        return None
    if len(content) > limit:
        raise ToolError(
            f"{path} is larger than {count_of(limit, 'byte')}. Read parts of it with a command."
        )
    if b"\0" in content[:_SAMPLE]:
        raise ToolError(f"{path} is a binary file of {count_of(len(content), 'byte')}.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ToolError(
            f"{path} is not UTF-8: line {line} contains the byte 0x{content[error.start]:02x}."
        ) from None


def write_text(run: Run, path: str, text: str, limit: int) -> bool:
    """Write `text` to the file at `path`; return whether that changed anything.

    Raises:
        ToolError: it is not allowed or failed; the file is unchanged.
    """
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"The text contains a lone surrogate at {error.start}, which cannot be written."
        ) from None
    if len(content) > limit:
        size = count_of(len(content), "byte")
        raise ToolError(f"The text has {size}; the limit is {limit:,}.")
    change = Change(path, content)
    if refusals := run.check([change]):
        reasons = [
            f"{refusal.path or path} cannot be written: {refusal.reason}" for refusal in refusals
        ]
        raise ToolError("; ".join(reasons))
    if run.tree.read(path, len(content) + 1) == content:
        return False
    try:
        run.apply([change])
    except (NotReady, ResponseRefused) as error:
        raise ToolError(f"{path} was not written: {error.message}") from error
    return True
