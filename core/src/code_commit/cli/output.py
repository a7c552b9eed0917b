"""What the command prints: results on stdout, notes and errors on stderr. Keys are hidden everywhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from code_commit.plugin_api.errors import ExitCode

if TYPE_CHECKING:
    from code_commit_workspace import Redactor


def without_keys(text: str) -> str:
    """Return the text of an error without keys, also without what merely looks like one."""
    import os

    from code_commit.config.keys import likely_keys

    redactor = _redactor()
    for key in likely_keys(os.environ):
        redactor.add(key)
    return redactor.text(text)


def _redactor() -> Redactor:
    """Know the keys that are configured here, as far as they can be found without any plugin."""
    import os
    from contextlib import suppress
    from pathlib import Path

    from code_commit.config.keys import KeyStore
    from code_commit.plugin_api.errors import CodeCommitError
    from code_commit.plugins import first_party
    from code_commit_workspace import Redactor

    redactor = Redactor()
    with suppress(CodeCommitError, OSError):  # why none can be read is another message
        KeyStore(Path.cwd(), redactor, os.environ).censor_all(first_party.names("key_variable"))
    return redactor


def print_error(message: str, hint: str = "", *, folder: str = "") -> None:
    """Tell a person on stderr what happened and what to do."""
    lines = [f"code-commit: {message}"]
    if hint:
        lines.append(f"  what to do: {hint}")
    if folder:
        lines.append(f"  the log: {folder}")
    # A further line of a message cannot pass for one of ours.
    indented = (line.replace("\n", "\n    ") for line in lines)
    tell(without_keys("\n".join(indented)))


def tell(text: str) -> None:
    """Write `text` to stderr, escaped. That nobody listens changes no exit code."""
    from code_commit.log import SafeStream
    from code_commit_workspace import printable

    stream = SafeStream(sys.stderr)
    stream.write(printable(text) + "\n")
    stream.flush()


def print_lone_finish(exit_code: ExitCode, summary: str, hint: str = "") -> None:
    """Print the one event of a run that never began."""
    from code_commit.log import SafeStream

    data = {
        "outcome": exit_code.outcome,
        "exit_code": int(exit_code),
        "summary": without_keys(summary),
        "data": {"hint": without_keys(hint)} if hint else {},
    }
    record = {
        "seq": 1, "time": time.time(), "run": "", "span": 0, "parent": None, "kind": "run.finished", "data": data,
        "version": 1,
    }  # fmt: skip
    stream = SafeStream(sys.stdout)
    stream.write(json.dumps(record) + "\n")
    stream.flush()


class CommandOutput:
    """The `Output` of commands. A result that cannot be written ends the command; a note never does."""

    @cached_property
    def _clean(self) -> Callable[[str], str]:
        return _redactor().text

    def line(self, text: str = "") -> None:
        """Print one line on stdout."""
        from code_commit_workspace import printable

        sys.stdout.write(printable(self._clean(text).rstrip(), newlines=False) + "\n")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print columns on stdout, each as wide as its widest cell."""
        from code_commit_workspace import printable

        shown = [[printable(cell, newlines=False) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in shown]
        sys.stdout.write(self._clean("".join(f"{line.rstrip()}\n" for line in lines)))

    def document(self, document: object) -> None:
        """Print a JSON document on stdout."""
        sys.stdout.write(self._clean(json.dumps(document, indent=2)) + "\n")

    def write(self, text: str) -> None:
        """Write a text on stdout, escaped where stdout is a terminal."""
        from code_commit_workspace import printable

        text = self._clean(text)
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)

    def note(self, text: str) -> None:
        """Tell the person one line on stderr."""
        tell(self._clean(text))
