"""argparse as every command uses it."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from code_commit.records.errors import UsageError


class Parser(argparse.ArgumentParser):
    """argparse with `UsageError` for errors, and without abbreviated flags."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=34, width=100),
            **options,
        )

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise UsageError(message, hint=f"`{self.prog} --help` shows what there is")
