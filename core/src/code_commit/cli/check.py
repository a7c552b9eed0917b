"""`code-commit check PATH…`: what the guard says of paths, and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from code_commit.cli.arguments import Parser
from code_commit.git import Git
from code_commit.guard import Guard
from code_commit.project_tree import ProjectTree
from code_commit.records.change import Change, Refusal
from code_commit.records.errors import ExitCode
from code_commit.terminal import printable


def check(argv: Sequence[str]) -> int:
    """Judge each path by itself; the exit code is 0 when all are allowed, else 1.

    The rules of plugins are not asked: they judge content, and here there is none.
    """
    parser = Parser(prog="code-commit check", description="Say whether a response may change paths, and why not.")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="as a response would name it, from the project's root")
    parser.add_argument("--read", action="store_true", help="whether a model may read them instead")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args(argv)
    root = Path.cwd().resolve()
    git = Git(root)
    git.require_repository()
    with ProjectTree(root) as tree:
        guard = Guard(tree, git)
        verdicts = {path: _verdict(guard, path, read=arguments.read) for path in arguments.paths}
    if arguments.json:
        rows = [
            {"path": path, "allowed": not refusals, "reasons": [{"rule": r.rule, "reason": r.reason} for r in refusals]}
            for path, refusals in verdicts.items()
        ]
        sys.stdout.write(json.dumps({"paths": rows}, indent=2) + "\n")
    else:
        for path, refusals in verdicts.items():
            reasons = "; ".join(f"{refusal.reason} ({refusal.rule})" for refusal in refusals)
            sys.stdout.write(printable(f"{path}: {reasons or 'allowed'}", newlines=False) + "\n")
    return ExitCode.NOT_REACHED if any(verdicts.values()) else ExitCode.REACHED


def _verdict(guard: Guard, path: str, *, read: bool) -> tuple[Refusal, ...]:
    if not read:
        return guard.check([Change(path, b"")])
    refusal = guard.may_read(path)
    return (refusal,) if refusal else ()
