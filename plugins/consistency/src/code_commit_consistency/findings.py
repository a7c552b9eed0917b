"""Take a report apart into findings, each with the files and the lines that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from code_commit_consistency.code_fence import CodeFence
from code_commit_consistency.code_files import Code, Place
from code_commit_consistency.sections import SectionedReport

_ITEM = re.compile(r" {0,3}(?:[-+*\u2022]|\(?\d{1,3}[.)])[ \t]+")
_TITLE = re.compile(
    r" {0,3}#{1,6}[ \t]+\S| {0,3}(?:\*\*|__)[^\n]{1,200}(?:\*\*|__):?[ \t]*$", re.MULTILINE
)
_WORD = re.compile(r"(?<![\w./@+\[\]()-])[\w./@+\[\]()-]*[\w\])]")
_QUOTATION = re.compile(
    r"`([^`\n]{3,400})`|\"([^\"]{8,400})\"|\u201c([^\u201d]{8,400})\u201d|\u00ab([^\u00bb]{8,400})\u00bb"
)
_FENCED = re.compile(
    r"^[ \t]*(?:`{3,}+|~{3,}+)[^\n]*+\n(.*?)^[ \t]*(?:```|~~~)", re.DOTALL | re.MULTILINE
)
_NOTHING = re.compile(
    r"\W*(?:(?:overall|in general|i found|there (?:is|are|were))\W+)?(?:none|nothing|no|n/a)\b"
    r"|[^.]{0,120}\b(?:is|are|all)\s+(?:\w+\s+){0,2}(?:well|fine|correct|consistent)\b",
    re.IGNORECASE,
)
_LONGEST_NOTHING = 300  # characters
_MOST_PLACES = 3  # of one quotation: more of them say nothing
_LONGEST_TEXT = 20_000  # characters that are searched for quotations


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of a report.

    `specification` is the path of the specification that it is about, empty if that is not known.
    `samples` are the numbers of the reports that have it.
    """

    section: str
    text: str = field(repr=False)
    paths: tuple[str, ...]
    places: tuple[Place, ...]
    specification: str
    samples: tuple[int, ...]


def findings_of(
    report: SectionedReport,
    code: Code,
    specifications: Sequence[str],
    number: int,
) -> Iterator[Finding]:
    """Yield the findings of report `number`, in its order.

    A finding is a list item, a text below a title of its own, or a paragraph. Paragraphs that say
    that nothing was found are left out.
    """
    for section in report.sections:
        for text in _statements(section.text):
            places = tuple(_places(text, code))
            paths = tuple(dict.fromkeys([*_paths(text, code), *(place.path for place in places)]))
            is_nothing = _NOTHING.match(text) and len(text) <= _LONGEST_NOTHING
            if is_nothing and not paths:
                continue
            about = _specification(paths, specifications)
            yield Finding(section.name, text, paths, places, about, (number,))


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of a section."""
    blocks = list(_blocks(text))
    has_titles = any(_TITLE.match(block) for block in blocks)
    if has_titles:
        yield from _below_titles(blocks)
        return
    for block, following in zip(blocks, [*blocks[1:], ""], strict=False):
        introduces_list = block.rstrip().endswith(":") and _ITEM.match(following)
        if not introduces_list:
            yield block


def _below_titles(blocks: Sequence[str]) -> Iterator[str]:
    """Join each title with what follows it."""
    statement: list[str] = []
    for block in blocks:
        if _TITLE.match(block):
            yield from _joined(statement)
            statement = []
        statement.append(block)
    yield from _joined(statement)


def _joined(blocks: Sequence[str]) -> Iterator[str]:
    if blocks:
        yield "\n\n".join(blocks)


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs, and list items with what belongs to them."""
    block: list[str] = []
    fence = CodeFence()
    in_item = False
    after_blank = False
    for line in text.splitlines():
        is_code = fence.contains(line)
        is_blank = not is_code and not line.strip()
        begins_item = not is_code and _ITEM.match(line) is not None
        is_indented = line.startswith(("  ", "\t"))
        ends = begins_item or (after_blank and not (in_item and is_indented) and not is_code)
        if ends and not is_blank:
            yield from _text_of(block)
            block = []
            in_item = begins_item
        elif not is_code and _TITLE.match(line) and block:
            yield from _text_of(block)
            block = []
        block.append(line)
        after_blank = is_blank or (after_blank and is_blank)
    yield from _text_of(block)


def _text_of(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(lines).strip()
    if text.strip("-*_= \n"):  # a rule is no text
        yield text


def _paths(text: str, code: Code) -> Iterator[str]:
    for word in _WORD.findall(text):
        for name in (word, word.strip("()[]"), word.partition(":")[0]):
            if path := code.path_of(name):
                yield path
                break


def _places(text: str, code: Code) -> Iterator[Place]:
    """Yield the places of what a statement quotes."""
    searched = text[:_LONGEST_TEXT]
    quotations = [match[match.lastindex or 0] for match in _QUOTATION.finditer(searched)]
    quotations += [match[1] for match in _FENCED.finditer(searched)]
    for quotation in dict.fromkeys(quotations):
        if quotation.strip() and not code.path_of(quotation.strip()):
            yield from code.places(quotation.strip(), _MOST_PLACES)


def _specification(paths: Sequence[str], specifications: Sequence[str]) -> str:
    named = [path for path in specifications if path in paths]
    if len(named) == 1:
        return named[0]
    return specifications[0] if not named and len(specifications) == 1 else ""
