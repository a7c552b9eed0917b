"""Read the inputs of a run: the query, the code rollup and the state of the files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    ArrivingText,
    CodeCommitError,
    LimitReached,
    MessageLogged,
    NotReady,
    QueryRead,
    RolledUp,
    UsageError,
    decode_text,
    join_paths,
    read_text,
)
from code_commit_commit.current_code import (
    CurrentCode,
    collect_current_code,
    describe_difference,
    new_files,
)
from code_commit_commit.prompts import Context
from code_commit_commit.seen_files import SeenFiles
from code_commit_commit.window import LARGE, RequireFit, require_file_fits, require_query_fits
from code_commit_workspace import STOP, require_no_link_out

if TYPE_CHECKING:
    from code_commit.plugin_api import PromptSize, Run, Tree
    from code_commit_workspace import Workspace

_LARGEST_QUERY = 64 * 1024 * 1024  # bytes, more than any model reads
_LONGEST_LINE = 200  # characters of the query, for lists of runs
QUERY = "agent-config/query.txt"
CODEBASE = "agent-config/codeRollup.txt"
SAMPLE_QUERY = """\
Describe the change here in your own words: what the program should do
afterwards, and how to verify it.
"""
_DESCRIBE = "pass --query, or describe the change in that file"
FRESH = "update the rollup with `code-commit rollup`, then run again"


def read_context(run: Run) -> tuple[Context, SeenFiles]:
    """Return the query and the code rollup, unchanged.

    Collect the code again if our own rollup is out of date.

    Also return what the model will know about each file.

    Raises:
        NotReady: one of them is missing, empty, not UTF-8, or far longer than the model's window;
            build.sh is missing; or files changed since the rollup.
        UsageError: the query is the name of a file.
    """
    require_build(run)
    query = _query(run)
    if not query.strip():
        raise NotReady("the query is empty", hint="describe the change")
    run.emit(QueryRead(query.strip().splitlines()[0].strip()[:_LONGEST_LINE]))
    require_file_fits(run.tree, CODEBASE, _fit(run), is_code=True)
    if run.options.rollup:
        return _collected(run, query)
    has_query = run.options.query is not None or run.options.query_file is not None
    if has_query and read_text(run.tree, CODEBASE) is None:
        code = collect_current_code(run, _fit(run))
        run.emit(MessageLogged(f"there is no {CODEBASE}: collected {code}"))
        return _collected_context(run, query, code)
    collect = "collect the code with codeRollup.sh or `code-commit rollup`"
    codebase = _required(run, CODEBASE, collect)
    if not codebase.strip():
        raise NotReady(f"{CODEBASE} is empty", hint=collect)
    return _compare_with_rollup(run, Context(query, codebase))


def _collected_context(run: Run, query: str, code: CurrentCode) -> tuple[Context, SeenFiles]:
    return Context(query, code.text), SeenFiles(run, code.text, code.rolled_up)


def _collected(run: Run, query: str) -> tuple[Context, SeenFiles]:
    """Collect the current code with the patterns of the existing rollup.

    Raises:
        NotReady: another program wrote the existing rollup; running it again would bypass the
            sandbox.
    """
    codebase = read_text(run.tree, CODEBASE)
    patterns = None if codebase is None else RolledUp.of(run.tree, codebase).patterns
    if codebase is not None and patterns is None:
        raise NotReady(
            f"{CODEBASE} was not written by `code-commit rollup`, so --rollup cannot update it",
            hint="update it with your own script, such as codeRollup.sh, and run without --rollup",
        )
    code = collect_current_code(run, _fit(run), *(patterns or ()))
    run.emit(MessageLogged(f"collected {code}"))
    return _collected_context(run, query, code)


def _compare_with_rollup(run: Run, context: Context) -> tuple[Context, SeenFiles]:
    """Compare the files with the rollup's manifest.

    Raises:
        NotReady: files changed or are new, and the settings stop the run.
    """
    setting = run.settings.changed_since_rollup
    rolled_up = RolledUp.of(run.tree, context.codebase)
    if setting == "ignore":
        return context, SeenFiles(run, context.codebase, rolled_up, compared=False)
    changed, created = rolled_up.changed(), new_files(run, rolled_up)
    if not (changed or created):
        return context, SeenFiles(run, context.codebase, rolled_up)
    if setting == "refresh" and rolled_up.patterns:
        code = collect_current_code(run, _fit(run), *rolled_up.patterns)
        difference = f"{describe_difference(changed, created)} since the rollup"
        run.emit(MessageLogged(f"{difference}: collected the code again, {code}"))
        return _collected_context(run, context.query, code)
    differences = []
    if changed:
        differences.append(f"changed since the rollup: {join_paths(changed)}")
    if created:
        differences.append(f"new since the rollup: {join_paths(created)}")
    difference = "; ".join(differences)
    if setting != "protect":
        raise NotReady(difference, hint=FRESH)
    run.emit(MessageLogged(f"{difference}; {FRESH}", level="warning"))
    return context, SeenFiles(run, context.codebase, rolled_up, created=created)


def _query(run: Run) -> str:
    if run.options.query is not None:
        _require_text(run.options.query)
        # The bytes as typed, in any locale.
        return decode_text(os.fsencode(run.options.query), "--query")
    if run.options.query_file is not None:
        name = run.options.query_file
        if name == "-":
            return decode_text(_read_stdin(_fit(run)), "standard input")
        require_no_link_out(run.root, Path.cwd() / name, f"the query file {name}")
        return decode_text(_read_query_file(name, _fit(run)), name)
    require_file_fits(run.tree, QUERY, _fit(run), is_code=False)
    query = _required(run, QUERY, _DESCRIBE)
    if query.split() == SAMPLE_QUERY.split():
        raise NotReady(f"{QUERY} still has the sample text of `code-commit init`", hint=_DESCRIBE)
    return query


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


def warn_of_uncommitted_changes(run: Run) -> None:
    """Report files that differ from the last commit.

    `git diff` will mix these changes with those of the run.
    """
    if run.options.dry_run:
        return
    options = ("--name-only", "-z", "--relative", "--no-renames", "--ignore-submodules=all")
    # Without a commit, nothing is listed.
    listed = run.git("diff", *options, "HEAD", "--", check=False)
    if paths := [os.fsdecode(path) for path in listed.split(b"\0") if path]:
        text = (
            f"uncommitted changes: {join_paths(paths)}; `code-commit runs diff` will show only "
            "those of this run"
        )
        run.emit(MessageLogged(text))


def require_build(project: Run | Workspace) -> tuple[str, ...]:
    """Check that `build.sh` can run, and return its command line.

    Raises:
        NotReady: it is missing, is a link or not a text with LF line ends, or its interpreter is
            missing.
    """
    if _is_missing(project.tree, "build.sh"):
        raise NotReady(
            "there is no build.sh here",
            hint="`code-commit init` writes one; it must exit with 0 only if the project builds "
            "and its tests pass",
        )
    return project.build_command()


def _is_missing(tree: Tree, path: str) -> bool:
    try:
        return tree.read(path, 1) is None
    except OSError:
        return False


def _required(run: Run, path: str, hint: str) -> str:
    text = read_text(run.tree, path)
    if text is None:
        raise NotReady(f"{path} is missing", hint=hint)
    return text


def _fit(run: Run) -> RequireFit:
    """Return the check of a prompt's size; the model's window is looked up when it is used."""

    def require_fit(size: PromptSize) -> None:
        run.model().require_fit(size)

    return require_fit


def _read_stdin(require_fit: RequireFit) -> bytes:
    try:
        return _read_query(STOP.pieces(sys.stdin.fileno()), "-", require_fit)
    except OSError as error:
        raise NotReady(f"cannot read the query file -: {error.strerror}") from error


def _read_query_file(name: str, require_fit: RequireFit) -> bytes:
    try:
        with open(name, "rb", opener=_open_now) as file:
            return _read_query(STOP.pieces(file.fileno()), name, require_fit)
    except OSError as error:
        raise NotReady(f"cannot read the query file {name}: {error.strerror}") from error


def _read_query(arrived: Iterable[bytes], name: str, require_fit: RequireFit) -> bytes:
    """Read a query piece by piece.

    Once it cannot fit the model's window, keep none of it, and only count the rest.
    """
    arriving = ArrivingText()
    pieces: list[bytes] = []
    too_long: CodeCommitError | None = None
    for piece in arrived:
        arriving.add(piece)
        if arriving.size > _LARGEST_QUERY:
            raise NotReady(
                f"the query file {name} has more than {_LARGEST_QUERY:,} bytes", hint="shorten it"
            )
        pieces.append(piece)
        if arriving.size > LARGE:
            try:
                require_query_fits(arriving.tokens, arriving.size, require_fit)
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
