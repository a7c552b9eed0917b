"""`code-commit new-name [PATTERN ...]`: the largest files that a model may read."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from code_commit.plugin_api import ExitCode, Host, UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="as in .gitignore")
    parser.add_argument("--count", type=int, default=10, metavar="N", help="how many (default 10)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def run(host: Host, arguments: Namespace) -> int:
    """Print the size and the path of each file, the largest first."""
    with host.workspace() as workspace:
        try:
            paths = workspace.files(arguments.patterns)
        except ValueError as error:
            raise UsageError(f"a pattern is malformed: {error}") from error
        sizes = [(len(workspace.tree.read(path) or b""), path) for path in paths]
    largest = sorted(sizes, reverse=True)[: arguments.count]
    if arguments.json:
        host.out.document({"files": [{"path": path, "bytes": size} for size, path in largest]})
    elif largest:
        host.out.table([(str(size), path) for size, path in largest])
    return ExitCode.REACHED
