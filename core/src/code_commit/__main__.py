"""The command `code-commit`. `--version` imports nothing else."""

from __future__ import annotations

import gc
import os
import sys

_INTERRUPTED = 130
_GC_THRESHOLD = 100_000  # new objects between two collections; the imports of a run make fewer


def main() -> int:
    """Run the command with the process's arguments; return its exit code."""
    _open_missing_streams()
    # Escape what stdout cannot encode; stderr does so by default.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    arguments = sys.argv[1:]
    # `run_command` prints it too, for longer command lines and for errors; its imports take twice
    # as long as this.
    if arguments in (["--version"], ["-V"]):
        from code_commit import __version__

        try:
            sys.stdout.write(f"code-commit {__version__}\n")
            sys.stdout.flush()
        except OSError:
            pass  # reported below
        else:
            return 0
    # Nearly all objects live to the end: collections would take a fifth of a short run.
    gc.set_threshold(_GC_THRESHOLD)
    code: int | None = None

    try:
        from code_commit_workspace import raise_on_signals

        # A command that has ended keeps its exit code.
        raise_on_signals(lambda: _exit_now(code) if code is not None else None)
        from code_commit.cli.main import run_command

        code = run_command(arguments)
    except BaseException as error:  # noqa: BLE001 - Ctrl-C while it is imported
        from code_commit.cli.main import report
        from code_commit.cli.output import CommandOutput

        code = report(error, arguments, CommandOutput())
    gc.freeze()  # the end of the process frees everything without a collection
    if code == _INTERRUPTED:
        _exit_now(code)
    return code


def _open_missing_streams() -> None:
    """Open closed standard streams on the null device: otherwise the next opened file takes their
    descriptor.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
        # `dup2` leaves a descriptor alone that is the right one already.
        os.set_inheritable(number, True)
        setattr(
            sys,
            name,
            open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False),  # noqa: SIM115 - a descriptor, for good
        )


def _exit_now(code: int) -> None:
    """Exit without Python's shutdown, which waits for pool threads.

    After Ctrl-C in generated code (a dataclass that is being imported), the shutdown also kills the
    process by that signal, without an exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError, RuntimeError):
            continue  # it has no reader, was never open, or is being flushed
    if process := sys.modules.get("code_commit_workspace.git.process"):
        process.end_running()
    if git := sys.modules.get("code_commit_workspace.git.common_folder"):
        git.remove_common_folders()
    os._exit(code)


if __name__ == "__main__":
    # `python -m` put the working directory there: import nothing from the project.
    del sys.path[: not sys.flags.safe_path]
    sys.exit(main())
