"""Let the system end a process whose parent was killed."""

# ruff: noqa: PLC0414 - it is the workspace's, for plugins
from code_commit_workspace import signalled_at_our_end as signalled_at_our_end
