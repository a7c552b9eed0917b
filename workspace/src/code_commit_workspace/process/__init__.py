"""Running builds and commands: isolated where that is possible, bounded in time and output, nothing left running.

`runner` is the way in. `launch` starts a process, inside of the `sandbox` where that works, under a `supervisor` that
outlives everything which it has started; `capture` keeps the output, `judge` sees whether a process
altered what judges it, `environment` takes keys out of its environment, `own_memory` keeps them from whatever runs.
"""

from code_commit_workspace.process.ptrace import disable_ptrace
from code_commit_workspace.process.runner import ProcessRunner, RunningProcess

__all__ = ["ProcessRunner", "RunningProcess", "disable_ptrace"]
