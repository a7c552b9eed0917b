"""Placeholder comments are found in all common languages; similar comments are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_truncation.placeholders import Placeholder, first_placeholder, leaves_out

CASES = Path(__file__).parent / "cases"
PLACEHOLDERS = (CASES / "placeholders.txt").read_text("utf-8").splitlines()
NO_PLACEHOLDERS = (CASES / "no_placeholders.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_a_placeholder_is_found(line: str) -> None:
    assert leaves_out(line)
    assert leaves_out(f"        {line}\r")


@pytest.mark.parametrize("line", NO_PLACEHOLDERS)
def test_other_lines_are_not_placeholders(line: str) -> None:
    assert not leaves_out(line, lost=True)


@pytest.mark.parametrize("line", ["// ...", "# ...", "/* … */", "# [...]", "# --snip--"])
def test_a_lone_ellipsis_is_a_placeholder_if_lines_are_missing(line: str) -> None:
    assert leaves_out(line, lost=True)
    assert line == "# --snip--" or not leaves_out(line)


def test_the_second_line_of_a_comment_is_not_a_placeholder() -> None:
    assert not leaves_out("/// unchanged.", "/// When it is not a number, the value is")
    assert leaves_out("// unchanged", "value = 1;")
    assert leaves_out("// ... unchanged", "// The value:")


def test_headings_and_examples_in_prose_are_not_placeholders() -> None:
    new = b"# The rest\n\n    # ... existing code ...\n"
    assert first_placeholder("README.md", None, new) is None
    assert first_placeholder("a.py", None, new) == Placeholder(1, "# The rest")
    assert (
        first_placeholder("README.md", None, b"a\n<!-- ... existing content ... -->\n") is not None
    )


def test_a_line_of_the_old_file_may_stay_or_move() -> None:
    new = b"a\n    # ... existing code ...\nb\n"
    assert first_placeholder("a.py", b"# ... existing code ...\n", new) is None
    assert first_placeholder("a.py", b"# ... existing code\n", new) == Placeholder(
        2, "# ... existing code ..."
    )


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe...\x00", b"..." * 100_000, b"rest " * 100_000, b"\n" * 100_000]
)
def test_any_content_can_be_judged(content: bytes) -> None:
    assert first_placeholder("a", content, content) is None
    assert first_placeholder("a", None, content) is None


WORDS = st.lists(
    st.sampled_from(["the", "rest", "of", "code", "...", "…", "existing", "(", "# ", "x"]),
    max_size=60,
)


@given(st.text(alphabet="./#*-<>!'{}() \tarest…\n", max_size=300) | WORDS.map(" ".join))
def test_a_placeholder_found_in_any_text_is_in_its_line(text: str) -> None:
    placeholder = first_placeholder("a.js", None, text.encode())
    if placeholder is not None:
        assert text.split("\n")[placeholder.line - 1].strip() == placeholder.text


@given(st.text(max_size=200), st.sampled_from(PLACEHOLDERS), st.text(max_size=200))
def test_a_placeholder_is_found_at_any_position(before: str, line: str, after: str) -> None:
    # The line above is code: a comment may continue over several lines.
    text = f"{before}\nx = 1\n{line}\n{after}"
    placeholder = first_placeholder("a.py", None, text.encode("utf-8", "replace"))
    assert placeholder is not None
    assert placeholder.line <= text.count("\n", 0, text.index("x = 1\n" + line)) + 2
