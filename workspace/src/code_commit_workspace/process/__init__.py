"""Run builds and commands: isolated if possible, limited, and with nothing left running.

`runner` is the entry point. `launch` starts a process under a `supervisor`, inside the `sandbox`
where that works; the supervisor outlives everything that the process starts. `seccomp` filters the
`system_calls` of processes in the sandbox. `capture` keeps the output, `integrity` checks whether a
process altered what checks the project. `running` is a process with pipes to the caller.
"""
