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
    spans = dict(_contents(response))
    lines = {fence.line for part in foreign for fence in fences(part)} if spans else set()
    # Only these are copied: a block can be most of a long response.
    contents = {line: _as_written(response[spans[line]]) for line in lines & spans.keys()}
    for part in foreign if contents else ():
        for fence in fences(part):
            for content in contents.get(fence.line, ()):
                after = fence.after + len(content)
                if part.startswith(END, after) and part.startswith(content, fence.after):
                    raise _echo(fence.line)


def _contents(response: str) -> Iterator[tuple[str, slice]]:
    """Yield the first line of each block, and where its content is."""
    for fence, following in pairwise(fences(response)):
        if following.line == END and fence.line not in {END, DELETE}:
            yield fence.line, slice(fence.after, following.start)


def _as_written(content: str) -> tuple[str, str]:
    """Return the content of a block as it is, and as other systems write it."""
    return content, content.removeprefix("\ufeff").replace("\r\n", "\n")


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
