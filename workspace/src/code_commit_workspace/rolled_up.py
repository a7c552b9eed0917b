"""Compare files with the rollup, which is the text of all files that a model sees. Its manifest has their digests."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping

from code_commit_workspace.records import Tree

MANIFEST = "agent-config/.code-commit/rollup.json"


class RolledUp:
    """The digests of the files in the rollup, updated after the builds of this run.

    Without a manifest for this rollup, it is empty and no file counts as changed. `patterns` are the include and
    exclude patterns of the rollup; None if the manifest has none.
    """

    def __init__(
        self,
        tree: Tree,
        digests: Mapping[str, str],
        others: Iterable[str] | None = None,
        patterns: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
    ) -> None:
        self.patterns = patterns
        self._tree = tree
        self._digests = dict(digests)
        self._others = None if others is None else frozenset(others)

    @classmethod
    def of(cls, tree: Tree, rollup: str) -> RolledUp:
        """Read the manifest if it belongs to `rollup`."""
        try:
            manifest = json.loads(tree.read(MANIFEST) or b"{}")
        except (OSError, ValueError, RecursionError):
            return cls(tree, {})
        text = rollup.encode()
        match manifest:
            case {"version": 3, "rollup": int(checksum), "files": dict(files), "others": list(others)} if (
                checksum == zlib.crc32(text)
            ):
                return cls.of_files(tree, text, files, map(str, others), _patterns(manifest))
        return cls(tree, {})

    @classmethod
    def of_files(
        cls,
        tree: Tree,
        text: bytes,
        files: Mapping[str, tuple[int, int]],
        others: Iterable[str],
        patterns: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
    ) -> RolledUp:
        """Digest each of the `files` from its start to its end in `text`, in bytes; `others` are not in it."""
        digests = {str(path): _digest(text[start:end]) for path, (start, end) in files.items()}
        return cls(tree, digests, others, patterns)

    def changed(self, among: Iterable[str] | None = None) -> list[str]:
        """Return the files that changed since the rollup, sorted.

        With `among`, look only at these paths, and count files that were created since the rollup, too.
        """
        paths = set(self._digests if among is None else among)
        known = {path for path in paths if path in self._digests}
        created = set() if self._others is None else paths - known - self._others
        found = {path for path in known if self._digests[path] != _digest_of(self._tree, path)}
        return sorted(found | {path for path in created if _digest_of(self._tree, path) is not None})

    def renew(self) -> None:
        """Update the digests from the files on disk: the build of this run may have written them."""
        self._others = None
        self._digests = {path: _digest_of(self._tree, path) or "" for path in self._digests}


def _patterns(manifest: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    match manifest:
        case {"include": list(include), "exclude": list(exclude)}:
            return tuple(map(str, include)), tuple(map(str, exclude))
    return None


def _digest_of(tree: Tree, path: str) -> str | None:
    try:
        content = tree.read(path)
    except (OSError, ValueError):
        return None
    return None if content is None else _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
