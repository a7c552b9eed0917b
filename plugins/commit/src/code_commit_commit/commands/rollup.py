"""`code-commit rollup`: collect the code for the model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from code_commit.plugin_api import ExitCode, Host, UsageError
from code_commit_commit.rollup import FOLDER, NAME, roll_up
from code_commit_workspace import printable

_SHOWN_PATHS = 5


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `rollup`."""
    parser.description = (
        "Collect the text files that a model may read in agent-config/codeRollup.txt. "
        "PATTERN has the syntax of a line in .gitignore."
    )
    parser.add_argument(
        "--include", action="append", default=[], metavar="PATTERN", help="include only matching files; can be repeated"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN", help="leave out matching files; can be repeated"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def rollup(host: Host, arguments: Namespace) -> int:
    """Write `agent-config/codeRollup.txt`; print its size on stderr.

    Raises:
        UsageError: a pattern is malformed.
        NotReady: there is no git repository, another run holds the lock, or no file matches.
    """
    with host.workspace(writes=True) as workspace:
        try:
            found = roll_up(workspace, include=arguments.include, exclude=arguments.exclude)
        except ValueError as error:
            raise UsageError(f"a pattern is malformed: {error}") from error
    if arguments.json:
        host.out.document({
            "path": f"{FOLDER}/{NAME}",
            "files": list(found.files),
            "left_out": found.left_out,
            "bytes": found.size,
            "tokens": found.tokens,
        })  # fmt: skip
    files = f"{len(found.files):,} file{'s' * (len(found.files) != 1)}"
    host.out.note(f"code-commit: {FOLDER}/{NAME}: {files}, {found.size:,} bytes, about {found.tokens:,} tokens")
    _print_paths(host, "left out (not UTF-8 text, or larger than 16 MiB)", found.left_out)
    _print_paths(host, "included, but may contain secrets (use --exclude to leave them out)", found.doubtful)
    return ExitCode.REACHED


def _print_paths(host: Host, label: str, paths: Sequence[str]) -> None:
    if paths:
        shown, more = ", ".join(paths[:_SHOWN_PATHS]), len(paths) - _SHOWN_PATHS
        host.out.note(printable(f"  {label}: {shown}" + (f" and {more:,} more" if more > 0 else ""), newlines=False))
