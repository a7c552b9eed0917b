"""Let a person write the query in their editor, beginning with the latest one: `--edit`.

They edit a file of `agent-config`, so that their text stays if the run cannot start.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady, UsageError, edit_file, open_run_file, read_text
from code_commit_commit.query_file import QUERY, is_sample
from code_commit_workspace import replace_file

if TYPE_CHECKING:
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
    path = _file_to_edit(run)
    try:
        edit_file(run.root / path, run.root)
    except (OSError, ValueError) as error:
        hint = ""
        if run.tree.read(path):
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
    own = read_text(run.tree, QUERY) or ""
    folder = _latest_run(run.root)
    if folder is None:
        return QUERY
    is_newer = False
    with open_run_file(folder, _QUERY_OF_RUN) as file:
        latest = file.read()
    if own.strip() and not is_sample(own):
        written = (run.root / QUERY).stat().st_mtime_ns
        is_newer = written > (folder / _QUERY_OF_RUN).stat().st_mtime_ns
    if is_newer or latest == own.encode():
        return QUERY
    replace_file(run.root / EDITED, latest.rstrip(b"\n") + b"\n")
    return EDITED


def _latest_run(root: Path) -> Path | None:
    """Return the folder of the latest run that had a query."""
    queries = root.glob(f"logs/*/{_QUERY_OF_RUN}")
    latest = max(queries, key=lambda path: path.stat().st_mtime_ns, default=None)
    return latest and latest.parent
