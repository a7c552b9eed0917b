"""How `--help` looks: as wide as the terminal up to a limit, names in columns, colour where there is a terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping

from code_commit_workspace.terminal import printable

RUN = "a folder below logs, its beginning, or latest"  # for every command that takes one

_WIDEST = 100  # longer lines are hard to read
_COLUMN = 30  # where explanations begin, at most
_HEADING = re.compile(r"(?:\A|(?<=\n\n))([^\s:][^\n:]*:)(?= |$)", re.MULTILINE)
# What stands first in an indented line: flags with their values, a command, or a placeholder.
_NAME = re.compile(r"^( {2,4})(-[^\n]*?|[a-z][\w.-]*(?= {2})|[A-Z]+)(?= {2}|$)", re.MULTILINE)


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
