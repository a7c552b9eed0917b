"""Coverage-guided fuzzing of the response parser, with atheris.

    uv pip install atheris ./core
    python fuzz/parse_response.py fuzz/corpus -max_total_time=60

The corpus grows in the first named folder. The parser must return changes or report what is wrong;
its changes, written out again, must parse to the same changes; and content must be text of the
response.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports():
    from code_commit_commit.hooks import MalformedResponse
    from code_commit_commit.response import parse_changes


def one_input(data: bytes) -> None:
    """Parse one response."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        changes = parse_changes(text)
    except MalformedResponse:
        return
    assert changes
    paths = [change.path for change in changes]
    assert len(set(paths)) == len(paths)
    written = []
    for change in changes:
        assert change.given
        assert change.given[0] not in " \t"
        if change.content is None:
            written.append(f"^^^{change.given}\n^^^delete\n")
            continue
        content = change.content.decode()
        assert content in text
        assert not content or content.endswith("\n")
        written.append(f"^^^{change.given}\n{content}^^^end\n")
    # At the end of a path line, it would be part of the line ending.
    if not any("\r" in path for path in paths):
        assert parse_changes("".join(written)) == changes


def main() -> None:
    """Fuzz until a limit of libFuzzer is reached."""
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
