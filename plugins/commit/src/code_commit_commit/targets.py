"""Find targets that a model wrote wrongly, such as a name in backticks: they would become files that nobody meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, Refusal
from code_commit_commit.replacements import path_of

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

_RULE = "target"
_WRAPPED = {  # what may stand around a name
    "`": "`",
    "'": "'",
    '"': '"',
    "*": "*",
    "<": ">",
    "“": "”",
    "‘": "’",
    "«": "»",
}
_WRAPPED_IF_THERE = {"_": "_", "(": ")", "[": "]", "{": "}"}  # names of files may begin and end so
_LINE = re.compile(r"(?P<bare>.+?)(?::L?\d+(?:[-:,]L?\d+)*|#L\d+(?:-L?\d+)?|,? \(?lines? \d+(?:\s*[-–]\s*\d+)?\)?)")
_REMARK = re.compile(r"(?P<bare>\S.*?)\s+[(\[].*[)\]]")
_MORE = re.compile(r"(?P<bare>\S+)\s+\S.*")
_BULLET = re.compile(r"(?:[-+*#]+|\d+[.)])\s+(?P<bare>\S.*)")
_LINK = re.compile(r"\[[^\]]+\]\((?P<bare>[^)]+)\)")
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+(?:and|&|\+)\s+")
_NAME = re.compile(r"[^\s,;:`'\"*<>()\[\]]*\w\.\w{1,10}")  # with a suffix, like the name of a file


def mistaken_targets(changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
    """Yield a refusal for each target with something around or behind the name of a file.

    A file that is there is always meant, whatever its name. So is a name that a file may have, unless the bare name is
    that of a file, or nothing but a remark can be meant.
    """
    for change in changes:
        path = path_of(change)
        if not _is_file(tree, path) and (reason := _mistake(path, tree)):
            yield Refusal(change.path, _RULE, f"{reason} Write the path alone after `^^^`.", then="repair")


def _mistake(path: str, tree: Tree) -> str:
    """Return what is wrong with a target that is not the path of a file, or an empty text."""
    if path.startswith("^"):
        return "The line begins with more than three carets."
    if path.endswith("^^^"):
        return "The line ends with carets."
    if "`" in path or _is_wrapped(path, tree):
        return "Quotes, brackets or other marks stand around the path."
    if match := _LINE.fullmatch(path):
        if _is_file(tree, match["bare"]) or _NAME.fullmatch(match["bare"]):
            return "A line number follows the path."
    if len(names := _SEPARATOR.split(path)) > 1:
        if _is_file(tree, names[0]) or all(map(_NAME.fullmatch, names)):
            return "The line names several files, and a block changes one."
    if match := _REMARK.fullmatch(path):
        if _is_file(tree, match["bare"]) or _NAME.fullmatch(match["bare"]):
            return "A remark follows the path."
    if (match := _MORE.fullmatch(path)) and _NAME.fullmatch(match["bare"]) and _is_file(tree, match["bare"]):
        return "Something follows the path."
    if (match := _BULLET.fullmatch(path) or _LINK.fullmatch(path)) and _is_file(tree, match["bare"]):
        return "The path is an item of a list, or a link."
    return ""


def _is_wrapped(path: str, tree: Tree) -> bool:
    first, last = path[0], path[-1]
    if len(path) > 1 and _WRAPPED.get(first) == last:
        return True
    bare = path.strip("_([{)]}")
    return bool(bare) and _WRAPPED_IF_THERE.get(first) == last and _is_file(tree, bare)


def _is_file(tree: Tree, path: str) -> bool:
    with suppress(OSError, ValueError):
        return tree.read(path, 0) is not None
    return False
