"""Path rules for responses, and rules for what a model may read.

`names` and `protected` judge the text of a path, `path_conflicts` the paths of one response among themselves, `places`
what stands there on disk, `ignored` asks git, and `redacted` looks at the content. `reading` decides what a model may
see. The `Guard` asks them in order.
"""

from code_commit_workspace.guard.guard import Guard, normalise_changes
from code_commit_workspace.guard.names import normalise_path
from code_commit_workspace.guard.reading import VisibleTree, listed

__all__ = ["Guard", "VisibleTree", "listed", "normalise_changes", "normalise_path"]
