"""Bound how much one change set may do: a reply of a megabyte could name a hundred thousand files."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit_workspace.records import Change, Refusal

MOST_FILES = 10_000


def too_many(changes: Sequence[Change], most_files: int) -> Refusal | None:
    """Return the refusal of the whole change set if it has more than `most_files`, or far more folders; else None."""
    if len(changes) > most_files:
        return _refusal(f"The response changes {len(changes):,} files", most_files)
    most_folders = max(most_files, MOST_FILES)
    written = [change.path for change in changes if change.content is not None]
    if sum(path.count("/") for path in written) > most_folders and _folders(written) > most_folders:
        return _refusal(f"The response writes files in more than {most_folders:,} folders", most_folders)
    return None


def _folders(paths: Sequence[str]) -> int:
    """Return how many folders `paths` name. It keeps no path of a folder: of deep ones, these are long."""
    count = 0
    before: list[str] = []
    for path in sorted(paths, key=lambda path: path.replace("/", "\0")):
        folders = path.split("/")[:-1]
        pairs = enumerate(zip(folders, before, strict=False))
        shared = next((number for number, (one, other) in pairs if one != other), min(len(folders), len(before)))
        count += len(folders) - shared
        before = folders
    return count


def _refusal(what: str, most: int) -> Refusal:
    reason = f"{what}; at most {most:,} are allowed. Change fewer."
    hint = "ask for a smaller change, or raise max_files in the configuration"
    return Refusal("", "amount", reason, then="repair", hint=hint)
