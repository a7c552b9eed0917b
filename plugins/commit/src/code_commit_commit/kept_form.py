"""Keep what the response format has no word for: CRLF, a BOM, and the mode of a file that moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from posixpath import basename
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, MessageLogged

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree

_BOM = b"\xef\xbb\xbf"
_USUAL_MODES = frozenset({0o644, 0o664})
_SIMILAR = 0.5  # of the lines are the same in a file that moved, as git has it
_COMPARED = 50  # deleted files that a new one is compared with, line by line
_LARGEST = 1024 * 1024  # bytes of a file that is compared line by line


class KeptForms:
    """The forms of the files that the responses of a run delete or empty.

    A later one may bring them back.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: dict[str, _File] = {}

    def keep(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Return `changes` in the form of the files that they replace or move.

        Report what each file keeps.

        The content of a text with LF gets the uniform CRLF and the BOM of the old file. A new file
        that takes the place of a deleted one keeps its mode, too, also if an earlier response
        deleted it.
        """
        tree = self._run.tree
        self._before |= _emptied(changes, tree)
        deleted = self._deleted_earlier() | _deleted(changes, tree)
        self._before |= deleted
        if not any(file.is_special for file in deleted.values()):
            deleted = {}
        return tuple(self._in_form(change, deleted) for change in changes)

    def _deleted_earlier(self) -> dict[str, _File]:
        """Return the files of before that are not there now."""
        tree = self._run.tree
        return {path: file for path, file in self._before.items() if _read(tree, path) is None}

    def _in_form(self, change: Change, deleted: Mapping[str, _File]) -> Change:
        if change.content is None:
            return change
        current = _read(self._run.tree, change.path)
        source = ""
        if current is None:
            source = _source(change.path, _File(change.content), deleted)
            old = deleted[source] if source else _File(b"")
        else:
            old = _File(current)  # a file that is there keeps its mode anyway
            if current == b"":
                old = self._before.get(change.path, old)
                old = replace(old, mode=None)
        content = old.form(change.content)
        if content != current:
            moved = f"moved from {source}, " if source not in {"", change.path} else ""
            for trait in old.traits_in(change.content):
                self._run.emit(MessageLogged(f"{change.path}: {moved}it keeps its {trait}"))
        return replace(change, content=content, mode=old.mode)


@dataclass(frozen=True)
class _File:
    """An old file. `mode` is None if the umask may decide."""

    content: bytes
    mode: int | None = None

    @cached_property
    def text(self) -> bytes:
        """The content as the format shows it: without a BOM, with LF."""
        return self.content.removeprefix(_BOM).replace(b"\r\n", b"\n")

    @cached_property
    def lines(self) -> frozenset[bytes]:
        """The different lines; none of a large file."""
        if len(self.text) > _LARGEST:
            return frozenset()
        return frozenset(self.text.splitlines())

    @cached_property
    def is_special(self) -> bool:
        """Whether a file that takes its place has something to keep."""
        return self.mode is not None or self.has_bom or self.has_crlf

    @cached_property
    def has_crlf(self) -> bool:
        count = self.content.count(b"\r\n")
        return count > 0 and count == self.content.count(b"\n")

    @cached_property
    def has_bom(self) -> bool:
        return self.content.startswith(_BOM)

    def form(self, content: bytes) -> bytes:
        """Return `content` with the line ends and the BOM of this file."""
        if self._adds_crlf(content):
            content = content.replace(b"\n", b"\r\n")
        return _BOM + content if self._adds_bom(content) else content

    def traits_in(self, content: bytes) -> Iterator[str]:
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
    """Return the files that `changes` delete."""
    files: dict[str, _File] = {}
    for change in changes:
        if change.content is not None:
            continue
        content = _read(tree, change.path)
        if content is None:
            continue
        with suppress(OSError, ValueError):
            mode = tree.mode(change.path)
            files[change.path] = _File(content, None if mode in _USUAL_MODES else mode)
    return files


def _emptied(changes: Sequence[Change], tree: Tree) -> dict[str, _File]:
    """Return the files that `changes` replace by empty ones."""
    files = {change.path: _read(tree, change.path) for change in changes if change.content == b""}
    return {path: _File(content) for path, content in files.items() if content}


def _source(path: str, new: _File, deleted: Mapping[str, _File]) -> str:
    """Return the deleted file that moved to `path`, or an empty text if none clearly did.

    It has the same path, or else the same text, or else the same name, or else more of the same
    lines than any other.
    """
    if path in deleted:
        return path
    same = [old for old, file in deleted.items() if new.text and file.text == new.text]
    named = [old for old in same or deleted if basename(old) == basename(path)]
    if len(named) == 1:
        return named[0]
    if same:
        return same[0]
    compared = (named or list(deleted))[:_COMPARED]
    scores = {old: _similarity(new.lines, deleted[old].lines) for old in compared}
    best = max(scores.values(), default=0.0)
    closest = [old for old, score in scores.items() if score == best]
    return closest[0] if best >= _SIMILAR and len(closest) == 1 else ""


def _similarity(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    """Return which part of the lines of the longer text is in both."""
    return len(one & other) / max(len(one), len(other), 1)


def _read(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except (OSError, ValueError):
        return None  # not a regular file or a valid path: the path rules refuse it
