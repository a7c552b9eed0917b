"""Compare files with the rollup, which is the text of all files that a model sees.

Its manifest has their digests.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from code_commit.plugin_api.private_folder import STATE_FOLDER
from code_commit_workspace import Tree

MANIFEST = f"{STATE_FOLDER}/rollup.json"


@dataclass(frozen=True)
class RolledUp:
    """The files in the rollup, according to its manifest.

    `digests` has the SHA-256 of each, in hex. `others` are the files that were there and are not in
    the rollup. `patterns` are the include and exclude patterns of the rollup; None if the manifest
    has none. Without a manifest for this rollup, `digests` is empty, `others` is None, and no file
    counts as changed.
    """

    tree: Tree
    digests: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] | None = None
    patterns: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @classmethod
    def of(cls, tree: Tree, rollup: str) -> RolledUp:
        """Read the manifest if it belongs to `rollup`."""
        try:
            manifest = json.loads(tree.read(MANIFEST) or b"{}")
        except (OSError, ValueError, RecursionError):
            return cls(tree)
        text = rollup.encode()
        match manifest:
            case {
                "version": 3,
                "rollup": int(checksum),
                "files": dict(files),
                "others": list(others),
            } if checksum == zlib.crc32(text):
                return cls.of_files(tree, text, files, map(str, others), _patterns(manifest))
        return cls(tree)

    @classmethod
    def of_files(
        cls,
        tree: Tree,
        text: bytes,
        files: Mapping[str, tuple[int, int]],
        others: Iterable[str],
        patterns: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
    ) -> RolledUp:
        """Digest each of the `files` from its start to its end in `text`, in bytes.

        `others` are the files that are not in it.
        """
        digests = {str(path): _digest(text[start:end]) for path, (start, end) in files.items()}
        return cls(tree, digests, frozenset(others), patterns)

    def changed(self) -> list[str]:
        """Return the files of the rollup that changed since, or are gone, sorted."""
        digests = self.digests.items()
        return sorted(path for path, digest in digests if digest != _digest_of(self.tree, path))


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
    if content is None:
        return None
    return _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
