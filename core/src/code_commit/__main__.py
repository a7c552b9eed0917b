"""The command `code-commit`. `--version` answers before anything else is imported."""

from __future__ import annotations

import gc
import os
import sys

_INTERRUPTED = 130
_SELDOM = 100_000  # new objects between two looks for garbage; the imports of a run make fewer


def main() -> int:
    """Run the command with the process's arguments; return its exit code."""
    _open_missing_streams()
    # What stdout cannot encode is shown escaped; stderr does so by itself.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from code_commit import __version__

        sys.stdout.write(f"code-commit {__version__}\n")
        return 0
    # Nearly all that is made lives to the end: what looks for garbage in it takes a fifth of a short run.
    gc.set_threshold(_SELDOM)
    try:
        from code_commit.cli.main import run_command
    except KeyboardInterrupt:
        _leave_at_once(_interrupted_early(arguments))
    try:
        code = run_command(arguments)
    finally:
        gc.freeze()  # the end of the process frees it as well, without a look at each
    if code == _INTERRUPTED:
        _leave_at_once(code)
    return code


def _interrupted_early(arguments: list[str]) -> int:
    """Say what `run_command` would, had it been imported."""
    from code_commit.cli.output import print_lone_finish
    from code_commit.plugin_api.errors import ExitCode

    sys.stderr.write("code-commit: interrupted\n")
    if "--json" in arguments:
        print_lone_finish(ExitCode.INTERRUPTED, "interrupted")
    return _INTERRUPTED


def _open_missing_streams() -> None:
    """Lead the streams that the caller has closed to nowhere: else the next file to be opened takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        os.set_inheritable(number, True)
        setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - a descriptor, for good


def _leave_at_once(code: int) -> None:
    """Exit without Python's own last steps. They wait for threads of a pool; and where Ctrl-C hit code that was made
    from text (a dataclass that was just being imported), they kill the process by that signal: no exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # nobody reads it, or it was never open
    os._exit(code)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # `python -m` put the working directory there: import nothing from the project
    sys.exit(main())
