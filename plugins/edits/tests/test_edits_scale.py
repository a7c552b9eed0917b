"""Large files and many edits: what a response costs, and what it takes to read one."""

from __future__ import annotations

import pytest

from code_commit_commit.hooks import MalformedResponse
from code_commit_edits.response_format import parse_response


class OneFile:
    """A tree of one file, `f`."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        return self.content


def edits(*pairs: tuple[str, str]) -> str:
    marks = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
    return "".join(
        ["^^^f\n"]
        + [f"{marks[0]}\n{old}{marks[1]}\n{new}{marks[2]}\n" for old, new in pairs]
        + ["^^^end\n"]
    )


@pytest.mark.parametrize("count", [100, 1000, 5000, 50_000])
def test_the_response_for_one_line_has_the_same_size_in_any_file(count):
    lines = [f"    value_{number:05} = {number}\n" for number in range(count)]
    middle = count // 2
    old = "".join(lines[middle - 1 : middle + 2])
    new = old.replace(lines[middle], "    changed = True\n")
    response = edits((old, new))
    assert len(response) < 250
    [change] = parse_response(response, OneFile("".join(lines).encode()))
    lines[middle] = "    changed = True\n"
    assert change.content == "".join(lines).encode()


def test_many_edits_of_a_large_file():
    check_many_edits(lines=60_000, count=1000)


@pytest.mark.slow  # 50 MB and 10,000 edits
def test_very_many_edits_of_a_very_large_file():
    check_many_edits(lines=1_200_000, count=10_000)


def check_many_edits(lines: int, count: int) -> None:
    text = [f"    the line with the number {number:012}\n" for number in range(lines)]
    step = lines // count
    pairs = [("".join(text[at : at + 3]), f"new {at}\n") for at in range(0, count * step, step)]
    [change] = parse_response(edits(*pairs), OneFile("".join(text).encode()))
    for at in range(0, count * step, step):
        text[at : at + 3] = [f"new {at}\n", "", ""]
    assert change.content == "".join(text).encode()


@pytest.mark.parametrize(
    ("lines", "count"), [(20_000, 100), pytest.param(500_000, 1000, marks=pytest.mark.slow)]
)
def test_texts_within_texts_and_equal_lines_take_linear_time(lines, count):
    """Each text is at almost each place, and a part of the next one."""
    same = OneFile(b"}\n" * lines)
    nested = edits(*(("}\n" * length, "x\n") for length in range(1, count)))
    never = edits(*(("}\n" * length + "end\n", "x\n") for length in range(1, count)))
    for response, reason in ((nested, "more than once"), (never, "is not in the file")):
        with pytest.raises(MalformedResponse, match=reason) as raised:
            parse_response(response, same)
        assert len(str(raised.value)) < 10_000
