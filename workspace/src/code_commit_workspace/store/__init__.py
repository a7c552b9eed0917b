"""States of the project, and who wrote what: one private git repository, one log for each run.

repository    the private git repository below the state folder
objects       writes objects and trees without a process
visible       which files are kept
limits        which files are too large
looks         keeps the files as they are as a tree
log           the log of a run: who wrote what, noted when it happened
store         states, diffs, and what is kept
run_changes   changes the files for one run: apply, try, move back
undo          undoes a run, and takes that back
work          what several runs changed
builds        the trees on which the build passed last
"""

from __future__ import annotations

from code_commit_workspace.store.run_changes import RunChanges
from code_commit_workspace.store.store import Store

__all__ = ["RunChanges", "Store"]
