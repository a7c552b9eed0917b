"""`code-commit rollup`: collect the code that the model is shown."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from code_commit.plugin_api import ExitCode, Host, UsageError
from code_commit_commit.rollup import FOLDER, NAME, roll_up
from code_commit_workspace import printable

_NAMED = 5  # files of a kind, on stderr


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `rollup`."""
    parser.description = (
        "Collect the text files that a model may read into agent-config/codeRollup.txt. "
        "A PATTERN is what a line of a .gitignore may be."
    )
    parser.add_argument(
        "--include", action="append", default=[], metavar="PATTERN", help="only files that match; may be repeated"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN", help="no files that match; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def rollup(host: Host, arguments: Namespace) -> int:
    """Write `agent-config/codeRollup.txt`; tell its size on stderr.

    Raises:
        UsageError: a pattern is malformed.
        NotReady: there is no git repository, another run is under way, or no file is left to show.
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
    told = f"{FOLDER}/{NAME}: {files}, {found.size:,} bytes, about {found.tokens:,} tokens"
    host.out.note(f"code-commit: {told}")
    _name(host, "left out, as no UTF-8 text or larger than 16 MiB", found.left_out)
    _name(host, "in it, though such files often keep secrets (--exclude leaves them out)", found.doubtful)
    return ExitCode.REACHED


def _name(host: Host, what: str, paths: Sequence[str]) -> None:
    if paths:
        named = ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else "")
        host.out.note(printable(f"  {what}: {named}", newlines=False))
