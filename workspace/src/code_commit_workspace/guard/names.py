"""Rules for the text of a path, checked before the disk."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from code_commit_workspace.records import Change, Refusal, Tree
from code_commit_workspace.words import CONTROL, INVISIBLE

_NAME_MAX = 255  # bytes, on every file system in use
_PATH_MAX = 4095  # bytes of the absolute path
_DEEPEST = 100  # folders

# Matches most paths, and none that `PlainPath` refuses for its characters: a quick first check.
_ORDINARY = re.compile(r"(?:\w[\w.+-]*/)*\w[\w.+-]*", re.ASCII)
_UNWRITABLE = re.compile(f"[\t\n{CONTROL}]")
# Persian and emoji need joiners (U+200C, U+200D), so these count only next to an ASCII character
# or at an end.
_INVISIBLE = re.compile(
    f"(?![\u200c\u200d])[{INVISIBLE}]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
_FENCE = re.compile(r"\A\^\^\^|\A(?:end|delete)\Z")
_NOT_PORTABLE = (
    (
        re.compile(r"\\"),
        "The path contains a backslash, which separates folders on Windows; use `/`.",
    ),
    (
        re.compile(r":"),
        "The path contains a colon, which names a drive or a hidden stream on Windows.",
    ),
    (
        re.compile(r'[<>"|?*]'),
        'The path contains one of < > " | ? *, which names on Windows cannot have.',
    ),
    (re.compile(r"\A~"), "The path begins with `~`, which shells replace with a home folder."),
    (re.compile(r"\A\s"), "The path begins with a space."),
)


def quote(text: str) -> str:
    """Quote `text`: escape unprintable characters, and leave out the middle of a long text."""
    if len(text) > _NAME_MAX:
        text = f"{text[:60]}…{text[-20:]}"
    if not text.isprintable():
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return f"'{text}'"


class PlainPath:
    """A path must be plain and relative: printable names with `/` between them."""

    name = "plain-path"

    def __init__(self, root: Path) -> None:
        self._longest = _PATH_MAX - len(os.fsencode(root)) - 1
        self._short = min(self._longest, _NAME_MAX)

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - only the text counts
        """Refuse every path that is not plain and relative."""
        for change in changes:
            if (reason := self.reason(change.path)) is not None:
                yield Refusal(change.path, self.name, reason)

    def reason(self, path: str) -> str | None:
        """Return why `path` is not a plain relative path, or None if it is one."""
        if len(path) <= self._short and _ORDINARY.fullmatch(path) and path.count("/") <= _DEEPEST:
            return None
        if not path.strip():
            return "The path is empty."
        if path.startswith("/"):
            return "The path is absolute; use a path from the root of the project."
        if match := _UNWRITABLE.search(path):
            return f"The path contains {_character(match[0])}."
        return self._wrong_length(path) or _wrong_shape(path)

    def _wrong_length(self, path: str) -> str | None:
        """Return why `path` is too long, has a name that is too long, or too many folders."""
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            return "The path contains characters that file names cannot have in this locale."
        if length > self._longest:
            return f"The path is {length} bytes long; at most {self._longest} are allowed."
        if length > _NAME_MAX:
            longest_name = max(len(os.fsencode(part)) for part in path.split("/"))
            if longest_name > _NAME_MAX:
                return f"A name in the path is longer than {_NAME_MAX} bytes."
        if (folders := path.count("/")) > _DEEPEST:
            return f"The path has {folders} folders; at most {_DEEPEST} are allowed."
        return None


class PortableName:
    """A name must mean the same file on every system, and look like what it is."""

    name = "portable-name"

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Send back names that some system takes for another file, a device or an expression.

        An existing file may keep its odd name, unless the name is not what it looks like. The names
        of devices are those of Windows: "Naming Files, Paths, and Namespaces" in Microsoft's
        documentation.
        """
        for change in changes:
            reason = _misleading(change.path) or _not_portable(change.path, tree)
            if reason is not None:
                yield Refusal(change.path, self.name, reason, then="repair")


def _misleading(path: str) -> str | None:
    """Return why `path` is not what it looks like, or None."""
    if _FENCE.search(path):
        return "The path looks like a fence of a response."
    if path.isascii():
        return None
    if match := _INVISIBLE.search(path):
        return f"The path contains {_character(match[0])}, so its name is not what it looks like."
    for name in path.split("/"):
        if unicodedata.normalize("NFKC", name) in {".", ".."}:
            return f"The name {quote(name)} is a form of `.` or `..`."
    return None


def _not_portable(path: str, tree: Tree) -> str | None:
    """Return why a new file at `path` would be another one on some system, or None."""
    reason = _odd_path(path)
    if reason and _is_file(tree, path):
        return None
    return reason


def _odd_path(path: str) -> str | None:
    for pattern, reason in _NOT_PORTABLE:
        if pattern.search(path):
            return reason
    for name in path.split("/"):
        if reason_of_name := _odd_name(name):
            return reason_of_name
    return None


def _is_file(tree: Tree, path: str) -> bool:
    try:
        return tree.read(path, 0) is not None
    except (OSError, ValueError):
        return False


def _wrong_shape(path: str) -> str | None:
    parts = path.split("/")
    if {"", ".", ".."}.isdisjoint(parts):
        return None
    if ".." in parts:
        return "The path contains `..`; use a path from the root of the project."
    if not parts[-1]:
        return "The path ends with a slash, so it is a folder; use the path of a file."
    return "A name in the path is empty or `.`."


def _odd_name(name: str) -> str | None:
    if name[-1] == "." or name[-1].isspace():
        return f"The name {quote(name)} ends with a dot or a space, which Windows removes."
    if _is_device(name):
        return f"The name {quote(name)} is the name of a device on Windows."
    return None


def _is_device(name: str) -> bool:
    stem = name.partition(".")[0].rstrip()
    if len(stem) > len("conout$"):
        return False
    return unicodedata.normalize("NFKC", stem).casefold() in _DEVICES


def _character(char: str) -> str:
    """Describe a character that a path may not contain."""
    code = f"U+{ord(char):04X}"
    match unicodedata.category(char):
        case "Cc":
            return f"the control character {code}"
        case "Cs" if "\udc80" <= char <= "\udcff":  # how Python decodes invalid bytes in file names
            return f"the byte 0x{ord(char) - 0xDC00:X}, which is not UTF-8"
        case "Cs":
            return f"{code}, half of a character, which cannot be encoded"
        case "Zl" | "Zp":
            return f"the line separator {code}"
        case _:
            return f"the invisible character {code}"
