"""Extract the code from a model's reply: one fenced TypeScript block. Text around it is ignored.

A slip of form is read if it has one reading only: a single block without a label, and fences in a
template literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from code_commit_tasks.template_literals import LiteralScanner

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`\n]*+$")
_LANGUAGES = frozenset({"typescript", "ts"})
_UNLABELLED = frozenset({"", "javascript", "js"})  # a single block of these is the code, too
LONGEST_CODE = 1024 * 1024  # characters


class MalformedAnswer(Exception):  # noqa: N818 - named after the reply
    """The reply is not an answer. The message is for the model's next attempt."""


def code_of(reply: str) -> str:
    """Return the code of `reply`, with unchanged lines.

    A fence in a template literal is text of the literal: its backticks are escaped.

    Raises:
        MalformedAnswer: there is no such block, more than one, an unclosed one, or the code is too
            long.
    """
    all_blocks = list(_blocks(reply))
    blocks = [block for block in all_blocks if block.language in _LANGUAGES]
    if not blocks and len(all_blocks) == 1 and _may_be_code(all_blocks[0]):
        blocks = all_blocks
    if not blocks:
        raise MalformedAnswer(
            "The answer has no TypeScript code block (```typescript … ```). It must have one."
        )
    if len(blocks) > 1:
        raise MalformedAnswer(
            f"The answer has {len(blocks)} TypeScript code blocks. It must have exactly one."
        )
    [block] = blocks
    if not block.closed:
        raise MalformedAnswer("The TypeScript code block has no closing line ```.")
    if len(block.code) > LONGEST_CODE:
        raise MalformedAnswer(f"The code is longer than {LONGEST_CODE} characters.")
    return block.code


def fences_unpaired(reply: str) -> bool:
    """Return whether a fence is open at the end: a line of the code may have been a fence."""
    return any(not block.closed for block in _blocks(reply))


class _Block(NamedTuple):
    language: str
    code: str
    closed: bool


def _may_be_code(block: _Block) -> bool:
    has_fences = any(map(_FENCE.match, block.code.split("\n")))
    return block.language in _UNLABELLED and not has_fences


def _blocks(reply: str) -> Iterator[_Block]:
    lines = reply.replace("\r\n", "\n").split("\n")
    reads_literals = True  # of the first block of code, the only one that is allowed
    number = 0
    while number < len(lines):
        match = _FENCE.match(lines[number])
        number += 1
        if not match:
            continue
        fence = match[1]
        language = match[2].lower()
        code = _code(lines, number, fence)
        if reads_literals and language in _LANGUAGES:
            reads_literals = False
            code = _code_with_fences(lines, number, fence) or code
        number += len(code) + 1
        text = "\n".join(code)
        closed = number <= len(lines)
        if closed:
            text += "\n"
        yield _Block(language, text, closed)


def _code(lines: Sequence[str], begin: int, fence: str) -> list[str]:
    """Return the lines from `begin` to the first one that closes `fence`, or all of them."""
    code: list[str] = []
    for number in range(begin, len(lines)):
        if _closes(lines[number], fence):
            break
        code.append(lines[number])
    return code


def _code_with_fences(lines: Sequence[str], begin: int, fence: str) -> list[str] | None:
    """Return the lines from `begin` to the one that closes `fence` outside of template literals.

    Without such a line, return None.
    """
    scanner = LiteralScanner()
    code: list[str] = []
    for number in range(begin, len(lines)):
        line = lines[number]
        if scanner.in_literal and _FENCE.match(line):
            line = line.replace("`", "\\`")
        elif _closes(line, fence):
            return code
        scanner.scan(line)
        code.append(line)
    return None


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return bool(match and match[1].startswith(fence) and not line.strip(" \t`~"))
