"""The patterns of the rollup that is there, read without keeping its text: it may be large."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

Patterns = tuple[tuple[str, ...], tuple[str, ...]]
"""The patterns of the files to include, and of those to exclude."""
NO_PATTERNS: Patterns = ((), ())
_ROLLUP = "agent-config/codeRollup.txt"
_MANIFEST = "agent-config/.code-commit/rollup.json"
_PIECE = 1 << 20  # bytes


def rollup_patterns(tree: Tree) -> Patterns | None:
    """Return the patterns of the rollup, or None if another program wrote it.

    Without a rollup, there are no patterns.
    """
    size = tree.size(_ROLLUP)
    if not size:
        return NO_PATTERNS
    manifest = _manifest(tree)
    choice = manifest.get("choice", manifest)
    match manifest, choice:
        case {"rollup": int(checksum)}, {"include": list(include), "exclude": list(exclude)}:
            if checksum == _checksum(tree, size):
                return tuple(map(str, include)), tuple(map(str, exclude))
    return None


def _manifest(tree: Tree) -> Mapping[str, Any]:
    try:
        manifest = json.loads(tree.read(_MANIFEST) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _checksum(tree: Tree, size: int) -> int:
    checksum = 0
    for start in range(0, size, _PIECE):
        checksum = zlib.crc32(tree.read(_ROLLUP, _PIECE, start=start) or b"", checksum)
    return checksum
