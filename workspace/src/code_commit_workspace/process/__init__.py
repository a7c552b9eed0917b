"""Run builds and commands: isolated if possible, with limits on time and output, and nothing left running.

`runner` is the entry point. `launch` starts a process under a `supervisor`, inside the `sandbox` where that works, and
the supervisor outlives everything that the process starts. `capture` keeps the output, `integrity` checks whether a
process altered what checks the project, `environment` removes keys from its environment, `ptrace` protects the keys in
our memory.
"""

from code_commit_workspace.process.ptrace import disable_ptrace
from code_commit_workspace.process.runner import ProcessRunner, RunningProcess

__all__ = ["ProcessRunner", "RunningProcess", "disable_ptrace"]
