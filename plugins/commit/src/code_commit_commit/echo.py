"""Reject an echo: a response that repeats its prompt, with blocks that must not be applied.

A prompt may contain blocks in the examples of the instructions, in the code and in the build's
output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from code_commit_commit.hooks import MalformedResponse
from code_commit_commit.response import DELETE, END, FENCE, fences


def reject_echo(response: str, instructions: str, foreign: Sequence[str]) -> None:
    """Check that `response` repeats no block of its prompt.

    The prompt consists of our `instructions` and of `foreign` parts, which neither we nor the user
    wrote. A block repeated with the line above it is an echo; a repeated path is not. Content that
    is a block in a foreign part is always an echo. The check takes linear time in the length of all
    texts.

    Raises:
        MalformedResponse: the response repeats a block.
    """
    repeated = frozenset(_introduced(response))
    for part in (instructions, *foreign) if repeated else ():
        for introduced in _introduced(part):
            if introduced in repeated:
                raise _echo(introduced[1])
    blocks = dict(_blocks(response))
    for part in foreign:
        for fence in fences(part):
            block = blocks.get(fence.line)
            if block is not None and part.startswith(block, fence.after):
                raise _echo(fence.line)


def _blocks(response: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the first line and the rest of each block, as it is and as other systems write it."""
    for fence, following in pairwise(fences(response)):
        if following.line == END and fence.line not in {END, DELETE}:
            content = response[fence.after : following.start]
            plain = content.removeprefix("\ufeff").replace("\r\n", "\n")
            yield fence.line, (content + END, plain + END)


def _echo(fence: str) -> MalformedResponse:
    return MalformedResponse(
        f"the response repeats the block `{fence}` of its prompt. "
        "Reply only with your own file replacements, without parts of the prompt"
    )


def _introduced(text: str) -> Iterator[tuple[str, str]]:
    """Yield each fence that may open a block after the line above it; ignore blank lines."""
    for fence in fences(text):
        above, end = "", fence.start
        while end > 0 and not above:
            end -= 1
            start = text.rfind("\n", 0, end) + 1
            above, end = text[start:end].strip(), start
        if above and not above.startswith(FENCE) and fence.line not in {END, DELETE}:
            yield above, fence.line
