"""The response format: changes, prose and errors."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import Change
from code_commit_commit.hooks import MalformedResponse
from code_commit_commit.response import parse_changes, watch_response

CASES = [
    case
    for case in map(
        json.loads,
        (Path(__file__).parent / "cases" / "responses.jsonl").read_text("utf-8").splitlines(),
    )
    if case.get("needs") != "path check"  # checked by the path rules, after the parser
]


def as_text(changes: tuple[Change, ...]) -> dict[str, str | None]:
    return {
        change.path: None if change.content is None else change.content.decode()
        for change in changes
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_has_the_expected_result(case):
    if case["expect"].get("error"):
        with pytest.raises(MalformedResponse):
            parse_changes(case["response"])
    else:
        assert as_text(parse_changes(case["response"])) == case["expect"]["changes"]


@pytest.mark.parametrize(
    ("response", "changes"),
    [
        ("\ufeff^^^a\nx\n^^^end", {"a": "x\n"}),
        ("^^^a\r\nx\r\n^^^end\r\n", {"a": "x\r\n"}),
        ("^^^a \t\nx\n^^^end  \r\n", {"a": "x\n"}),
        ("^^^a\n^^^end\n", {"a": ""}),
        ("^^^a\n^^^delete", {"a": None}),
        ("^^^a\n ^^^end\n^^^end\n", {"a": " ^^^end\n"}),
        ("^^^a\nx\u2028^^^end\x0c^^^end\x85\n^^^end\n", {"a": "x\u2028^^^end\x0c^^^end\x85\n"}),
        ("^^^a\n^^^delete\n^^^a/b\nx\n^^^end\n", {"a": None, "a/b": "x\n"}),
        (" ^^^not\n^^^a\nx\n^^^end\n", {"a": "x\n"}),
        ("^^^a\n^^^delete\n^^^end\n^^^b\n^^^end\n", {"a": None, "b": ""}),
        ("^^^a\n^^^delete \t\n^^^end", {"a": None}),
        ("Plan\n^^^^\n^^^a\nTitle\n^^^^^\n^^^end\n", {"a": "Title\n^^^^^\n"}),
    ],
)
def test_lines_end_at_lf_and_fences_are_at_column_0(response, changes):
    assert as_text(parse_changes(response)) == changes


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "no file replacement"),
        ("just prose", "no file replacement"),
        ("prose\n^^^a\nx", "line 2: the block of a has no closing line"),
        ("^^^end\n", "line 1: `^^^end` without"),
        ("x\n\n^^^delete\n", "line 3: `^^^delete` without"),
        ("^^^a\nx\n^^^delete\n", "line 3: `^^^delete` must be the only line"),
        ("^^^a\nx\n^^^b\ny\n^^^end\n", "line 3: a line inside the block of a begins with `^^^`"),
        ("^^^a\nx\n^^^ending\n^^^end\n", "line 3"),
        ("^^^\nx\n^^^end\n", "line 1: `^^^` must be followed directly by a path"),
        ("^^^ a\nx\n^^^end\n", "line 1: `^^^` must be followed directly by a path"),
        ("^^^a\n^^^delete\n\n^^^end\n", "line 4: `^^^end` without"),
        ("^^^a\n^^^delete\n^^^end\n^^^end\n", "line 4: `^^^end` without"),
        ("^^^a\n^^^end\n^^^end\n", "line 3: `^^^end` without"),
        ("^^^a\nAPI\n^^^\n^^^end\n", "line 3: a line inside the block of a begins with `^^^`"),
        ("^^^a\n\ud800\n^^^end\n", "lone surrogate (U+D800)"),
        ("^^^" + "a" * 5000 + "\n^^^end\n", "longer than 4096"),
    ],
)
def test_an_error_has_the_line_and_the_reason(response, reason):
    with pytest.raises(MalformedResponse) as raised:
        parse_changes(response)
    assert reason in str(raised.value)


PATHS = st.text(st.sampled_from("abc.-_ é"), min_size=1, max_size=8).map(lambda text: f"p{text}q")
LINES = st.text(
    st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=20
).map(lambda line: " " + line if line.startswith("^^^") else line)
CONTENTS = st.none() | st.lists(LINES, max_size=5).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@given(st.dictionaries(PATHS, CONTENTS, min_size=1, max_size=5), LINES)
def test_parsing_returns_the_written_files(files, prose):
    blocks = (
        f"^^^{path}\n" + ("^^^delete\n" if text is None else f"{text}^^^end\n")
        for path, text in files.items()
    )
    response = "".join(f"{prose}\n{block}" for block in blocks)
    assert as_text(parse_changes(response)) == files


@given(st.text(st.sampled_from("^^^^^^^end\n\r abdelt/."), max_size=60))
def test_any_text_is_either_an_answer_or_an_error(text):
    try:
        changes = parse_changes(text)
    except MalformedResponse:
        return
    assert changes
    for change in changes:
        if change.content is None:
            continue
        body = change.content.decode()
        assert body in text
        assert not body or body.endswith("\n")
        assert not any(line.startswith("^^^") and line.strip("^\r\t ") for line in body.split("\n"))


RESPONSES = st.lists(
    st.sampled_from(
        [
            "^^^a",
            "^^^b",
            "^^^end",
            "^^^delete",
            "^^^",
            "^^^ x",
            "^^^^",
            "text",
            "",
            "\ufeff",
            "^",
            "^^^end\r",
        ]
    )
).map("\n".join)


@given(RESPONSES, RESPONSES, st.lists(st.integers(0, 60)))
def test_a_watched_response_ends_with_the_error_that_it_has_as_a_whole(response, other, cuts):
    end = watch_response(10_000)(response)
    edges = sorted({0, len(response), *(cut for cut in cuts if cut < len(response))})
    watch = watch_response(10_000)
    pieces = [response[start:stop] for start, stop in pairwise(edges)]
    assert next((read for read in map(watch, pieces) if read is not None), None) == end
    whole, ended, changed = (
        error_of(text) for text in (response, response[:end], response[:end] + other)
    )
    assert ended == whole
    assert end is None or changed == whole != ""


def error_of(response: str) -> str:
    try:
        parse_changes(response)
    except MalformedResponse as error:
        return str(error)
    return ""
