"""Keep what the response format has no word for: CRLF, a BOM, and the mode of a file that moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from posixpath import basename
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, MessageLogged

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree

_BOM = b"\xef\xbb\xbf"
_USUAL_MODES = frozenset({0o644, 0o664})
_SIMILAR = 0.5  # of the lines are the same in a file that moved, as git has it
_COMPARED = 200  # deleted files that a new one is compared with, line by line
_LARGEST = 1024 * 1024  # bytes of a file that is compared line by line


def keep_form(changes: Sequence[Change], run: Run) -> tuple[Change, ...]:
    """Return `changes` in the form of the files that they replace or move, and report what each file keeps.

    The content of a text with LF gets the uniform CRLF and the BOM of the old file. A new file that takes the place of
    a deleted one keeps its mode, too.
    """
    return tuple(_kept(changes, run))


def _kept(changes: Sequence[Change], run: Run) -> Iterator[Change]:
    deleted = _deleted(changes, run.tree)
    for change in changes:
        if change.content is None:
            yield change
            continue
        old = _read(run.tree, change.path)
        source = "" if old is not None else _source(change.path, change.content, deleted)
        before = deleted[source] if source else _File(old or b"")
        kept = replace(change, content=before.form(change.content), mode=before.mode)
        if kept.content != old:
            moved = f"moved from {source}, " if source else ""
            for what in before.kept_in(change.content):
                run.emit(MessageLogged(f"{change.path}: {moved}it keeps its {what}"))
        yield kept


@dataclass(frozen=True, slots=True)
class _File:
    """An old file. `mode` is None if the umask may decide."""

    content: bytes
    mode: int | None = None

    @property
    def has_crlf(self) -> bool:
        return b"\r\n" in self.content and self.content.count(b"\r\n") == self.content.count(b"\n")

    @property
    def has_bom(self) -> bool:
        return self.content.startswith(_BOM)

    def form(self, content: bytes) -> bytes:
        """Return `content` with the line ends and the BOM of this file."""
        if self._adds_crlf(content):
            content = content.replace(b"\n", b"\r\n")
        return _BOM + content if self._adds_bom(content) else content

    def kept_in(self, content: bytes) -> Iterator[str]:
        """Yield what this file adds to `content`, for people."""
        if self._adds_crlf(content):
            yield "CRLF line ends"
        if self._adds_bom(content):
            yield "byte order mark"
        if self.mode is not None:
            yield f"mode {self.mode:04o}"

    def _adds_crlf(self, content: bytes) -> bool:
        return b"\n" in content and b"\r" not in content and self.has_crlf

    def _adds_bom(self, content: bytes) -> bool:
        return bool(content) and self.has_bom and not content.startswith(_BOM)


def _deleted(changes: Sequence[Change], tree: Tree) -> dict[str, _File]:
    """Return the deleted files, if a new file may take the place of one."""
    if all(change.content is None for change in changes):
        return {}
    files: dict[str, _File] = {}
    for change in changes:
        content = _read(tree, change.path) if change.content is None else None
        if content is not None:
            with suppress(OSError, ValueError):
                mode = tree.mode(change.path)
                files[change.path] = _File(content, None if mode in _USUAL_MODES else mode)
    return files


def _source(path: str, content: bytes, deleted: Mapping[str, _File]) -> str:
    """Return the deleted file that moved to `path`, or an empty text if none clearly did.

    It has the same text, or else the same name, or else more of the same lines than any other.
    """
    text = _text(content)
    same = [old for old, file in deleted.items() if text and _text(file.content) == text]
    named = [old for old in same or deleted if basename(old) == basename(path)]
    if len(named) == 1:
        return named[0]
    if same:
        return same[0]
    lines = Counter(text.splitlines())
    compared = (named or list(deleted))[:_COMPARED]
    scores = {old: _similarity(lines, deleted[old].content) for old in compared}
    best = max(scores.values(), default=0.0)
    closest = [old for old, score in scores.items() if score == best]
    return closest[0] if best >= _SIMILAR and len(closest) == 1 else ""


def _similarity(lines: Counter[bytes], other: bytes) -> float:
    """Return which part of the longer text's lines is in both."""
    if len(other) > _LARGEST:
        return 0.0
    others = Counter(_text(other).splitlines())
    return (lines & others).total() / (max(lines.total(), others.total()) or 1)


def _text(content: bytes) -> bytes:
    """Return `content` as the format shows it: without a BOM, with LF."""
    return content.removeprefix(_BOM).replace(b"\r\n", b"\n")


def _read(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except (OSError, ValueError):
        return None  # not a regular file or a valid path: the path rules refuse it
