"""What the command prints, without keys: results on stdout, errors and notes on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from code_commit.plugin_api.errors import CodeCommitError, ExitCode
from code_commit.terminal.screen import align_columns, may_color, terminal_columns
from code_commit.terminal.streams import SafeStream, write_stdout
from code_commit_workspace.words import printable

if TYPE_CHECKING:
    from code_commit.plugins.registry import Registry
    from code_commit_workspace import Redactor


_COMMAND = "`code-commit "
_COMMAND_ELSEWHERE = "`code-commit -C "


class CommandOutput:
    """The `Output` of commands, and the errors of the host.

    A result that cannot be written is an error; a note is not.

    `registries` are the plugins loaded so far: the secrets that they declare are redacted.
    `started_in` is the folder in which the user gave the command.
    """

    def __init__(self) -> None:
        self.registries: list[Registry] = []
        self.started_in = ""
        with suppress(OSError):  # it was deleted
            self.started_in = os.getcwd()  # noqa: PTH109 - pathlib costs

    def line(self, text: str = "") -> None:
        """Print one line on stdout."""
        write_stdout(sys.stdout, f"{self._in_one_line(text.rstrip())}\n")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print a table on stdout: on a terminal with wrapped cells, else a row a line."""
        cells = [[self._in_one_line(cell) for cell in row] for row in rows]
        columns = 0
        if sys.stdout.isatty():
            columns = terminal_columns(os.environ)
        write_stdout(sys.stdout, align_columns(cells, columns))

    def _in_one_line(self, text: str) -> str:
        return printable(self._known_keys.text(text), newlines=False)

    def document(self, document: object) -> None:
        """Print a JSON document on stdout."""
        import json

        text = json.dumps(self._known_keys.json(document), indent=2)
        write_stdout(sys.stdout, f"{text}\n")

    def write(self, text: str) -> None:
        """Write a text to stdout, escaped if stdout is a terminal."""
        text = self._known_keys.text(text)
        if sys.stdout.isatty():
            text = printable(text)
        write_stdout(sys.stdout, text)

    def diff(self, text: str, *, paged: bool = True) -> None:
        """Write a unified diff to stdout: on a terminal in color, and `paged` in a pager."""
        text = self._known_keys.text(text)
        if not text or not sys.stdout.isatty():
            write_stdout(sys.stdout, text)
            return
        from code_commit.terminal.diff_lines import in_color
        from code_commit.terminal.pager import show_in_pager

        lines = printable(text).removesuffix("\n").split("\n")
        shown: Iterable[str] = lines
        if may_color(sys.stdout, os.environ):
            shown = in_color(lines)
        text = "".join(f"{line}\n" for line in shown)
        if not (paged and show_in_pager(text, os.environ)):
            write_stdout(sys.stdout, text)

    def note(self, text: str) -> None:
        """Print one line on stderr. A closed stderr changes no exit code."""
        SafeStream(sys.stderr).print(self._known_keys.text(text))

    def error(
        self,
        message: str,
        hint: str = "",
        *,
        notes: Sequence[str] = (),
        figures: Sequence[str] = (),
    ) -> None:
        """Print an error on stderr: what happened and what to do."""
        lines = [f"error: {message}", *(f"  {note}" for note in notes)]
        if hint:
            hint = self._of_installed(hint)
            lines.append(f"hint: {hint}")
        lines += figures
        # Indented, a further line of a message cannot look like one of ours.
        text = "\n".join(line.replace("\n", "\n    ") for line in lines)
        SafeStream(sys.stderr).print(self.redacted(text))

    def hint(self, text: str, root: str) -> str:
        """Return a hint whose commands are installed, and work where the user is.

        They are for the project at `root`.
        """
        text = self._of_installed(text)
        if self.started_in in {"", root} or _COMMAND_ELSEWHERE in text:
            return text
        import shlex

        return text.replace(_COMMAND, f"{_COMMAND_ELSEWHERE}{shlex.quote(root)} ")

    def _of_installed(self, hint: str) -> str:
        if not self.registries:
            return hint
        return self.registries[-1].hint_for(hint)

    def run_finished(self, exit_code: ExitCode, summary: str, hint: str = "") -> None:
        """Print `run.finished` for a run that did not start."""
        from code_commit.log.json_lines import JsonLines, data_of
        from code_commit.plugin_api.event import RunFinished
        from code_commit.plugin_api.record import Record

        data = {"hint": self.redacted(hint)} if hint else {}
        end = RunFinished(
            exit_code.outcome, int(exit_code), summary=self.redacted(summary), data=data
        )
        record = Record(
            seq=1,
            time=time.time(),
            run="",
            span=0,
            parent=None,
            kind=end.kind,
            data=data_of(end),
        )
        with suppress(OSError):  # the exit code tells it too
            JsonLines(sys.stdout).receive(record)

    def redacted(self, text: str) -> str:
        """Return the text of an error without keys and without values that look like keys."""
        redactor = self._redactor()
        redactor.add_likely(os.environ)
        return redactor.text(text)

    @cached_property
    def _known_keys(self) -> Redactor:
        return self._redactor()

    def _redactor(self) -> Redactor:
        """Return a redactor of the keys that are configured here, and of plugins' secrets."""
        from pathlib import Path

        from code_commit.config.keys import KeyStore
        from code_commit_workspace import Redactor

        redactor = Redactor()
        with suppress(CodeCommitError, OSError):  # another message reports this
            variables: set[str] = set()
            for registry in self.registries:
                variables |= registry.secret_variables()
            KeyStore(Path.cwd(), redactor.add, os.environ).redact_all(variables)
        return redactor
