"""Save the visible tree before the first write of a run and after each attempt, so that all of it can be restored.

repository    a private git repository below the state folder
visible       which files are saved, and their permission bits
snapshot      one visible tree
saved         earlier snapshots, and the differences between two
restore       restore and undo
checkpoints   all of that, by run
"""

from __future__ import annotations

from code_commit_workspace.checkpoint.checkpoints import Checkpoints

__all__ = ["Checkpoints"]
