"""Whether the files still are what the model was shown: the manifest that `code-commit rollup` leaves tells."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from code_commit.plugin_api import Tree

MANIFEST = "agent-config/.code-commit/rollup.json"
FRESH = "collect the code anew with `code-commit rollup`, then run again"
_NAMED = 10


class RolledUp:
    """The digests of the files in the rollup, kept up with what this run itself does to them.

    Empty, and with it no file ever changed, where there is no manifest or it is that of another rollup.
    """

    def __init__(self, tree: Tree, digests: Mapping[str, str], others: Iterable[str] | None = None) -> None:
        self._tree = tree
        self._digests = dict(digests)
        self._others = None if others is None else frozenset(others)

    @classmethod
    def of(cls, tree: Tree, rollup: str) -> RolledUp:
        """Read the manifest, if it is the one of `rollup`."""
        try:
            manifest = json.loads(tree.read(MANIFEST) or b"{}")
        except (OSError, ValueError, RecursionError):
            return cls(tree, {})
        match manifest:
            case {"rollup": str(digest), "files": dict(files)} if digest == _digest(rollup.encode()):
                others = manifest.get("others")
                return cls(
                    tree,
                    {path: value for path, value in files.items() if isinstance(value, str)},
                    map(str, others) if isinstance(others, list) else None,
                )
        return cls(tree, {})

    def changed(self, among: Iterable[str] | None = None) -> list[str]:
        """Return the files that are not what they were, of all that the model was shown or of those `among` it.

        Of `among`, also those that were not there at all when the rollup was made.
        """
        paths = set(self._digests if among is None else among)
        known = {path for path in paths if path in self._digests}
        created = set() if self._others is None else paths - known - self._others
        found = {path for path in known if self._digests[path] != _digest_of(self._tree, path)}
        return sorted(found | {path for path in created if _digest_of(self._tree, path) is not None})

    def renew(self) -> None:
        """Take what stands there now as known: a build may have written files, and that is no one else's work."""
        self._others = None
        self._digests = {path: _digest_of(self._tree, path) or "" for path in self._digests}


def named(paths: list[str]) -> str:
    """Return the first of `paths` as one text."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _digest_of(tree: Tree, path: str) -> str | None:
    try:
        content = tree.read(path)
    except (OSError, ValueError):
        return None
    return None if content is None else _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
