"""Apply a set of changes completely or not at all, even across crashes.

lock      one run at a time in a project
survey    the files at the changed paths, and the folders that are made or removed
journal   the folder of everything that a rollback needs, below the state folder
plan      what each path was and becomes; `parse_plan` reads it back
stage     puts new content and old files into the journal
apply     activates the journal, changes the project, closes the journal
recover   clears away the journal of an earlier run
rollback  undoes the changes of a journal that is still active

Import `apply` and `replace` from their module: a workspace that only reads does not load it.
"""

from __future__ import annotations

from code_commit_workspace.transaction.home import PRIVATE_FOLDER, STATE_FOLDER, open_folder, open_home
from code_commit_workspace.transaction.lock import ProjectLock
from code_commit_workspace.transaction.recover import in_force, recover

__all__ = [
    "PRIVATE_FOLDER",
    "STATE_FOLDER",
    "ProjectLock",
    "in_force",
    "open_folder",
    "open_home",
    "recover",
]
