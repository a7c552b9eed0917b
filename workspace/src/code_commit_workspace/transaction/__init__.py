"""A set of changes is made wholly or not at all, whatever happens while it is being made.

lock      one run at a time in a project
survey    what stands where the changes go, and which folders come and go with them
journal   what is needed to put everything back, below the state folder
stage     new content and old files go into the journal
apply     the journal comes into force, the project changes, the journal is closed
recover   the changes of a journal that is still in force are taken back
"""

from __future__ import annotations

from code_commit_workspace.transaction.apply import apply, replace
from code_commit_workspace.transaction.home import HOME, open_folder, open_home
from code_commit_workspace.transaction.journal import check_path
from code_commit_workspace.transaction.lock import ProjectLock
from code_commit_workspace.transaction.recover import in_force, recover
from code_commit_workspace.transaction.survey import Write

__all__ = [
    "HOME",
    "ProjectLock",
    "Write",
    "apply",
    "check_path",
    "in_force",
    "open_folder",
    "open_home",
    "recover",
    "replace",
]
