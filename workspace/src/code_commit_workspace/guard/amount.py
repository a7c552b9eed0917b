"""Bound how much one change set may do: a megabyte can name a hundred thousand files."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit_workspace.records import Change, Refusal

MOST_FILES = 10_000


def too_many(changes: Sequence[Change], most_files: int) -> Refusal | None:
    """Return the refusal of a change set with too many files or folders; else None."""
    if len(changes) > most_files:
        return _refusal(f"The response changes {len(changes):,} files", most_files)
    most_folders = max(most_files, MOST_FILES)
    written = [change.path for change in changes if change.content is not None]
    if sum(path.count("/") for path in written) > most_folders and _folders(written) > most_folders:
        what = f"The response writes files in more than {most_folders:,} folders"
        return _refusal(what, most_folders)
    return None


def _folders(paths: Sequence[str]) -> int:
    """Return how many folders `paths` name.

    No path of a folder is kept: those of deep ones are long.
    """
    count = 0
    before: list[str] = []
    for path in sorted(paths, key=lambda path: path.replace("/", "\0")):
        folders = path.split("/")[:-1]
        shared = 0
        for one, other in zip(folders, before, strict=False):
            if one != other:
                break
            shared += 1
        count += len(folders) - shared
        before = folders
    return count


def _refusal(what: str, most: int) -> Refusal:
    reason = f"{what}; at most {most:,} are allowed. Change fewer."
    hint = "ask for a smaller change, or raise max_files in the configuration"
    return Refusal("", "amount", reason, then="repair", hint=hint)
