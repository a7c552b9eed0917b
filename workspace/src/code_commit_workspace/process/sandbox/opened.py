"""Find folders that `sandbox.writable` must not open: a build could put a program there that runs
outside.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from code_commit_workspace.files.path_kinds import exists, is_folder
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.way_of_path import places_on_way
from code_commit_workspace.process.sandbox.hidden import credential_stores

# Programs that the host starts, and that git starts for commits of the user.
_PROGRAMS = ("bash", "sh", "bwrap", "git", "git-lfs", "gpg", "ssh-keygen")


def fault_of_opening(
    opened: str, *, homes: Sequence[str], hidden: Sequence[str], private: str
) -> tuple[str, str] | None:
    """Return why no process may write to `opened`, a real path, and what to do about it; or None.

    `hidden` are the paths that no process sees, existing or not; `private` is the folder of the
    private folders.
    """
    missing = [path for path in (*hidden, *credential_stores(homes)) if not os.path.lexists(path)]
    held = next((path for path in (*homes, *missing, private) if within(path, opened)), "")
    if within(opened, private) or (held and (held != opened or held not in missing)):
        return f"is or holds {held or private}, which no process can change", "use folders below it"
    searched = [folder for folder in os.get_exec_path() if folder.startswith("/")]
    if any(within(opened, os.path.realpath(folder)) for folder in searched if is_folder(folder)):
        return (
            "is on PATH, where a build could put programs that you run",
            "remove it from your configuration or from PATH",
        )
    found = (shutil.which(name, path=folder) for name in _PROGRAMS for folder in searched)
    for path in (*searched, *filter(None, found)):
        *passed, last = places_on_way(path)
        links = [place for place in passed if os.path.islink(place)]  # noqa: PTH114 - a text
        # A folder of PATH that exists is mounted read-only, with the programs in it.
        planted = (
            [last] if not exists(last) or not (is_folder(last) or _is_kept(last, searched)) else []
        )
        if any(within(each, opened) for each in (*links, *planted)):
            return (
                f"holds what {path} on PATH leads to, so that a build could put a program there",
                "remove it from your configuration or from PATH",
            )
    return None


def _is_kept(program: str, searched: Sequence[str]) -> bool:
    return any(within(program, os.path.realpath(folder)) for folder in searched)
