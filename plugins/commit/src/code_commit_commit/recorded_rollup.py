"""What the manifest of the rollup records, read without keeping its text: it may be large."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from code_commit_commit.hooks import Selection

if TYPE_CHECKING:
    from code_commit.plugin_api import Json, Tree

Patterns = tuple[tuple[str, ...], tuple[str, ...]]
"""The patterns of the files to include, and of those to exclude."""
NO_PATTERNS: Patterns = ((), ())
_ROLLUP = "agent-config/codeRollup.txt"
_MANIFEST = "agent-config/.code-commit/rollup.json"
_PIECE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class RecordedChoice:
    """What a context chose for `code-commit rollup`, or for the run that a replay repeats.

    `limit` is the most tokens of it. `named` are the files of `--files`, `related` those that
    joined each repair.
    """

    context: str
    limit: int
    selection: Selection = field(repr=False)
    named: tuple[str, ...] = ()
    related: tuple[tuple[str, ...], ...] = ()

    def next_related(self) -> Callable[..., Sequence[str]]:
        """Return a function that returns the files of one repair after the other."""
        repairs = iter(self.related)
        return lambda *_: next(repairs, ())

    @property
    def document(self) -> Json:
        """The choice for the manifest."""
        selection = self.selection
        return {
            "context": self.context,
            "reason": selection.reason,
            "tokens": self.limit,
            "files": list(selection.paths),
            "map": {path: list(names) for path, names in selection.map.items()},
            "named": list(self.named),
            "related": list(map(list, self.related)),
        }


def recorded_choice(tree: Tree) -> RecordedChoice | None:
    """Return the choice that the rollup has, or None if it has all files, or is not ours."""
    match _manifest(tree, only_with=b'"choice": {').get("choice"):
        case {
            "context": str(context),
            "reason": str(reason),
            "tokens": int(limit),
            "files": list(files),
            "map": dict(names_by_path),
            "named": list(named),
            "related": list(related),
        }:
            names = {str(path): tuple(map(str, names)) for path, names in names_by_path.items()}
            return RecordedChoice(
                context,
                limit,
                Selection(paths=tuple(map(str, files)), map=names, reason=reason),
                named=tuple(map(str, named)),
                related=tuple(tuple(map(str, paths)) for paths in related),
            )
    return None


def rollup_patterns(tree: Tree) -> Patterns | None:
    """Return the patterns of the rollup, or None if another program wrote it.

    Without a rollup, there are no patterns.
    """
    if not tree.size(_ROLLUP):
        return NO_PATTERNS
    match _manifest(tree):
        case {"include": list(include), "exclude": list(exclude)}:
            return tuple(map(str, include)), tuple(map(str, exclude))
    return None


def _manifest(tree: Tree, only_with: bytes = b"") -> Mapping[str, Any]:
    """Return the manifest if it belongs to the rollup and has the text `only_with`."""
    try:
        text = tree.read(_MANIFEST) or b"{}"
        if only_with not in text:
            return {}
        manifest = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(manifest, dict) or manifest.get("rollup") != _checksum(tree):
        return {}
    return manifest


def _checksum(tree: Tree) -> int:
    checksum = 0
    for start in range(0, tree.size(_ROLLUP), _PIECE):
        checksum = zlib.crc32(tree.read(_ROLLUP, _PIECE, start=start) or b"", checksum)
    return checksum
