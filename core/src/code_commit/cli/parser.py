"""The parser of a command line: argparse, with our own errors and layout of the help."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import suppress
from typing import Any, NoReturn

from code_commit.plugin_api.errors import UsageError
from code_commit.terminal.screen import may_color, terminal_columns
from code_commit.terminal.streams import write_stdout
from code_commit_workspace.words import printable

_WIDEST = 100  # longer lines are hard to read
_COLUMN = 30  # of the explanations, at most
_HEADING = re.compile(r"(?:\A|(?<=\n\n))([^\s:][^\n:]*:)(?= |$)", re.MULTILINE)
# The first words of an indented line: flags with their values, a command, or a placeholder.
_NAME = re.compile(r"^( {2,4})(-[^\n]*?|[a-z][\w.-]*(?= {2})|[A-Z]+)(?= {2}|$)", re.MULTILINE)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats a help text, as wide as the terminal. Indented lines are not wrapped."""

    def __init__(self, prog: str) -> None:
        width = min(terminal_columns(os.environ), _WIDEST)
        super().__init__(prog, max_help_position=_COLUMN, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        lines = text.splitlines()
        for index, line in enumerate(lines):
            if not line.startswith(" "):
                lines[index] = textwrap.fill(line, width - len(indent), break_on_hyphens=False)
        return textwrap.indent("\n".join(lines), indent)

    def _expand_help(self, action: argparse.Action) -> str:
        with suppress(KeyError, TypeError, ValueError):  # a text of a plugin with a bare %
            return super()._expand_help(action)
        return action.help or ""


class _OneValue(argparse.Action):
    """Stores the value of a flag, and refuses a second one: the first would be lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest, self.default)
        if option_string and before is not self.default and before != values:
            parser.error(f"{option_string} is given twice, with different values")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` and takes no abbreviated flags."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            add_help=False, allow_abbrev=False, formatter_class=HelpFormatter, **options
        )
        self.color = False  # the colors of Python 3.14 would be escaped
        self._positionals.title = "arguments"
        self._optionals.title = "flags"
        for name in (None, "store"):  # how argparse calls the action of a flag with one value
            self.register("action", name, _OneValue)
        self.add_argument("--help", "-h", action="help", help="show this help")

    def print_help(self, file: Any = None) -> None:  # noqa: ARG002 - argparse's signature
        """Print the help on stdout. Texts of plugins are escaped before colors are added."""
        text = printable(self.format_help())
        if may_color(sys.stdout, os.environ):  # headings are bold, names cyan
            text = _HEADING.sub("\x1b[1m\\1\x1b[0m", text)
            text = _NAME.sub("\\1\x1b[36m\\2\x1b[0m", text)
        write_stdout(sys.stdout, text)

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise UsageError(message, hint=f"`{self.prog} --help` lists the commands and flags")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, with the same help in every command."""
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
