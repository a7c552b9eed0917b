"""Extract the code from a model's reply: exactly one fenced TypeScript block; text around it is
ignored.
"""

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
    blocks = [
        block
        for block in _blocks(reply.replace("\r\n", "\n").split("\n"))
        if block.language in _LANGUAGES
    ]
    if not blocks:
        raise MalformedAnswer(
            "The answer has no TypeScript code block (```typescript … ```). It must have one."
        )
    if len(blocks) > 1:
        raise MalformedAnswer(
            f"The answer has {len(blocks)} TypeScript code blocks. It must have exactly one."
        )
    (block,) = blocks
    if not block.closed:
        raise MalformedAnswer("The TypeScript code block has no closing line ```.")
    if len(block.code) > LONGEST_CODE:
        raise MalformedAnswer(f"The code is longer than {LONGEST_CODE} characters.")
    return block.code


def fences_unpaired(reply: str) -> bool:
    """Return whether a fence is open at the end of `reply`, which happens if a line of the code is
    a fence.
    """
    return any(not block.closed for block in _blocks(reply.replace("\r\n", "\n").split("\n")))


class _Block(NamedTuple):
    language: str
    code: str
    closed: bool


def _blocks(lines: list[str]) -> Iterator[_Block]:
    opened: tuple[str, str, int] | None = None  # fence, language, first line of code
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if not fence:
            continue
        if opened is None:
            opened = (fence[1], fence[2].lower(), number + 1)
        elif fence[1].startswith(opened[0]) and not line.strip(" \t`~"):
            yield _Block(opened[1], "\n".join(lines[opened[2] : number]) + "\n", closed=True)
            opened = None
    if opened is not None:
        yield _Block(opened[1], "\n".join(lines[opened[2] :]), closed=False)
