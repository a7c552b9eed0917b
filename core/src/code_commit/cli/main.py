"""What the command does from its arguments to its exit code. Every way to fail ends here, in one place."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType

from code_commit import __version__
from code_commit.plugin_api.errors import (
    CodeCommitError,
    ExitCode,
    Interrupted,
    NotReady,
    describe,
    exit_code_of,
    no_room,
)


def run_command(argv: Sequence[str]) -> int:
    """Run a workflow or a command; return the exit code of DESIGN section 6."""
    with _sigterm_like_ctrl_c():
        try:
            code = _chosen(argv)()
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()  # whoever read it is gone; Python would complain once more at exit
            return ExitCode.NOT_REACHED
        except CodeCommitError as error:
            return _failed(error, argv)
        except KeyboardInterrupt:
            return _failed(Interrupted("interrupted"), argv)
        except BaseException as error:  # noqa: BLE001 - a bug must end with 70, not with Python's 1
            return _unforeseen(error, argv)
    return code


def _chosen(argv: Sequence[str]) -> Callable[[], int]:
    """Return what the command line asks for, ready to be called. It is not called here: tracebacks stay short."""
    if "--version" in argv:
        return _print_version
    from code_commit.cli.arguments import disabled_plugins, split_command, workflow_parser
    from code_commit.cli.host import CommandHost, run_named

    command, following, disabled = split_command(argv)
    if command:
        return partial(run_named, command, following, os.environ, disabled)
    host = CommandHost(os.environ, disabled=disabled_plugins(argv))
    if {"--help", "-h"} & set(argv):
        workflow_parser(host.registry).print_help()
        return lambda: ExitCode.REACHED
    invocation = host.parse(argv)
    from code_commit.cli.workflow import run_invocation

    return partial(run_invocation, invocation, host)


def _print_version() -> int:
    sys.stdout.write(f"code-commit {__version__}\n")
    return ExitCode.REACHED


def _failed(error: CodeCommitError, argv: Sequence[str]) -> int:
    """Nothing of a run exists yet: say it to the person, and to the program that waits for a last event."""
    from code_commit.cli.output import print_error, print_lone_finish

    code = exit_code_of(error)
    print_error(error.message, error.hint)
    if "--json" in argv:
        print_lone_finish(code, error.message, error.hint)
    return code


def _unforeseen(error: BaseException, argv: Sequence[str]) -> int:
    if isinstance(error, SystemExit) and error.code in {None, 0}:
        return ExitCode.REACHED  # argparse, after it has printed a command's help
    from code_commit.cli.output import print_error, print_lone_finish

    if isinstance(error, OSError) and (known := _about_this_place(error) or no_room(error)):
        return _failed(known, argv)
    where = getattr(error, "__notes__", ())  # a command of a plugin
    message = ", ".join([f"internal error: {describe(error)}", *where])
    hint = f"this is a bug{'' if where else ' in code-commit'}; --debug shows where"
    if "--debug" in argv:
        import traceback

        message, hint = "".join(traceback.format_exception(error)).rstrip(), ""
    print_error(message, hint)
    if "--json" in argv:
        print_lone_finish(ExitCode.INTERNAL, message)
    return ExitCode.INTERNAL


def _about_this_place(error: OSError) -> NotReady | None:
    """Say what is wrong with the working directory or with stdout, if that is why `error` came."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs
    except OSError as gone:
        return NotReady(f"the working directory is gone: {gone.strerror}", hint="change to a folder that exists")
    try:
        sys.stdout.flush()  # it still holds what could not be written
    except OSError:
        _discard_stdout()
        return NotReady(f"stdout cannot be written: {error.strerror}", hint="let it lead somewhere else")
    return None


def _discard_stdout() -> None:
    from code_commit.log import discard_output

    discard_output(sys.stdout)


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[None]:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread: whoever runs us there keeps the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
