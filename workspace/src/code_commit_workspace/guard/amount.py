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
    slashes = sum(path.count("/") for path in written)  # no fewer than folders, quicker to count
    if slashes > most_folders and _count_folders(written) > most_folders:
        problem = f"The response writes files in more than {most_folders:,} folders"
        return _refusal(problem, most_folders)
    return None


def _count_folders(paths: Sequence[str]) -> int:
    """Return how many folders `paths` name.

    This stores no paths of folders: those of deep folders are long.
    """
    count = 0
    folders_before: list[str] = []
    for path in sorted(paths, key=lambda path: path.replace("/", "\0")):
        folders = path.split("/")[:-1]
        shared = 0
        for folder, folder_before in zip(folders, folders_before, strict=False):
            if folder != folder_before:
                break
            shared += 1
        count += len(folders) - shared
        folders_before = folders
    return count


def _refusal(problem: str, most: int) -> Refusal:
    reason = f"{problem}; at most {most:,} are allowed. Change fewer."
    hint = "ask for a smaller change, or raise max_files in the configuration"
    return Refusal("", "amount", reason, then="repair", hint=hint)
