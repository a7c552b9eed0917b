"""Let a person write the query in their editor, beginning with the latest one: `--edit`.

They edit a file of `agent-config`, so that their text stays if the run cannot start.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady, UsageError, edit_file, open_run_file, read_text
from code_commit_commit.query_file import QUERY, is_sample
from code_commit_workspace import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from code_commit.plugin_api import Run

EDITED = "agent-config/edited-query.txt"  # a text that no run has begun with
_QUERY_OF_RUN = "input-query.txt"  # in a run folder


def edit_latest_query(run: Run) -> str:
    """Open the latest query in the user's editor; return the path of the file with the text.

    Raises:
        UsageError: stdin or stdout is not a terminal.
        NotReady: the editor failed, or the text is empty.
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "--edit opens an editor, which needs a terminal",
            hint="pass --query TEXT, or `--query-file -` to read it from stdin",
        )
    (run.root / EDITED).parent.mkdir(exist_ok=True)
    path = _file_to_edit(run)
    try:
        edit_file(run.root / path, run.root)
    except (OSError, ValueError) as error:
        hint = ""
        text = run.tree.read(path)
        if path == EDITED and text == _latest_query(run.root):
            forget_edited_query(run)  # it is only a copy
        elif text:
            hint = f"your text is in {path}, and `code-commit --edit` opens it again"
        raise NotReady(f"no call was made: {error}", hint=hint) from error
    if not (read_text(run.tree, path) or "").strip():
        raise NotReady("no call was made: the query is empty")
    return path


def forget_edited_query(run: Run) -> None:
    """Remove the edited text, because a run has begun with it."""
    (run.root / EDITED).unlink(missing_ok=True)


def _file_to_edit(run: Run) -> str:
    """Return the file to edit: a text that no run has begun with, or the latest query.

    The latest one is that of `query.txt`, or that of a run that began after this file was written.
    """
    if read_text(run.tree, EDITED):
        return EDITED
    latest = _latest_query(run.root)
    own = run.tree.read(QUERY) or b""
    if latest is None or own.rstrip(b"\n") == latest.rstrip(b"\n") or _is_newer_than_runs(run, own):
        return QUERY
    replace_file(run.root / EDITED, latest)
    return EDITED


def _is_newer_than_runs(run: Run, own: bytes) -> bool:
    """Return whether the text of `query.txt` is a query that was written after the latest run."""
    if not own.strip() or is_sample(own.decode("utf-8", "replace")):
        return False
    written = (run.root / QUERY).stat().st_mtime_ns
    return written > max(map(_written, _queries(run.root)))


def _latest_query(root: Path) -> bytes | None:
    """Return the query of the latest run that had one, with one line end at its end."""
    file = max(_queries(root), key=_written, default=None)
    if file is None:
        return None
    with open_run_file(file.parent, file.name) as opened:
        return opened.read().rstrip(b"\n") + b"\n"


def _queries(root: Path) -> Iterator[Path]:
    return root.glob(f"logs/*/{_QUERY_OF_RUN}")


def _written(file: Path) -> int:
    return file.stat().st_mtime_ns
