"""Where a command works: the folder that `-C` names, which must not lie inside a project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from code_commit.plugin_api.errors import NotReady, UsageError
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def enter_folder(argv: Sequence[str]) -> list[str]:
    """Change to the folder that `-C` names, and return the other words.

    As in git, each further `-C` counts from the folder before, and names of files in the other
    words count from the last one. Words after `--` are the names of files.

    Raises:
        UsageError: `-C` has no value.
        NotReady: there is no such folder.
    """
    words: list[str] = []
    following = iter(argv)
    for word in following:
        if word == "--":
            words += ["--", *following]
        elif word == "-C":
            _enter(next(following, None))
        else:
            words.append(word)
    return words


def _enter(folder: str | None) -> None:
    if folder is None:
        raise UsageError("-C needs the name of a folder")
    if not folder:
        return
    try:
        os.chdir(folder)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise NotReady(f"cannot change to {folder}: {why}") from error


def project_root(argv: Sequence[str]) -> Path:
    """Return the working directory, which is the root of the project.

    Raises:
        NotReady: it lies inside a project. The hint is `argv` for the root of that project.
    """
    from pathlib import Path

    root = Path.cwd().resolve()
    project = _project_above(root)
    if project is None:
        return root
    import shlex

    words = ["code-commit", "-C", str(project), *(_as_seen_from(project, word) for word in argv)]
    raise NotReady(
        f"this folder is inside the project {project}; code-commit works in the root of a project",
        hint=f"`{shlex.join(words)}`",
    )


def _project_above(root: Path) -> Path | None:
    """Return the nearest project above `root` in the same repository, if `root` is not one."""
    folder = root
    while not os.path.lexists(folder / PRIVATE_FOLDER):
        if folder.parent == folder or os.path.lexists(folder / ".git"):
            return None
        folder = folder.parent
    return None if folder == root else folder


def _as_seen_from(project: Path, word: str) -> str:
    """Return `word` for a command that works in `project`, if it names a file here."""
    flag, equals, value = word.partition("=")
    if flag.startswith("-") and equals:
        return f"{flag}={_as_seen_from(project, value)}"
    if not os.path.isfile(word):  # noqa: PTH113 - a `Path` raises if the text is too long
        return word
    return os.path.relpath(word, project)
