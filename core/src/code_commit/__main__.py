"""The command `code-commit`. `--version` imports nothing else."""

from __future__ import annotations

import gc
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_FLUSH_SECONDS = 0.5
_THREADS_SECONDS = 60.0  # for threads of plugins, such as one that uploads, after the end
# New objects between two collections. A short run makes 140,000, most of them by imports.
_GC_THRESHOLD = 250_000


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
    try:
        from functools import partial

        from code_commit_workspace import STOP

        json_stdout = None
        if "--json" in arguments:
            json_stdout = _take_stdout()
        STOP.last_words = partial(_report_hard_end, json_stdout=json_stdout)
        STOP.listen(_exit_now)
        from code_commit.cli.main import run_command

        code = run_command(arguments)
    except BaseException as error:  # noqa: BLE001 - an import failed, or Ctrl-C before `listen`
        from code_commit.cli.main import report
        from code_commit.cli.output import CommandOutput

        code = report(error, arguments, CommandOutput())
    from code_commit_workspace import STOP

    STOP.finish(code)
    gc.freeze()  # the end of the process frees everything without a collection
    if code == STOP.INTERRUPTED:
        _exit_now(code)
    _limit_shutdown(code)
    return code


def _limit_shutdown(code: int) -> None:
    """Exit with `code` if a thread that Python's shutdown waits for does not end in time."""
    from threading import Thread, main_thread
    from threading import enumerate as all_threads

    awaited = [
        thread for thread in all_threads() if not thread.daemon and thread is not main_thread()
    ]
    if not awaited:
        return

    def end() -> None:
        time.sleep(_THREADS_SECONDS)
        names = ", ".join(thread.name for thread in awaited if thread.is_alive())
        text = f"warning: threads of plugins did not end after {_THREADS_SECONDS:g} s: {names}\n"
        os.write(2, text.encode("utf-8", "replace"))
        _exit_now(code)

    Thread(target=end, name="end", daemon=True).start()


def _open_missing_streams() -> None:
    """Open closed standard streams on the null device.

    Otherwise the next opened file takes their descriptor.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
        # `dup2` leaves a descriptor alone that is the right one already.
        os.set_inheritable(number, True)
        mode = "r" if number == 0 else "w"
        stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
        setattr(sys, name, stream)


def _take_stdout() -> int:
    """Keep stdout for JSON: children, and libraries that write to descriptor 1, write to stderr.

    Return the descriptor of stdout.
    """
    stdout: Any = sys.stdout
    descriptor = os.dup(1)  # no child inherits it
    sys.stdout = sys.__stdout__ = open(  # type: ignore[misc]  # noqa: SIM115 - for good
        descriptor, "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False
    )
    os.dup2(2, 1)
    return descriptor


def _report_hard_end(place: str, *, json_stdout: int | None) -> None:
    """Print the error of a command that did not end by itself; with `--json`, the last event, too.

    Another thread calls this while the main thread may hold any lock, so it imports nothing and
    uses no stream.
    """
    from code_commit_workspace import STOP

    words = STOP.words.message
    if place:
        words += f", at {place}"
    hint = STOP.words.hint
    lines = f"error: {words}\n"
    if hint:
        lines += f"hint: {hint}\n"
    os.write(2, lines.encode("utf-8", "replace"))
    if json_stdout is not None:
        result = f'"outcome": "interrupted", "exit_code": {STOP.exit_code}'
        details = f'"hint": {_quoted(hint)}' if hint else ""
        data = f'{result}, "summary": {_quoted(words)}, "data": {{{details}}}'
        event = f'"seq": 1, "time": {time.time()}, "run": "", "span": 0, "parent": null'
        line = f'{{{event}, "kind": "run.finished", "data": {{{data}}}}}\n'
        os.write(json_stdout, line.encode("utf-8", "replace"))


def _quoted(text: str) -> str:
    """Return `text` as a JSON string, without the module `json`."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _exit_now(code: int) -> NoReturn:
    """Exit without Python's shutdown, which waits for threads. Any thread may call this."""
    from threading import Thread

    from code_commit_workspace import STOP

    flushing = Thread(target=_flush, daemon=True)  # the main thread may be in a write that blocks
    try:
        flushing.start()
    except RuntimeError:  # Python is shutting down, and starts no thread
        _flush()
    else:
        flushing.join(_FLUSH_SECONDS)
    STOP.end()
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError, RuntimeError):
            continue  # it has no reader, was never open, or is being flushed


if __name__ == "__main__":
    # `python -m` put the working directory there: import nothing from the project.
    del sys.path[: not sys.flags.safe_path]
    sys.exit(main())
