"""The git commands that change nothing, for a caller without the project's lock."""

from __future__ import annotations

import re
from collections.abc import Sequence

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git.process import command_of

_READ = frozenset({
    "blame", "cat-file", "check-attr", "check-ignore", "cherry", "count-objects", "describe",
    "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref", "grep", "log", "ls-files",
    "ls-tree", "merge-base", "merge-tree", "name-rev", "range-diff", "rev-list", "rev-parse",
    "shortlog", "show", "show-branch", "show-ref", "status", "var", "version", "whatchanged",
})  # fmt: skip
# Those that change only the repository.
_LEAVE_FILES = frozenset({
    "add", "branch", "commit", "commit-tree", "config", "hash-object", "init", "mktree",
    "symbolic-ref", "tag", "update-index", "update-ref", "write-tree",
})  # fmt: skip
# `--output` and `--open-files-in-pager`, which git accepts abbreviated; `-O` of grep, also after
# other letters.
_WRITING = re.compile(r"--o[up]")
_WRITING_IN_GREP = re.compile(r"--o[up]|-[^-efABCm]*O")


def reads(command: str) -> bool:
    """Return whether the git command `command` changes nothing, unless an option says otherwise."""
    return command in _READ


def may_write_files(args: Sequence[str]) -> bool:
    """Return whether `git *args` may change files of the work tree, judging by its command."""
    command = command_of(args)
    return not (reads(command) or command in _LEAVE_FILES)


def require_reading(args: Sequence[str]) -> None:
    """Check that `git *args` only reads. The command comes first, without options of git itself.

    Raises:
        NotReady: it may change files or the repository.
    """
    command = args[0] if args else ""
    ends = [args.index(mark) for mark in ("--", "--end-of-options") if mark in args]
    options = args[1 : min(ends, default=len(args))]
    writing = _WRITING_IN_GREP if command == "grep" else _WRITING
    writing_options = [option for option in options if writing.match(option)]
    if reads(command) and not writing_options:
        return
    shown = " ".join([command, *writing_options[:1]])
    raise NotReady(
        f"a workflow that does not write ran `git {shown}`",
        hint=(
            "this is a bug in its plugin: "
            "only git commands that read are allowed, with the command first"
        ),
    )
