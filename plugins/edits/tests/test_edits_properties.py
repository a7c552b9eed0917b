"""The format against a second reader of it: simple, slow, and written on its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from code_commit_commit.hooks import MalformedResponse
from code_commit_edits.response_format import parse_response, watch_response


class Files:
    """The files of a project, as far as a format reads them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        content = self.files.get(path)
        return None if content is None else content[start:][:limit]


def read_again(response: str, files: Mapping[str, bytes]) -> dict[str, bytes | None] | None:
    """Return the files after a response, or None if it is wrong.

    It knows no BOM, and takes lines with LF or CRLF.
    """
    changed: dict[str, bytes | None] = {}
    for path, body in re.findall(r"(?ms)^\^\^\^([^\r\n]+)\r?\n(.*?)^\^\^\^end\r?$", response):
        content = _new(body, files.get(path))
        if content is None:
            return None
        changed[path] = content
    return changed


def _new(body: str, old: bytes | None) -> bytes | None:
    lines = body.split("\n")[:-1]
    marked = [line.rstrip(" \t\r") for line in lines]
    if not any(re.fullmatch("<{7,} SEARCH|>{7,} REPLACE", line) for line in marked):
        return None if body.lstrip().startswith("<<<<<") else body.encode()
    edits = []
    while lines:
        if not lines[0].strip():
            lines, marked = lines[1:], marked[1:]
            continue
        first = re.fullmatch("(<{7,}) SEARCH", marked[0])
        if not first:
            return None
        length = len(first[1])
        marks = [f"{'<' * length} SEARCH", "=" * length, f"{'>' * length} REPLACE"]
        at = [index for index, line in enumerate(marked) if line in marks]
        if [marked[index] for index in at[:3]] != marks:
            return None
        edits.append((lines[1 : at[1]], lines[at[1] + 1 : at[2]]))
        lines, marked = lines[at[2] + 1 :], marked[at[2] + 1 :]
    if any(not search for search, _ in edits):
        if old or len(edits) > 1:
            return None
        return "".join(f"{line}\n" for line in edits[0][1]).encode()
    return None if old is None else _edited(edits, old)


def _edited(edits: list[tuple[list[str], list[str]]], old: bytes) -> bytes | None:
    ends = "\n"
    if old.count(b"\n") == old.count(b"\r\n") > 0:
        ends = "\r\n"
    text = old.decode()
    is_ended = text.endswith("\n") or not text
    lines = (text if is_ended else text + ends).split("\n")[:-1]
    plain = [line.rstrip(" \t\r") for line in lines]
    taken: dict[int, tuple[int, list[str]]] = {}
    covered: set[int] = set()
    for search, replace in edits:
        wanted = [line.rstrip(" \t\r") for line in search]
        count = len(wanted)
        places = [at for at in range(len(plain)) if plain[at : at + count] == wanted]
        if len(places) != 1 or covered & {*range(places[0], places[0] + count)}:
            return None
        covered |= {*range(places[0], places[0] + count)}
        found = lines[places[0] : places[0] + count]
        taken[places[0]] = (count, _kept(found, search, replace))
    result: list[str] = []
    at = 0
    while at < len(lines):
        count, new = taken.get(at, (1, [lines[at]]))
        result += new
        at += count
    joined = "".join(f"{line}\n" for line in result)
    return (joined if is_ended else joined.removesuffix(ends)).encode()


def _kept(found: list[str], search: list[str], replace: list[str]) -> list[str]:
    head: list[str] = []
    while search and replace and search[0] == replace[0]:
        head.append(found[0])
        found, search = found[1:], search[1:]
        replace = replace[1:]
    tail: list[str] = []
    crlf = all(line.endswith("\r") for line in [*head, *found])
    while search and replace and search[-1] == replace[-1]:
        tail.insert(0, found[-1])
        found, search = found[:-1], search[:-1]
        replace = replace[:-1]
    return [*head, *(line.removesuffix("\r") + "\r" if crlf else line for line in replace), *tail]


def read(response: str, files: Mapping[str, bytes]) -> dict[str, bytes | None] | None:
    """Return the files after a response, or None if it is wrong, as the plugin reads it."""
    try:
        changes = parse_response(response, Files(files))
    except MalformedResponse:
        return None
    return {change.path: change.content for change in changes}


MARKERS = [
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "<<<<<<<< SEARCH",
    "========",
    ">>>>>>>> REPLACE",
    "<<<<<< SEARCH",
    "<<<<<<< HEAD",
]
WORDS = ["a", "b", "  a", "a  ", "a\t", "", "}"]
ENDS = st.sampled_from(["\n", "\r\n"])
LINES = st.lists(st.sampled_from(WORDS), max_size=12)


@st.composite
def contents(draw) -> bytes:
    """Return a file with LF, with CRLF, or with both, with and without an end of the last line."""
    lines = draw(LINES)
    end = draw(ENDS)
    ends = draw(st.one_of(st.just([end] * len(lines)), st.lists(ENDS, min_size=12)))
    text = "".join(line + ending for line, ending in zip(lines, ends, strict=False))
    return (text + draw(st.sampled_from(["", "last"]))).encode()


@st.composite
def wild(draw) -> str:
    """Return a response of up to three blocks, with lines of the format in any order."""
    end = draw(ENDS)
    bodies = draw(
        st.lists(st.lists(st.sampled_from([*MARKERS, *WORDS]), max_size=14), min_size=1, max_size=3)
    )
    blocks = []
    for path, body in zip("fgh", bodies, strict=False):
        blocks += [f"^^^{path}{end}", *(line + end for line in body), f"^^^end{end}"]
    return "".join(blocks)


@st.composite
def edits(draw) -> tuple[str, bytes]:
    """Return a file, and a response whose edits search lines of it."""
    content = draw(contents())
    lines = content.decode().replace("\r\n", "\n").split("\n")
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(lines)))
        search = lines[start : start + draw(st.integers(0, 4))]
        replace = draw(st.one_of(LINES, st.just(search), st.just([*search, "new"])))
        length = draw(st.sampled_from([7, 8]))
        marks = (f"{'<' * length} SEARCH", "=" * length, f"{'>' * length} REPLACE")
        blocks += [marks[0], *search, marks[1], *replace, marks[2]]
    return "".join(f"{line}\n" for line in ["^^^f", *blocks, "^^^end"]), content


@given(wild(), contents())
def test_any_lines_mean_the_same_to_both_readers(response, content):
    files = dict.fromkeys("fgh", content)
    assert read(response, files) == read_again(response, files)


@given(edits())
def test_edits_mean_the_same_to_both_readers(case):
    response, content = case
    files = {"f": content}
    assert read(response, files) == read_again(response, files)


@given(wild(), st.integers(1, 20))
def test_a_response_in_pieces_is_watched_as_it_is_read(response, size):
    pieces = [response[start : start + size] for start in range(0, len(response), size)]
    watch = watch_response(9)
    positions = [position for piece in pieces if (position := watch(piece)) is not None]
    whole = watch_response(9)(response)
    assert positions[:1] == ([] if whole is None else [whole])
    if positions:
        files = dict.fromkeys("fgh", b"a\n")
        assert read(response[: positions[0]], files) is None
        assert read(response, files) is None
