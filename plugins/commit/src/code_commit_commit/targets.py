"""Find targets that a model wrote wrongly, such as a name in backticks.

They would become files that nobody meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from code_commit.plugin_api import Change, Refusal

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

_RULE = "target"
_LONGEST = 300  # characters: longer ones are no paths with a mark
_PLAIN = re.compile(r"[a-zA-Z0-9][\w./-]*", re.ASCII)
_ALWAYS, _NEVER = re.compile(r".*"), re.compile(r"(?!)")
_SUFFIXED = r"[^\s,;:`'\"*<>()\[\]]*\w\.\w{1,10}"  # a name with a suffix, like that of a file
_NAME = re.compile(_SUFFIXED)
_ALONE = re.compile(r"[^\s,;:`'\"*<>()\[\]{}^]*\w\.\w{1,10}")  # the same, without braces and carets
_SEPARATOR = r"(?<!\s)(?:\s*+[,;]\s*|\s++(?:and|&|\+|->|=>|\u2192)\s+)"
_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\xab\xbb\u2039\u203a\xb4"
_QUOTES += "\u300a\u300b\u3008\u3009\u300c\u300d\u300e\u300f"
_MARKS = rf"['\"<>()\[\]{{}}*{_QUOTES}]"
_ENDS = rf"[.!{_MARKS[1:-1]}]"
_ENTITY = r"&(?:lt|gt|quot|apos|amp|#x?\d+);"
_WORD = (
    r"(?:the|new|file|filename|path|target|"
    r"create|write|update|edit|modify|change|replace|remove|delete|add)"
)
_DONE = (
    r"(?:deleted?|removed?|end|new|new file|created?|added?|updated?|edit(?:ed)?|modified|changed?)"
)
_REMARK = r"(?:[-\u2013\u2014#:=]|//|/\*|<!--)"
_NUMBERS = r"(?::L?\d+(?:[-:,]L?\d+){0,9}|#L\d+(?:-L?\d+)?|,? \(?lines? \d+(?:\s*-\s*\d+)?\)?)"


class _Form(NamedTuple):
    """A form of mistaken targets, around a bare name.

    The target is mistaken if the bare name is that of a file, or if it is `sure` that no file has
    this name.
    """

    pattern: re.Pattern[str]
    sure: re.Pattern[str]
    reason: str


def _form(pattern: str, sure: re.Pattern[str], reason: str) -> _Form:
    return _Form(re.compile(pattern), sure, reason)


_MARKED = "Quotes, brackets or other marks stand around the path."
_SEVERAL = "The line names several files, and a block changes one."


@cache  # compiled for the first path that does not look plain
def _forms() -> Sequence[_Form]:
    return (
        _form(r"\^(?P<bare>.*)", _ALWAYS, "The line begins with more than three carets."),
        _form(r"(?P<bare>.*)\^\^\^", _ALWAYS, "The line ends with carets."),
        _form(r"(?P<bare>.*`.*)", _ALWAYS, _MARKED),
        _form(r"(['\"*])(?P<bare>.+)\1", _ALWAYS, _MARKED),
        _form(rf"[<{_QUOTES}](?P<bare>.+)[>{_QUOTES}]", _ALWAYS, _MARKED),
        _form(rf"{_ENTITY}(?P<bare>.+)", _ALWAYS, _MARKED),
        _form(rf"(?P<bare>.+){_ENTITY}", _ALWAYS, _MARKED),
        _form(r"[_(\[{]++(?P<bare>.+?)[_)\]}]+", _NEVER, _MARKED),
        _form(r"\((?P<bare>.+)\)", _ALONE, _MARKED),
        _form(r"\[(?P<bare>.+)\]", _ALONE, _MARKED),
        _form(r"\{(?P<bare>.+)\}", _ALONE, _MARKED),
        _form(rf"{_MARKS}(?P<bare>.+)", _ALONE, _MARKED),
        _form(rf"(?P<bare>.+){_MARKS}", _ALONE, _MARKED),
        _form(rf"{_MARKS}*+(?P<bare>.+?)(?<!{_ENDS}){_ENDS}*+", _NEVER, _MARKED),
        _form(
            r"(?P<bare>.+?)(?<![\s,;:^])\s*+[,;:^]++",
            _ALONE,
            "A separator or a caret follows the path.",
        ),
        _form(rf"{_WORD}\s*[:=]\s*(?P<bare>.+)", _ALONE, "A word stands before the path."),
        _form(rf"(?:{_WORD}\s+)+(?P<bare>.+)", _NEVER, "A word stands before the path."),
        _form(rf"(?P<bare>.+?){_NUMBERS}", _NAME, "A line number follows the path."),
        _form(r"(?P<bare>.+?)[#@]\d+(?:-\d+)?", _NEVER, "A line number follows the path."),
        _form(rf"(?P<bare>{_SUFFIXED}(?:{_SEPARATOR}{_SUFFIXED})+)", _ALWAYS, _SEVERAL),
        _form(rf"(?P<bare>.+?){_SEPARATOR}.+", _NEVER, _SEVERAL),
        _form(r"(?P<bare>\S.*?)(?<!\s)\s++[(\[].*+(?<=[)\]])", _NAME, "A remark follows the path."),
        _form(rf"(?P<bare>{_SUFFIXED})\s+[(\[{{][^)\]}}]*", _ALONE, "A remark follows the path."),
        _form(rf"(?P<bare>{_SUFFIXED})\s+{_DONE}", _ALONE, "A remark follows the path."),
        _form(
            rf"(?P<bare>{_SUFFIXED})\s+{_REMARK}(?!.*\w\.\w{{1,10}}$).*",
            _ALONE,
            "A remark follows the path.",
        ),
        _form(rf"(?P<bare>{_SUFFIXED})\s+\S.*", _NEVER, "Something follows the path."),
        _form(r"[-+*#\u2022\u2013]\s+(?P<bare>\S+)", _ALONE, "The path is an item of a list."),
        _form(r"(?:[-+*#]+|\d+[.)])\s+(?P<bare>\S.*)", _NEVER, "The path is an item of a list."),
        _form(r"\[[^\]]+\]\((?P<bare>[^)]+)\)", _NEVER, "The path is a link."),
    )


def mistaken_targets(changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
    """Yield a refusal for each target with something around or behind the name of a file.

    A file that is there is always meant, whatever its name. So is a name that a file may have,
    unless the bare name is that of a file, or nothing but a mistake can be meant.
    """
    for change in changes:
        path = change.path
        if (reason := _mistake(path, tree)) and not _is_file(tree, path):
            yield Refusal(
                change.path, _RULE, f"{reason} Write the path alone after `^^^`.", then="repair"
            )


def _mistake(path: str, tree: Tree) -> str:
    """Return what is wrong with a target, or an empty text."""
    if len(path) > _LONGEST or _PLAIN.fullmatch(path):
        return ""
    for form in _forms():
        match = form.pattern.fullmatch(path)
        if match and (form.sure.fullmatch(match["bare"]) or _is_file(tree, match["bare"])):
            return form.reason
    return ""


def _is_file(tree: Tree, path: str) -> bool:
    with suppress(OSError, ValueError):
        return tree.read(path, 0) is not None
    return False
