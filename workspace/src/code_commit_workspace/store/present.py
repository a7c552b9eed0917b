"""The files of a look. Only those that are asked for are looked at again."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.store.saved import Saved
from code_commit_workspace.store.snapshot import Snapshot
from code_commit_workspace.store.visible import Modes, Statuses, statuses

_MANY = 1000  # with more paths, one list of all is faster


class PresentFiles:
    """The files in `snapshot`, which shows what is there now."""

    def __init__(self, tree: ProjectTree, saved: Saved, snapshot: Snapshot) -> None:
        self._tree = tree
        self._saved = saved
        self._snapshot = snapshot

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all files."""
        return frozenset(self._saved.listing(self._snapshot.tree))

    def among(self, paths: Collection[str]) -> Collection[str]:
        """Return those of `paths` that are files in the snapshot."""
        if not paths:
            return ()
        if len(paths) > _MANY:
            return self.paths.intersection(paths)
        return self._saved.states(self._snapshot.tree, paths)

    def statuses(self, paths: Collection[str]) -> Statuses:
        """Return the present status of those of `paths` that are files in the snapshot."""
        return statuses(self._tree, self.among(paths))

    def with_other_bits(self, modes: Modes) -> Collection[str]:
        """Return the paths of all files whose permission bits may differ from those in `modes`."""
        return paths_with_other_bits(self._snapshot.modes, modes, self)


def paths_with_other_bits(old: Modes, new: Modes, present: PresentFiles) -> Collection[str]:
    """Return the paths of all `present` files whose bits may differ between `old` and `new`.

    Other paths may be among them.
    """
    if (old.plain, old.executable) != (new.plain, new.executable):
        return present.paths
    return {
        path
        for path in old.unusual.keys() | new.unusual.keys()
        if old.unusual.get(path) != new.unusual.get(path)
    }
