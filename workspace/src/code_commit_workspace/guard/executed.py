"""Warn about files that other programs execute, or that tell them what to execute.

They are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from code_commit_workspace.files.project_tree import ProjectTree

_MOST_WARNINGS = 20  # for one file each; all further files share one warning

# A build may replace a whole folder with a link, so the folders count, too.
_EXECUTED = re.compile(
    r"(?:.*/)?(?:"
    r"\.(?:gitconfig|gitmodules|envrc|gitlab-ci\.ya?ml|pre-commit-config\.ya?ml|devcontainer\.json)"
    r"|\.(?:husky|githooks|idea|devcontainer|circleci)(?:/.+)?"
    r"|\.vscode(?:/[^/]+\.json)?|\.github(?:/(?:workflows|actions)(?:/.+)?)?|jenkinsfile"
    r"|hooks/(?:(?:pre|post)-[a-z-]+|applypatch-msg|commit-msg|prepare-commit-msg|update|proc-receive"
    r"|push-to-checkout|reference-transaction|sendemail-validate|fsmonitor-watchman)"
    r")"
)


def executed(written: Collection[str], tree: ProjectTree) -> Iterator[str]:
    """Yield a warning for each `written` file that other programs execute.

    One of these programs is git, in a folder of any name.
    """
    paths = frozenset(written)
    executed_paths = [
        path
        for path in sorted(paths)
        if _EXECUTED.fullmatch(path.casefold()) or _is_git(path, paths, tree)
    ]
    for path in executed_paths[:_MOST_WARNINGS]:
        yield (
            f"{path}: other programs run commands from this file; "
            "read it before you use git or an editor here"
        )
    if more := executed_paths[_MOST_WARNINGS:]:
        yield (
            f"{more[0]} and {len(more) - 1} more: other programs run commands from these files, too"
        )


def _is_git(path: str, paths: Collection[str], tree: ProjectTree) -> bool:
    """Return whether `path` configures what git takes for a repository.

    This is any folder with a `HEAD`, on disk or in `paths`.
    """
    folder, _, name = path.rpartition("/")
    if not folder or name not in {"config", "commondir", "hooks"}:
        return False
    return _exists(f"{folder}/HEAD", paths, tree)


def _exists(path: str, paths: Collection[str], tree: ProjectTree) -> bool:
    try:
        return path in paths or tree.lstat(path) is not None
    except (OSError, ValueError):
        return False
