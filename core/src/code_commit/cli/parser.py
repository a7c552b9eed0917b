"""argparse as every command uses it."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from code_commit.cli.help_text import HelpFormatter, for_this_terminal, show_help
from code_commit.plugin_api.errors import UsageError


class Parser(argparse.ArgumentParser):
    """argparse with `UsageError` for errors, without abbreviated flags, and with help as `help_text` has it."""

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
