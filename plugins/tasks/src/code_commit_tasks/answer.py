"""Extract the code from a model's reply: one fenced TypeScript block. Text around it is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*$")
_LANGUAGES = frozenset({"typescript", "ts"})
LONGEST_CODE = 1024 * 1024  # characters


class MalformedAnswer(Exception):  # noqa: N818 - named after the reply
    """The reply is not an answer. The message is for the model's next attempt."""


def code_of(reply: str) -> str:
    """Return the code of `reply`, with unchanged lines.

    Raises:
        MalformedAnswer: there is no such block, more than one, an unclosed one, or the code is too
            long.
    """
    blocks = [block for block in _blocks(reply) if block.language in _LANGUAGES]
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


def _blocks(reply: str) -> Iterator[_Block]:
    lines = reply.replace("\r\n", "\n").split("\n")
    fence = ""  # of the open block
    language = ""
    begin = 0
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if not match:
            continue
        if not fence:
            fence = match[1]
            language = match[2].lower()
            begin = number + 1
        elif match[1].startswith(fence) and not line.strip(" \t`~"):
            yield _Block(language, "\n".join(lines[begin:number]) + "\n", closed=True)
            fence = ""
    if fence:
        yield _Block(language, "\n".join(lines[begin:]), closed=False)
