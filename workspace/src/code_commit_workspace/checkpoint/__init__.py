"""Save the visible tree before the first write of a run and after each attempt, to restore it later.

repository    a private git repository below the state folder
visible       which files are saved, and their permission bits
snapshot      one visible tree
saved         earlier snapshots, and the differences between two
restore       restores and undoes
checkpoints   the checkpoints of each run
"""

from __future__ import annotations

from code_commit_workspace.checkpoint.checkpoints import Checkpoints

__all__ = ["Checkpoints"]
