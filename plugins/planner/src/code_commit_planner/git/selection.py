"""Select the files of a commit. Nothing here calls git."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from code_commit_planner.plan_folder.temporary import is_temporary

if TYPE_CHECKING:
    from code_commit_workspace import StatusEntry


@dataclass(frozen=True, slots=True)
class Selection:
    """How the files that differ from the last commit are treated."""

    stage: tuple[str, ...]
    temporary: tuple[str, ...]
    unclear: tuple[str, ...]


def select(
    entries: Iterable[StatusEntry],
    foreign: Iterable[str],
    prefix: str,
    left: Collection[str] = (),
) -> Selection:
    """Choose the files to stage.

    `foreign` files were staged before by someone else and stay unchanged. `prefix` is the codepath
    below the top, with a trailing slash: folders above it do not count, so that a codebase may be
    inside a `tmp/`. `left` are further temporary files.
    """
    foreign_paths = frozenset(foreign)
    stage = []
    temporary = []
    unclear = []
    for entry in entries:
        if entry.path in foreign_paths or not (entry.unstaged or entry.unmerged):
            continue
        if entry.unmerged or entry.path.endswith("/"):  # the slash: a nested repository
            unclear.append(entry.path)
        elif entry.path in left or is_temporary(entry.path.removeprefix(prefix)):
            temporary.append(entry.path)
        else:
            stage.append(entry.path)
    return Selection(tuple(stage), tuple(temporary), tuple(unclear))
