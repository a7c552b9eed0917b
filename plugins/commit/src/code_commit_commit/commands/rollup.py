"""`code-commit rollup`: collect the code for the model."""

from __future__ import annotations

import gc
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from code_commit.plugin_api import ExitCode, Host, UsageError, count_of, printable
from code_commit_commit.commands.rollup_of_choice import rollup_of_choice
from code_commit_commit.contexts import ALL
from code_commit_commit.left_out import DEFAULT_REASONS
from code_commit_commit.rollup import FOLDER, NAME, roll_up

_SHOWN_PATHS = 5
_SHOWN_REASONS = 10


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `rollup`."""
    parser.description = (
        "Collect the text files that a model may read in agent-config/codeRollup.txt. Lock files, "
        "generated files, copies of other projects and files that may contain secrets are left "
        "out and named. PATTERN has the syntax of a line in .gitignore."
    )
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help="include only matching files; can be repeated",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out matching files, or with ! in front include them again; can be repeated",
    )
    parser.add_argument(
        "--context",
        default=ALL,
        metavar="NAME",
        help="collect only what this context chooses for the query, such as ranked",
    )
    parser.add_argument(
        "--context-tokens",
        type=int,
        metavar="N",
        help="the most tokens that the context may choose (default 100,000)",
    )
    query = parser.add_mutually_exclusive_group()
    query.add_argument("--query", metavar="TEXT", help="the query of the context")
    query.add_argument("--query-file", metavar="FILE", help="read the query from a file")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def rollup(host: Host, arguments: Namespace) -> int:
    """Write `agent-config/codeRollup.txt`; print its size on stderr.

    Raises:
        UsageError: a pattern is malformed, or no plugin offers the context.
        NotReady: there is no git repository, another run holds the lock, or no file matches.
    """
    if arguments.context != ALL:
        return rollup_of_choice(host, arguments)
    if arguments.context_tokens or arguments.query is not None or arguments.query_file:
        raise UsageError(
            "--context-tokens, --query and --query-file need --context",
            hint="for example `--context ranked`",
        )
    gc.disable()  # the records of many files live to the end: a collection only costs
    with host.workspace(writes=True) as workspace:
        try:
            rollup = roll_up(workspace, include=arguments.include, exclude=arguments.exclude)
        except ValueError as error:
            raise UsageError(f"a pattern is malformed: {error}") from error
    if arguments.json:
        left_out = sorted(rollup.left_out.items())
        host.out.document(
            {
                "path": f"{FOLDER}/{NAME}",
                "context": None,
                "reason": "",
                "files": list(rollup.files),
                "map": [],
                "left_out": [{"path": path, "reason": reason} for path, reason in left_out],
                "remarks": {"lfs_pointers": rollup.pointers},
                "bytes": rollup.size,
                "tokens": rollup.tokens,
            }
        )
    files = count_of(len(rollup.files), "file")
    size = count_of(rollup.size, "byte")
    tokens = count_of(rollup.tokens, "token")
    host.out.note(f"{FOLDER}/{NAME}: {files}, {size}, about {tokens}")
    _print_left_out(host, rollup.left_out)
    _print_paths(host, "included without their contents, which are in Git LFS", rollup.pointers)
    return ExitCode.REACHED


def _print_left_out(host: Host, left_out: Mapping[str, str]) -> None:
    by_reason: dict[str, list[str]] = {}
    for path, reason in sorted(left_out.items()):
        by_reason.setdefault(reason, []).append(path)
    for reason, paths in list(by_reason.items())[:_SHOWN_REASONS]:
        _print_paths(host, f"left out ({reason[:1].lower()}{reason[1:].removesuffix('.')})", paths)
    if len(by_reason) > _SHOWN_REASONS:
        host.out.note("  more files are left out: --json lists all of them")
    if not DEFAULT_REASONS.isdisjoint(by_reason):
        host.out.note("  to include one of these: --exclude '!PATTERN'")


def _print_paths(host: Host, label: str, paths: Sequence[str]) -> None:
    if not paths:
        return
    text = f"  {label}: {', '.join(paths[:_SHOWN_PATHS])}"
    if len(paths) > _SHOWN_PATHS:
        text += f" and {len(paths) - _SHOWN_PATHS:,} more"
    host.out.note(printable(text, newlines=False))
