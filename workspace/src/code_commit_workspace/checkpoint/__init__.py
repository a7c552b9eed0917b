"""The visible tree, taken before the first write of a run and after each attempt, so that all of it can come back.

repository    a private git repository below the state folder
visible       which files are taken, and their permission bits
snapshot      one visible tree, and the way from one to another
checkpoints   take, compare, restore, undo
"""

from __future__ import annotations

from code_commit_workspace.checkpoint.checkpoints import Checkpoints

__all__ = ["Checkpoints"]
