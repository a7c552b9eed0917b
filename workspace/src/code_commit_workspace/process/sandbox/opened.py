"""Find folders that `sandbox.writable` must not open.

A build could put a program there that runs outside of the sandbox.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from code_commit_workspace.files.path_kinds import exists, is_folder, is_link, lexists
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.way_of_path import places_on_way
from code_commit_workspace.process.sandbox.hidden import credential_stores

# Programs that the host starts, and that git starts for commits of the user.
_PROGRAMS = ("bash", "sh", "bwrap", "git", "git-lfs", "gpg", "ssh-keygen")


def fault_of_opening(
    opened: str,
    *,
    homes: Sequence[str],
    hidden: Sequence[str],
    private: str,
) -> tuple[str, str] | None:
    """Return why no process may write to `opened`, a real path, and what to do about it; or None.

    `hidden` are the paths that no process sees, existing or not; `private` is the folder of the
    private folders.
    """
    missing = [path for path in (*hidden, *credential_stores(homes)) if not lexists(path)]
    unchangeable = (*homes, *missing, private)
    content = next((path for path in unchangeable if within(path, opened)), "")
    is_missing_itself = content == opened and content in missing
    if within(opened, private) or (content and not is_missing_itself):
        fault = f"is or holds {content or private}, which no process can change"
        return fault, "use folders below it"
    return _fault_of_programs(opened)


def _fault_of_programs(opened: str) -> tuple[str, str] | None:
    """Return why a build could put a program that others run into `opened`, or None."""
    searched = [folder for folder in os.get_exec_path() if folder.startswith("/")]
    real_folders = [os.path.realpath(folder) for folder in searched]
    if any(within(opened, folder) for folder in real_folders if is_folder(folder)):
        return (
            "is on PATH, where a build could put programs that you run",
            "remove it from your configuration or from PATH",
        )
    programs = (shutil.which(name, path=folder) for name in _PROGRAMS for folder in searched)
    for path in (*searched, *filter(None, programs)):
        *passed, last = places_on_way(path)
        replaceable = [place for place in passed if is_link(place)]
        if not _is_mounted(last, real_folders):
            replaceable.append(last)
        if any(within(place, opened) for place in replaceable):
            return (
                f"holds what {path} on PATH leads to, so that a build could put a program there",
                "remove it from your configuration or from PATH",
            )
    return None


def _is_mounted(path: str, folders: Sequence[str]) -> bool:
    """Return whether the real `path` of a folder of PATH, or of a program there, is read-only.

    The sandbox mounts each of the real `folders` of PATH that exists, with the programs in it.
    """
    if not exists(path):
        return False
    return is_folder(path) or any(within(path, folder) for folder in folders)
