"""Running builds and commands: isolated where that is possible, bounded in time and output, nothing left running.

`runner` is the way in. `launch` starts a process and ends all of it, with `sandbox` (bubblewrap) or `supervisor` (a
process of its own that outlives none of its descendants); `capture` keeps the output, `judge` sees whether a process
altered what judges it, `environment` takes keys out of its environment.
"""

from code_commit.process.runner import ProcessRunner

__all__ = ["ProcessRunner"]
