"""argparse as every command uses it, and its help: as wide as the terminal up to a limit, in colour on a terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from code_commit.plugin_api.errors import UsageError
from code_commit_workspace.terminal import printable

_WIDEST = 100  # longer lines are hard to read
_COLUMN = 30  # where explanations begin, at most
_HEADING = re.compile(r"(?:\A|(?<=\n\n))([^\s:][^\n:]*:)(?= |$)", re.MULTILINE)
# What stands first in an indented line: flags with their values, a command, or a placeholder.
_NAME = re.compile(r"^( {2,4})(-[^\n]*?|[a-z][\w.-]*(?= {2})|[A-Z]+)(?= {2}|$)", re.MULTILINE)


class Parser(argparse.ArgumentParser):
    """argparse with `UsageError` for errors, without abbreviated flags, and with a help that fits the terminal."""

    def __init__(self, *, add_help: bool = True, **options: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=HelpFormatter, **options)
        self.color = False  # Python 3.14's own would be escaped with all else that a terminal obeys
        self._positionals.title, self._optionals.title = "arguments", "flags"
        if add_help:
            self.add_argument("--help", "-h", action="help", help="show this help")

    def format_help(self) -> str:
        """Return the help; only now, as argparse makes a formatter for each flag that is added, is the width asked."""
        self.formatter_class = for_this_terminal
        return super().format_help()

    def print_help(self, file: Any = None) -> None:  # noqa: ARG002 - argparse's signature; stdout is what is meant
        """Show the help on stdout."""
        show_help(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise UsageError(message, hint=f"`{self.prog} --help` shows what there is")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Lays a help text out. Of descriptions, what is indented stays as it is."""

    def __init__(self, prog: str, width: int = _WIDEST) -> None:
        super().__init__(prog, max_help_position=_COLUMN, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        def filled(line: str) -> str:
            stays = not line or line.startswith(" ")
            return line if stays else textwrap.fill(line, width - len(indent), break_on_hyphens=False)

        return textwrap.indent("\n".join(map(filled, text.splitlines())), indent)


def for_this_terminal(prog: str) -> HelpFormatter:
    """Return what lays a help text out for the terminal there is."""
    import shutil

    return HelpFormatter(prog, min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST))


def listed(title: str, lines: Mapping[str, str]) -> str:
    """Return a block of a help text: names, and what they do, in two columns."""
    column = max(map(len, lines)) + 2
    return f"{title}:\n" + "\n".join(f"  {name:<{column}}{text}" for name, text in lines.items())


def show_help(text: str) -> None:
    """Write a help text to stdout. What plugins brought into it is made harmless before colour is added."""
    safe = printable(text)
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in {"", "dumb"}
    sys.stdout.write(safe if plain else _coloured(safe))


def _coloured(text: str) -> str:
    """Bold headings, cyan names."""
    headed = _HEADING.sub("\x1b[1m\\1\x1b[0m", text)
    return _NAME.sub("\\1\x1b[36m\\2\x1b[0m", headed)
