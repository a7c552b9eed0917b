"""The parts of a prompt, for the refusal of one that exceeds the model's window.

It also checks files that are not read yet.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from code_commit.plugin_api import (
    CheckContext,
    NotReady,
    PromptPart,
    PromptSize,
    Tree,
    count_of,
)
from code_commit_commit.prompts import Section
from code_commit_commit.rollup_text import Rollup

CODE = "the code"  # the part of a prompt
LARGE = 4 << 20  # bytes; less is read before anybody asks whether it fits
_HEADER = re.compile(rb"\n--- (?P<path>[^\n]{1,4096}) ---(?=\n)")
_LONGEST_HEADER = 5000  # bytes
_PIECE = 1 << 20  # bytes
_NAMED = 3  # folders
_PRINT_LESS = "make build.sh print less, or lower output_limit in [build]"


class PromptTooLong(NotReady):
    """What `code-commit doctor` says of a prompt that exceeds the model's window."""


RequireFit = Callable[[PromptSize], None]
"""Raises `NotReady` for a prompt that exceeds the model's window."""


def query_part(query: str) -> PromptPart:
    """Return the query as a part of a prompt."""
    return PromptPart.of("the query", query)


def code_part(codebase: str) -> PromptPart:
    """Return the code as a part of a prompt. The hint names its largest folders."""
    part = PromptPart.of(CODE, codebase)
    return replace(
        part,
        hint=partial(_hint_about_code, lambda: largest_folders([codebase.encode()]), part.tokens),
    )


def failure_part(failure: str) -> PromptPart:
    """Return the output of a build as a part of a repair prompt."""
    return PromptPart.of("the build output", failure, f"{_PRINT_LESS}, or choose another model")


def replacements_part(replaced: str) -> PromptPart:
    """Return the latest file replacements as a part of a repair prompt."""
    return PromptPart.of("the file replacements so far", replaced)


def section_part(section: Section) -> PromptPart:
    """Return a section as a part of a prompt."""
    return PromptPart.of(f"the section [{section.label}]", section.text)


def require_file_fits(tree: Tree, path: str, require_fit: RequireFit, *, is_code: bool) -> None:
    """Check a large file of the project before it is read whole.

    Raises:
        NotReady: it is far longer than the model's window.
    """
    size = tree.size(path)
    if size <= LARGE:
        return
    if not is_code:
        require_fit(PromptSize.of_file(tree, path, "the query"))
        return
    hint = partial(_hint_about_code, lambda: largest_folders(_pieces(tree, path, size)))
    require_fit(PromptSize.of_file(tree, path, CODE, hint))


def require_code_fits(rollup: Rollup, require_fit: RequireFit) -> None:
    """Check code that was collected so far.

    Raises:
        NotReady: it is far longer than the model's window.
    """
    tokens, size = rollup.tokens, rollup.size
    sizes = ((path, end - begin) for path, (begin, end) in rollup.files.items())
    hint = partial(_hint_about_code, lambda: _largest(sizes), tokens)
    require_fit(PromptSize(tokens, [PromptPart(CODE, tokens, size, hint)]))


def require_code_limit(size: PromptSize, most: int | None) -> None:
    """Check that the code in a prompt has at most so many tokens.

    Raises:
        PromptTooLong: it has more.
    """
    for part in size.parts:
        if most is not None and part.name == CODE and part.tokens > most:
            raise PromptTooLong(
                f"{part} exceeds the limit of {most:,}",
                hint="pass a larger --context-tokens, or leave code out of the rollup",
            )


def require_fit_of(context: CheckContext, most_code: int | None = None) -> RequireFit:
    """Return the check for the model of `code-commit doctor`, which asks no service.

    With `most_code`, the code may not have more tokens.
    """

    def require_fit(size: PromptSize) -> None:
        require_code_limit(size, most_code)
        window = context.window
        if window and size.tokens > window and (size.request or not size.is_near(window)):
            refusal = size.refusal(context.model, window)
            raise PromptTooLong(refusal.message, hint=refusal.hint)

    return require_fit


def largest_folders(pieces: Iterable[bytes]) -> list[tuple[str, float]]:
    """Return the top-level folders and files with the most code in a rollup, and their shares."""
    return _largest(_sizes(pieces))


def _sizes(pieces: Iterable[bytes]) -> Iterator[tuple[str, int]]:
    path = ""
    unread = b"\n"  # the first header may begin the text
    for piece in pieces:
        text = unread + piece
        start = 0
        for header in _HEADER.finditer(text):
            yield path, header.start() - start
            path = header["path"].decode("utf-8", "replace")
            start = header.end()
        end = text.rfind(b"\n", max(start, len(text) - _LONGEST_HEADER))
        if end < 0:
            end = len(text)
        yield path, end - start
        unread = text[end:]  # may begin a header
    yield path, len(unread)


def _largest(sizes: Iterable[tuple[str, int]]) -> list[tuple[str, float]]:
    folders: Counter[str] = Counter()
    for path, size in sizes:
        top, slash, _ = path.partition("/")
        folders[top + slash] += size
    del folders[""]  # before the first header
    whole = folders.total() or 1
    return [(folder, size / whole) for folder, size in folders.most_common(_NAMED)]


def _pieces(tree: Tree, path: str, size: int) -> Iterator[bytes]:
    for start in range(0, size, _PIECE):
        yield tree.read(path, _PIECE, start=start) or b""


def _hint_about_code(find: Callable[[], Sequence[tuple[str, float]]], tokens: int) -> str:
    largest = find()
    pattern = shlex.quote(f"/{largest[0][0]}") if largest else "PATTERN"
    hint = (
        f"leave code out, for example with `code-commit rollup --exclude {pattern}`, "
        "or choose another model"
    )
    if not largest:
        return hint
    folders = []
    for folder, share in largest:
        count = count_of(max(1, round(share * tokens)), "token")
        folders.append(f"{folder} (about {count})")
    return f"{hint}; most of it is in {', '.join(folders)}"
