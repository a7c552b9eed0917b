"""`code-commit todo [PATTERN ...]`: the TODO comments of the files that a model may read."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from code_commit.plugin_api import ExitCode, Host, UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="only matching files, as in .gitignore"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def todo(host: Host, arguments: Namespace) -> int:
    """List the comments; the exit code is 1 if there are any."""
    comments = []
    with host.workspace() as workspace:
        try:
            paths = workspace.files(arguments.patterns)
        except ValueError as error:
            raise UsageError(f"a pattern is malformed: {error}") from error
        for path in paths:
            text = (workspace.tree.read(path) or b"").decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), 1):
                if "TODO" in line:
                    comments.append({"path": path, "line": number, "text": line.strip()})
    if arguments.json:
        host.out.document({"todo": comments})
    else:
        host.out.table([(f"{row['path']}:{row['line']}", str(row["text"])) for row in comments])
    host.out.note(f"{len(comments)} TODO comments")
    return ExitCode.NOT_REACHED if comments else ExitCode.REACHED
