"""Show changes as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import NO_REPOSITORY, Git
from code_commit_workspace.records import Change

# The prefixes are the names of the two folders.
_DIFF = (
    "diff",
    "--no-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=",
    "--dst-prefix=",
)
# git writes the path of a new or deleted file twice, with the folder that has the file.
_NAMES = re.compile("^diff --git (.+)$", re.MULTILINE)
_ORDINARY = 0o644  # permission bits
_BLOCK = 4096  # bytes on disk of the smallest file


def unified_diff(
    tree: ProjectTree,
    changes: Sequence[Change],
    writable: Sequence[Path] = (),
    *,
    most: int | None = None,
) -> str:
    """Return a unified diff from the files of `tree` to `changes`. The project stays as it is.

    The old content is left out where a file and a folder swap places, or a file is unreadable.
    `writable`: see `Git`.

    Raises:
        NotReady: the old and new files have more than `most` bytes, git fails, or the temporary
            folder is full.
    """
    if most is not None and _bytes_on_disk(tree, changes) > most:
        raise too_large(most)
    try:
        with TemporaryDirectory(prefix="code-commit-diff-") as scratch:
            for side in ("a", "b"):
                Path(scratch, side).mkdir()
            for change in changes:
                mode = _mode(tree, change.path)
                with suppress(OSError):
                    content = tree.read(change.path)
                    _put(Path(scratch, "a", change.path), content, mode=mode)
                if change.mode is not None:
                    mode = change.mode
                _put(Path(scratch, "b", change.path), change.content, mode=mode)
            git = Git(tree.root, writable=writable)
            # git exits with 1 when there is a difference.
            diff = git.run(["-C", scratch, *_DIFF, "a", "b"], passing=1, env=NO_REPOSITORY)
            return _NAMES.sub(_with_both_sides, diff.decode("utf-8", "replace"))
    except OSError as error:
        raise NotReady(
            f"the diff cannot be made: {error}", hint="free space in the temporary folder"
        ) from error


def _with_both_sides(header: re.Match[str]) -> str:
    names = header[1]
    middle = len(names) // 2
    first, second = names[:middle], names[middle + 1 :]
    if first != second:
        return header[0]
    quote = '"' if first.startswith('"') else ""
    path = first[len(quote) + 1 :]
    return f"diff --git {quote}a{path} {quote}b{path}"


def too_large(most: int) -> NotReady:
    """Return the error for a diff of more than `most` bytes."""
    hint = "`git diff` shows uncommitted changes of any size"
    return NotReady(f"the diff is larger than {most // 2**20} MiB", hint=hint)


def _bytes_on_disk(tree: ProjectTree, changes: Sequence[Change]) -> int:
    """Return how many bytes the old and the new files need at most."""
    return sum(_BLOCK + len(change.content or b"") + _size(tree, change.path) for change in changes)


def _size(tree: ProjectTree, path: str) -> int:
    with suppress(OSError):
        if status := tree.lstat(path):
            return status.st_size
    return 0


def _mode(tree: ProjectTree, path: str) -> int:
    """Return the permission bits of a file, or those of an ordinary one if there is none."""
    with suppress(OSError):
        if status := tree.lstat(path):
            return status.st_mode & 0o777
    return _ORDINARY


def _put(path: Path, content: bytes | None, *, mode: int) -> None:
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode | _ORDINARY)  # git reads it, and shows whether it is executable
