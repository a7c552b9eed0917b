"""Save and restore the visible tree.

A run saves it before its first write and after each attempt.

repository    a private git repository below the state folder
visible       which files are saved, and their permission bits
limits        which files are too large
index         git's index, which knows the saved files
census        counts all files, when nothing is known of them
last_look     what the latest look found, where the next one starts
snapshot      one visible tree
present       the files of a look, looked up when they are asked for
saved         earlier snapshots, and the differences between two
writers       who wrote what: responses, processes, people
put_aside     moves away what is in the way of files to restore
restore       restores the tree of a checkpoint
run_order     the runs in the order of their first checkpoints
history       what a run did to the files, and what is left of it
work          what several runs changed, apart from what people changed
placed        puts contents in place of a few files, for a trial
undo          puts back what a run changed, and takes that back
green_builds  the trees on which the build passed last
checkpoints   the checkpoints of each run
"""

from __future__ import annotations

from code_commit_workspace.store.checkpoints import Checkpoints
from code_commit_workspace.store.writers import Writers

__all__ = ["Checkpoints", "Writers"]
