"""Files that other programs execute or that tell them what to execute: allowed, but with a warning."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.records import Change

_EXECUTED = re.compile(
    r"(?:.*/)?(?:"
    r"\.(?:gitconfig|gitmodules|envrc|gitlab-ci\.ya?ml|pre-commit-config\.ya?ml|devcontainer\.json)"
    r"|\.(?:husky|githooks|idea|devcontainer|circleci)/.+"
    r"|\.vscode/[^/]+\.json|\.github/(?:workflows|actions)/.+|jenkinsfile"
    r"|hooks/(?:(?:pre|post)-[a-z-]+|applypatch-msg|commit-msg|prepare-commit-msg|update|proc-receive"
    r"|push-to-checkout|reference-transaction|sendemail-validate|fsmonitor-watchman)"
    r")"
)


def executed(changes: Sequence[Change], tree: ProjectTree) -> Iterator[str]:
    """Yield a warning for each change that other programs execute, git in a folder of another name included."""
    paths = {change.path for change in changes if change.content is not None}
    for path in sorted(paths):
        if _EXECUTED.fullmatch(path.casefold()) or _is_in_git_folder(path, paths, tree):
            yield f"{path}: other programs run what this file says; read it before you use git or an editor here"


def _is_in_git_folder(path: str, paths: Collection[str], tree: ProjectTree) -> bool:
    """Return whether `path` is the configuration of what git takes for a repository, on disk or in the change."""
    folder, _, name = path.rpartition("/")
    return bool(folder) and name in {"config", "commondir"} and _exists(f"{folder}/HEAD", paths, tree)


def _exists(path: str, paths: Collection[str], tree: ProjectTree) -> bool:
    try:
        return path in paths or tree.lstat(path) is not None
    except (OSError, ValueError):
        return False
