"""Show changed files and their diffs, to the coach and to the person."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from code_commit.plugin_api import FileDiff, Json, Run, count_of
from code_commit_planner.agents.work_done import Changes
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import legible, listed
from code_commit_toolbox.shortening import fitting

_NAMES = 0.25  # of the characters of a text, at most
_LEAST = 200  # characters of a diff that is worth showing


def changes_text(changes: Changes, limit: int) -> str:
    """Return the changed files and their diffs for a model, in about `limit` characters.

    Where the diffs are longer, each file has its beginning, and the number of lines left out.
    """
    files = changes.files
    if not files:
        return "Nothing has changed."
    lines = [f"{_kind(changes, file)}: {file_line(file)}{_mark(changes, file)}" for file in files]
    shown = fitting(lines, int(limit * _NAMES))
    if shown < len(lines):
        lines[shown:] = [f"... and {count_of(len(lines) - shown, 'more file', 'more files')}"]
    return "\n".join([*lines, "", *shortened_diffs(files, limit)])


def file_line(file: FileDiff) -> str:
    """Return the path of a file and the numbers of its added and removed lines."""
    if file.added is None:
        return f"{legible(file.path)} (binary)"
    return f"{legible(file.path)} +{file.added} -{file.removed}"


def show_files(run: Run, files: Sequence[FileDiff]) -> None:
    """Show the person which files the agents changed."""
    if files:
        lines = listed([file_line(file) for file in files])
        show(run, f"{messages.CHANGED_FILES}\n{lines}")


def show_diff(run: Run, changes: Changes) -> None:
    """Show the person the diff of what the agents changed, large files shortened."""
    diff = "\n".join(shortened_diffs(changes.files, run.settings.diff_limit))
    show(run, diff or messages.NOTHING_CHANGED)


def files_data(files: Sequence[FileDiff]) -> list[Json]:
    """Return the files for the result of a run."""
    return [{"path": file.path, "added": file.added, "removed": file.removed} for file in files]


def shortened_diffs(files: Sequence[FileDiff], limit: int) -> Iterator[str]:
    """Yield the diff of each file, at most `limit` characters of them all.

    A file whose part would be too small to read is left out.
    """
    texts = {file.path: file.text for file in files if file.text}
    shares = _shares({path: len(text) for path, text in texts.items()}, limit)
    left_out = len(files) - len(shares)
    for path, text in texts.items():
        if path in shares:
            yield _beginning(text, shares[path])
    if left_out:
        yield f"[the diffs of {count_of(left_out, 'file')} are left out; read the files]"


def _shares(sizes: Mapping[str, int], limit: int) -> dict[str, int]:
    """Return how many characters each text gets: short ones all of theirs, long ones the same."""
    shortest_first = sorted(sizes, key=sizes.__getitem__)
    chosen = shortest_first[: max(1, limit // _LEAST)]
    shares: dict[str, int] = {}
    rest = limit
    for number, path in enumerate(chosen):
        shares[path] = min(sizes[path], rest // (len(chosen) - number))
        rest -= shares[path]
    return shares


def _beginning(text: str, limit: int) -> str:
    """Return the first lines of a diff, and how many lines are left out."""
    lines = text.removesuffix("\n").split("\n")
    shown = fitting(lines, limit)
    if shown == len(lines) or len(text) <= limit:
        return text.removesuffix("\n")
    note = f"[... {count_of(len(lines) - shown, 'line')} of this diff left out; read the file ...]"
    return "\n".join([*lines[:shown], note])


def _kind(changes: Changes, file: FileDiff) -> str:
    if not os.path.lexists(changes.run.root / file.path):
        return "deleted"
    header = file.text.partition("\n@@")[0]
    return "new" if "\nnew file mode " in header else "changed"


def _mark(changes: Changes, file: FileDiff) -> str:
    return " (the user changed it, too)" if file.path in changes.shared else ""
