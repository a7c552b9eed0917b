"""Bring a file from one version to another, and keep what a person changed in it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import NO_REPOSITORY, Git, GitError
from code_commit_workspace.move.versions import Version

MergeTexts = Callable[[bytes, bytes, bytes], bytes | None]
"""Takes the present text, the base and the target; returns all changes, or None if they overlap."""
_SECONDS = 30.0  # for one merge


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN
"""A base that nobody knows: the target replaces whatever is there."""
Base = Version | None | _Unknown


class Overlap(Exception):  # noqa: N818 - a state of the files, not an error
    """A person changed what the change is about, too."""


def three_way(
    base: Base, current: Version | None, target: Version | None, merge: MergeTexts
) -> Version | None:
    """Return what to write in place of `current`, so that `base` becomes `target`.

    Raises:
        Overlap: `current` differs from both, and the changes cannot be merged.
    """
    if base is UNKNOWN:
        return target
    if target is None or current is None:
        if current is None and target is None:
            return None
        if _same(current, base):
            return target
        raise Overlap
    mode = _mode(base, current, target)
    if target.same_as(current) or _same(current, base):
        return target._replace(mode=mode)
    if base is None or base.is_link or current.is_link or target.is_link:
        raise Overlap
    merged = merge(current.content, base.content, target.content)
    if merged is None:
        raise Overlap
    return Version(merged, mode)


def _same(one: Version | None, other: Version | None) -> bool:
    return one.same_as(other) if one is not None else other is None


def _mode(base: Version | None, current: Version, target: Version) -> int | None:
    """Return the permission bits, which a person may have changed since `base`."""
    if target.mode is None or target.is_link or current.is_link:
        return target.mode
    if base is not None and base.mode not in {None, current.mode}:
        return current.mode
    return target.mode


class TextMerger:
    """Merges texts with git, which knows when changes overlap."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def __call__(self, current: bytes, base: bytes, target: bytes) -> bytes | None:
        """Return `current` with the changes from `base` to `target`; None if they overlap.

        Raises:
            NotReady: no temporary files can be written.
        """
        try:
            with TemporaryDirectory(prefix="code-commit-merge-") as folder:
                texts = {"current": current, "base": base, "target": target}
                for name, content in texts.items():
                    Path(folder, name).write_bytes(content)
                command = ["-C", folder, "merge-file", "--stdout", "--quiet", *texts]
                return self._git.run(command, env=NO_REPOSITORY, timeout=_SECONDS)
        except GitError:  # they overlap, or are no texts
            return None
        except OSError as error:
            raise NotReady(
                f"changes cannot be merged in {gettempdir()}: {error.strerror}",
                hint="no file was changed; fix the cause, then run again",
            ) from error
