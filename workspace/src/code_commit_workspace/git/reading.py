"""The git commands that change nothing, for a caller without the project's lock."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit_workspace.errors import NotReady

_COMMANDS = frozenset({
    *("blame", "cat-file", "check-attr", "check-ignore", "cherry", "count-objects", "describe", "diff", "diff-files"),
    *("diff-index", "diff-tree", "for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "merge-tree"),
    *("name-rev", "range-diff", "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status"),
    *("var", "version", "whatchanged"),
})  # fmt: skip
_WRITING = ("--ou", "--op")  # --output and --open-files-in-pager: git accepts the beginning of an option


def reads(command: str) -> bool:
    """Return whether the git command `command` changes nothing, unless an option makes it."""
    return command in _COMMANDS


def require_reading(args: Sequence[str]) -> None:
    """Check that `git *args` only reads. The command comes first, without options of git itself.

    Raises:
        NotReady: it may change files or the repository.
    """
    command = args[0] if args else ""
    options = [each for each in args[1:] if each.startswith(("-O", *_WRITING))]
    ends = [args.index(each) for each in ("--", "--end-of-options") if each in args]
    writing = [each for each in options if not ends or args.index(each) < min(ends)]
    if reads(command) and not (writing and (command == "grep" or not writing[0].startswith("-O"))):
        return
    raise NotReady(
        f"a workflow that does not write ran `git {' '.join([command, *writing[:1]])}`",
        hint="this is a bug in its plugin: only git commands that read are allowed, with the command first",
    )
