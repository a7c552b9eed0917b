"""Read the query that the command line gives; its flags are in `query_flags`."""

# ruff: noqa: PLC0414 - of the terminal, for plugins
from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from code_commit.plugin_api.errors import CodeCommitError, LimitReached, NotReady, UsageError
from code_commit.plugin_api.prompt_size import PromptPart, PromptSize
from code_commit.plugin_api.tokens import ArrivingText
from code_commit.terminal.editor import edit_file as edit_file
from code_commit_workspace import STOP, decode_text, require_no_link_out

_LARGEST = 64 * 1024 * 1024  # bytes, more than any model reads
_LARGE = 4 << 20  # bytes; less is read before anybody asks whether it fits


class QueryOptions(Protocol):
    """The fields that `QUERY_FLAGS` set."""

    query: str | None
    query_file: str | None


def query_of_flags(
    options: QueryOptions,
    root: Path,
    require_fit: Callable[[PromptSize], None],
) -> str | None:
    """Return the query of `QUERY_FLAGS`, unchanged, or None without one of them.

    `require_fit` checks the size of a large query before it is kept.

    Raises:
        UsageError: the query is the name of a file.
        NotReady: it cannot be read, is not UTF-8, or is far longer than the model's window.
    """
    if options.query is not None:
        _require_text(options.query)
        # The bytes as typed, in any locale.
        return decode_text(os.fsencode(options.query), "--query")
    name = options.query_file
    if name is None:
        return None
    if name == "-":
        return decode_text(_read_stdin(require_fit), "standard input")
    require_no_link_out(root, Path.cwd() / name, f"the query file {name}")
    return decode_text(_read_file(name, require_fit), name)


def _require_text(query: str) -> None:
    """Check that `--query` describes the change, and does not name a file.

    Raises:
        UsageError: it is `-` or the name of a file.
    """
    name = query.strip()
    if name == "-":
        raise UsageError(
            "--query takes the text of the query", hint="use `--query-file -` to read it from stdin"
        )
    for path in (name, name.removeprefix("@")):
        if path and os.path.isfile(path):  # noqa: PTH113 - a `Path` raises if the text is too long
            hint = f"use `--query-file {shlex.quote(path)}` to read the query from it"
            raise UsageError(
                f"--query takes the text of the query, and {path} is a file", hint=hint
            )


def _read_stdin(require_fit: Callable[[PromptSize], None]) -> bytes:
    try:
        return _read(STOP.pieces(sys.stdin.fileno()), "-", require_fit)
    except OSError as error:
        raise NotReady(f"cannot read the query file -: {error.strerror}") from error


def _read_file(name: str, require_fit: Callable[[PromptSize], None]) -> bytes:
    try:
        with open(name, "rb", opener=_open_now) as file:
            return _read(STOP.pieces(file.fileno()), name, require_fit)
    except OSError as error:
        raise NotReady(f"cannot read the query file {name}: {error.strerror}") from error


def _read(
    arrived: Iterable[bytes],
    name: str,
    require_fit: Callable[[PromptSize], None],
) -> bytes:
    """Read a query piece by piece.

    Once it cannot fit the model's window, keep none of it, and only count the rest.
    """
    arriving = ArrivingText()
    pieces: list[bytes] = []
    too_long: CodeCommitError | None = None
    for piece in arrived:
        arriving.add(piece)
        if arriving.size > _LARGEST:
            raise NotReady(
                f"the query file {name} has more than {_LARGEST:,} bytes", hint="shorten it"
            )
        pieces.append(piece)
        if arriving.size > _LARGE:
            part = PromptPart("the query", arriving.tokens, arriving.size)
            try:
                require_fit(PromptSize(arriving.tokens, [part]))
            except (NotReady, LimitReached) as error:
                too_long = error
        if too_long:
            pieces.clear()
    if too_long:
        raise too_long
    return b"".join(pieces)


def _open_now(name: str, flags: int) -> int:
    """Open a file. A named pipe that nobody writes to is empty: do not wait for a writer."""
    return os.open(name, flags | os.O_NONBLOCK)
