"""Run the command line: from arguments to exit code. Every error ends here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from code_commit import __version__
from code_commit.cli.output import CommandOutput
from code_commit.plugin_api.errors import ExitCode, NotReady, as_reported, exit_code_of
from code_commit.plugin_api.running_code import running_code
from code_commit.terminal.streams import SafeStream, write_stdout
from code_commit_workspace import STOP
from code_commit_workspace.words import traceback_of

_HANGS_SECONDS = 5.0  # before a run, which watches for itself


def run_command(argv: Sequence[str]) -> int:
    """Run a workflow or a command; return the exit code."""
    out = CommandOutput()
    try:
        STOP.check()
        with running_code().watch(_note_hang, seconds=_HANGS_SECONDS):
            code = _select(argv, out)()
        write_stdout(sys.stdout, "")
    except BrokenPipeError:
        from code_commit.terminal.streams import discard_output

        discard_output(sys.stdout)  # the reader is gone; Python would report it again at exit
        return ExitCode.NOT_REACHED
    except BaseException as error:  # noqa: BLE001 - a bug must end with 70, not with Python's 1
        with STOP.hold():
            return report(error, argv, out)
    return code


def _note_hang(part: str) -> None:
    SafeStream(sys.stderr).print(f"no progress for {_HANGS_SECONDS:g} s in {part}")


def _select(argv: Sequence[str], out: CommandOutput) -> Callable[[], int]:
    """Return a function that runs the command line.

    The caller calls it, so that tracebacks stay short.
    """
    from code_commit.cli.project_folder import enter_folder

    argv = enter_folder(argv)
    if "--version" in _flags_in(argv) or argv[:1] == ["-V"]:
        write_stdout(sys.stdout, f"code-commit {__version__}\n")
        return lambda: ExitCode.REACHED
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    from code_commit.cli.arguments import load_registry, parse_invocation, split_command

    command, following, disabled = split_command(argv)
    if command:
        from code_commit.cli.host import run_named

        return partial(run_named, command, following, os.environ, disabled, out)
    registry = load_registry(disabled)
    out.registries.append(registry)
    if {"--help", "-h"} & set(_flags_in(argv)):
        from code_commit.cli.help import print_workflow_help

        print_workflow_help(registry)
        return lambda: ExitCode.REACHED
    invocation = parse_invocation(argv, registry)
    from code_commit.cli.workflow import run_invocation

    return partial(
        run_invocation,
        invocation,
        registry,
        os.environ,
        out,
        ends_stdout=invocation.as_json,
    )


def report(error: BaseException, argv: Sequence[str], out: CommandOutput) -> int:
    """Print an error from before the run: for people, and with `--json` as the last event."""
    if isinstance(error, SystemExit) and error.code in {None, 0}:
        return ExitCode.REACHED  # argparse, after a command's help
    if isinstance(error, OSError):
        error = _folder_lost() or error
    shown = as_reported(error)
    code = exit_code_of(shown)
    message = shown.message
    hint = shown.hint
    with suppress(OSError):
        hint = out.hint(hint, os.getcwd())  # noqa: PTH109 - pathlib costs
    if code is ExitCode.INTERNAL and "--debug" in _flags_in(argv):
        message = traceback_of(error).rstrip()
        hint = ""
    elif code is ExitCode.INTERNAL:
        # The notes name the command of a plugin.
        message = ", ".join([message, *getattr(error, "__notes__", ())])
    out.error(message, hint)
    if "--json" in _flags_in(argv):
        out.run_finished(code, message, hint)
    return code


def _flags_in(argv: Sequence[str]) -> Sequence[str]:
    """Return the words before `--`: those after it may be the names of files, such as `--help`."""
    if "--" not in argv:
        return argv
    return argv[: argv.index("--")]


def _folder_lost() -> NotReady | None:
    try:
        folder = os.getcwd()  # noqa: PTH109 - pathlib costs
    except OSError as gone:
        return NotReady(
            f"the current folder no longer exists: {gone.strerror}", hint="change to another folder"
        )
    if os.access(folder, os.R_OK | os.X_OK):
        return None
    import shlex

    return NotReady(
        f"your account may not use the current folder {folder}",
        hint=f"`chmod u+rwx {shlex.quote(folder)}`",
    )
