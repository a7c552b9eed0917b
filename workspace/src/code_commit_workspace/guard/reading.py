"""What may be shown to a model: the project's own visible files, and no secret of the person or of this program."""

from __future__ import annotations

import stat
from collections.abc import Sequence

from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.ignored import reasons
from code_commit_workspace.guard.names import PlainPath, normalised
from code_commit_workspace.guard.places import PathLookup, kind, look
from code_commit_workspace.guard.protected import ProtectedNames
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.protected import PROTECTED
from code_commit_workspace.records import Refusal

_CLOSED = frozenset({".git", "agent-config", "logs"})


def unreadable(paths: Sequence[str], tree: ProjectTree, git: Git, *, files_only: bool = False) -> dict[str, Refusal]:
    """Return why a model may not see them, for those of `paths` that it may not see.

    With `files_only` a folder is refused, and so is what is not there.
    """
    refused: dict[str, Refusal] = {}
    plain = PlainPath(tree.root)
    closed = ProtectedNames(entry for entry in PROTECTED if entry.name in _CLOSED)
    try:
        lookup = PathLookup(tree, git)
    except GitError as error:
        return {path: Refusal(path, "reading", f"git cannot tell what this path is: {error}.") for path in paths}
    asked: dict[str, list[str]] = {}
    for given in paths:
        path = normalised(given)
        if reason := plain.reason(path) or _closed(path, closed) or _place(path, lookup, tree, files_only=files_only):
            refused[given] = Refusal(given, "reading", reason)
        else:
            asked.setdefault(path, []).append(given)
    for path, reason in reasons(list(asked), git).items():
        refused.update((given, Refusal(given, "reading", reason)) for given in asked[path])
    return refused


def _closed(path: str, closed: ProtectedNames) -> str | None:
    found = closed.find(path)
    return found and f"Nothing in {found[0].name} is shown to a model."


def _place(path: str, lookup: PathLookup, tree: ProjectTree, *, files_only: bool) -> str | None:
    state = lookup.to(path)
    found = look(tree, path) if state.there and state.reason is None else state.reason
    if found is None:
        return "Nothing stands there." if files_only else None
    if isinstance(found, str):
        return found
    if stat.S_ISREG(found.st_mode) or (stat.S_ISDIR(found.st_mode) and not files_only):
        return None
    return f"What stands there is {kind(found)}; only regular files are read."
