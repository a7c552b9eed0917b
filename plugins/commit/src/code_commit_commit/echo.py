"""Reject an echo: a response that repeats its prompt, with blocks that must not be applied.

A prompt may contain blocks in the examples of the instructions, in the code and in the build's
output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from code_commit.plugin_api import Change
from code_commit_commit.hooks import MalformedResponse
from code_commit_commit.response import DELETE, END, FENCE, fences


def reject_echo(
    response: str,
    changes: Sequence[Change],
    instructions: str,
    foreign: Sequence[str],
) -> None:
    """Check that `response`, with the changes `changes`, repeats no block of its prompt.

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
    contents = {
        FENCE + change.given: change.content for change in changes if change.content is not None
    }
    for part in foreign:
        for fence in fences(part):
            content = contents.get(fence.line)
            # The content as the response has it: `KeptForms` may have added a BOM and CRs.
            if content is not None and part.startswith(
                (_ended(content), _ended(_plain(content))), fence.after
            ):
                raise _echo(fence.line)


def _plain(content: bytes) -> bytes:
    return content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def _ended(content: bytes) -> str:
    return content.decode() + END


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
