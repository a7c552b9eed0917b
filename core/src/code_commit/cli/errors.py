"""How a failure is told: one line of what happened, one of what to do."""

from __future__ import annotations

import json
import sys
import time

from code_commit.plugin_api.errors import ExitCode


def print_error(message: str, hint: str = "", *, folder: str = "") -> None:
    """Tell a person on stderr, without keys; text from outside cannot command the terminal."""
    from code_commit.cli.censoring import censored

    lines = [f"code-commit: {message}"]
    if hint:
        lines.append(f"  what to do: {hint}")
    if folder:
        lines.append(f"  the log: {folder}")
    # A further line of theirs cannot pass for one of ours.
    indented = (line.replace("\n", "\n    ") for line in lines)
    tell(censored("\n".join(indented)))


def tell(text: str) -> None:
    """Write `text` to stderr, escaped, if anybody listens: that nobody does changes no exit code."""
    from code_commit.log import SafeStream
    from code_commit_workspace.terminal import printable

    stream = SafeStream(sys.stderr)
    stream.write(printable(text) + "\n")
    stream.flush()


def print_lone_finish(exit_code: ExitCode, summary: str, hint: str = "") -> None:
    """Print the one event of a run that never began."""
    from code_commit.cli.censoring import censored
    from code_commit.log import SafeStream

    data = {
        "outcome": exit_code.outcome,
        "exit_code": int(exit_code),
        "summary": censored(summary),
        "data": {"hint": censored(hint)} if hint else {},
    }
    record = {
        "seq": 1, "time": time.time(), "run": "", "span": 0, "parent": None, "kind": "run.finished", "data": data,
        "version": 1,
    }  # fmt: skip
    stream = SafeStream(sys.stdout)
    stream.write(json.dumps(record) + "\n")
    stream.flush()
