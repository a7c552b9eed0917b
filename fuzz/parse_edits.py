"""Coverage-guided fuzzing of the format `edits`, with atheris.

    uv pip install atheris ./workspace ./core ./plugins/commit ./plugins/edits
    python fuzz/parse_edits.py fuzz/corpus-edits -max_total_time=60

The corpus grows in the first named folder. An input is a file, a NUL, and a response. The parser
must return changes or report what is wrong. Lines that no edit searches must stay as they are.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports():
    from code_commit_commit.hooks import MalformedResponse, read_blocks
    from code_commit_edits.edits import read_edits
    from code_commit_edits.response_format import parse_response, watch_response


class OneFile:
    """A tree that has the same content at each path."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes:  # noqa: ARG002
        """Return the content."""
        return self.content


def one_input(data: bytes) -> None:
    """Parse one response to one file."""
    old, _, response = data.partition(b"\0")
    text = response.decode("utf-8", "surrogateescape")
    position = watch_response(1000)(text)
    try:
        changes = parse_response(text, OneFile(old))
    except MalformedResponse:
        return
    assert position is None
    for block, change in zip(read_blocks(text), changes, strict=True):
        edits = read_edits(block)
        if not edits:
            assert change.content == block.content
        elif old:
            searched = sum(len(edit.search) for edit in edits)
            written = sum(len(edit.replace) for edit in edits)
            lines = len(old.removesuffix(b"\n").split(b"\n"))
            left = (change.content or b"").removesuffix(b"\n").split(b"\n")
            assert len(left) == max(1, lines - searched + written)


def main() -> None:
    """Fuzz until a limit of libFuzzer is reached."""
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
