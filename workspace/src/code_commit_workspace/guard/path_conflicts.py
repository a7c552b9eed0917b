"""Find conflicts between the paths of one response: together they must form one tree."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from code_commit_workspace.files.folding import folded
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.guard.names import quote
from code_commit_workspace.records import Change, Refusal, Tree


class PathConflicts:
    """Each path occurs once, and no file is also the folder of another.

    Names that differ only in case are different files, unless the file system ignores case.
    """

    name = "one-tree"

    def __init__(self, tree: ProjectTree) -> None:
        self._tree = tree

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - see `__init__`
        """Refuse each change that contradicts another one."""
        paths = [change.path for change in changes]
        written = [change.path for change in changes if change.content is not None]
        yield from self._twice(paths)
        yield from self._below_a_file(written)
        yield from self._same_but_for_case(paths)

    def _twice(self, paths: Sequence[str]) -> Iterator[Refusal]:
        for path, times in Counter(paths).items():
            if times > 1:
                reason = "The response has this path twice. Include each file once."
                yield self._refusal(path, reason)

    def _below_a_file(self, written: Sequence[str]) -> Iterator[Refusal]:
        # NUL sorts first and is in no path, so a path is followed directly by those below it.
        above = ""
        for key in sorted({path.replace("/", "\0") for path in written}):
            if not above or not key.startswith(above):
                above = key + "\0"
                continue
            file = quote(above[:-1].replace("\0", "/"))
            reason = f"The response writes {file} as a file, but in this path it is a folder."
            yield self._refusal(key.replace("\0", "/"), reason)

    def _same_but_for_case(self, paths: Sequence[str]) -> Iterator[Refusal]:
        first_paths: dict[str, str] = {}
        pairs = [(first_paths.setdefault(folded(path), path), path) for path in paths]
        pairs = [(first, path) for first, path in pairs if first != path]
        if pairs and _ignores_case(self._tree):
            for first, path in pairs:
                reason = (
                    f"The response also has {quote(first)}, which is the same file here: "
                    "the names differ only in case."
                )
                yield self._refusal(path, reason)

    def _refusal(self, path: str, reason: str) -> Refusal:
        # The response is wrong, not the path.
        return Refusal(path, self.name, reason, then="repair")


def _ignores_case(tree: ProjectTree) -> bool:
    """Return whether the project's file system ignores case in names."""
    with os.scandir(tree.handle) as entries:
        names = (entry.name for entry in entries)
        name = next((name for name in names if name.swapcase() != name), None)
    if name is None:
        return False
    try:
        status = os.stat(name, dir_fd=tree.handle, follow_symlinks=False)
        swapped = os.stat(name.swapcase(), dir_fd=tree.handle, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(status, swapped)
