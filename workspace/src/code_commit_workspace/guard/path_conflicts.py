"""Find conflicts between the paths of one response: together they must describe one tree."""

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
        yield from self._twice([change.path for change in changes])
        yield from self._below_a_file(
            [change.path for change in changes if change.content is not None]
        )
        yield from self._same_but_for_case([change.path for change in changes])

    def _twice(self, paths: Sequence[str]) -> Iterator[Refusal]:
        for path, times in Counter(paths).items():
            if times > 1:
                yield self._refusal(
                    path, "The response has this path twice. Include each file once."
                )

    def _below_a_file(self, written: Sequence[str]) -> Iterator[Refusal]:
        # NUL sorts first, and no path contains it: so the paths below a path follow directly after
        # it.
        above = ""
        for key in sorted({path.replace("/", "\0") for path in written}):
            if above and key.startswith(above):
                file = above[:-1].replace("\0", "/")
                reason = (
                    f"The response writes {quote(file)} as a file, but in this path it is a folder."
                )
                yield self._refusal(key.replace("\0", "/"), reason)
            else:
                above = key + "\0"

    def _same_but_for_case(self, paths: Sequence[str]) -> Iterator[Refusal]:
        first: dict[str, str] = {}
        alike = [(first.setdefault(folded(path), path), path) for path in paths]
        alike = [(one, other) for one, other in alike if one != other]
        if alike and _ignores_case(self._tree):
            for one, other in alike:
                reason = f"The response also has {quote(one)}, which is the same file here: the names differ only in case."
                yield self._refusal(other, reason)

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
        known, found = (
            os.stat(each, dir_fd=tree.handle, follow_symlinks=False)
            for each in (name, name.swapcase())
        )
    except FileNotFoundError:
        return False
    return os.path.samestat(known, found)
