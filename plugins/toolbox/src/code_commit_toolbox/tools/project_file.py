"""Read and write one file of the project as text, within the host's path rules."""

from __future__ import annotations

from code_commit.plugin_api import Change, Conflict, NotReady, ResponseRefused, Run, count_of
from code_commit_toolbox.tool import Seen, ToolContext, ToolError
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
    return _require(path, text_if_any(run, path, limit))


def show_text(context: ToolContext, path: str, limit: int) -> str:
    """Return the text of the file at `path` for the agent, and remember that it has seen it.

    Raises:
        ToolError: as `read_text`.
    """
    return _require(path, show_text_if_any(context, path, limit))


def show_text_if_any(context: ToolContext, path: str, limit: int) -> str | None:
    """Return the text of the file at `path` for the agent, or None if it does not exist.

    Remember that the agent has seen it.

    Raises:
        ToolError: as `read_text`.
    """
    name = normalise_path(path)
    context.seen.pop(name, None)
    text = text_if_any(context.run, path, limit)
    context.seen[name] = text
    return text


def _require(path: str, text: str | None) -> str:
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


def write_text(
    context: ToolContext, path: str, text: str, limit: int, *, over: str | None = None
) -> bool:
    """Write `text` to the file at `path`; return whether that changed anything.

    It replaces the file as the agent saw it last, or the text `over`, of which the agent knows only
    a part. What a person changed elsewhere in the file since then stays.

    Raises:
        ToolError: it is not allowed or failed, or a person changed the same places; the file is
            unchanged.
    """
    run = context.run
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
    is_changed = run.tree.read(path, len(content) + 1) != content
    if is_changed:
        _apply(run, change, context.seen if over is None else {change.path: over})
    if over is None:
        context.seen[change.path] = text
    return is_changed


def _apply(run: Run, change: Change, seen: Seen) -> None:
    shown = {}
    if change.path in seen:
        text = seen[change.path]
        shown[change.path] = None if text is None else text.encode()
    try:
        run.apply([change], shown=shown)
    except Conflict as error:
        raise ToolError(
            f"{change.given} was not written: it was changed since you read it, at the same "
            "places. Read it again with a tool, then write it."
        ) from error
    except (NotReady, ResponseRefused) as error:
        raise ToolError(f"{change.given} was not written: {error.message}") from error
