"""Format and show help."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from argparse import ArgumentParser, RawDescriptionHelpFormatter

from code_commit.plugins.first_party import installation
from code_commit.plugins.missing import failed_plugins
from code_commit.plugins.registry import DEFAULT_WORKFLOW, Registry
from code_commit_workspace import align_columns, may_color, printable, terminal_columns, write_stdout

_DESCRIPTION = """\
Change a codebase through a language model, and let the project's own build decide whether the change is good. \
Without a command, code-commit runs a workflow: committing-code, unless a flag selects another one.

"""
_DEFAULT_DISTRIBUTION = "code-commit-commit"
_WIDEST = 100  # longer lines are hard to read
_COLUMN = 30  # of the explanations, at most
_HEADING = re.compile(r"(?:\A|(?<=\n\n))([^\s:][^\n:]*:)(?= |$)", re.MULTILINE)
# The first words of an indented line: flags with their values, a command, or a placeholder.
_NAME = re.compile(r"^( {2,4})(-[^\n]*?|[a-z][\w.-]*(?= {2})|[A-Z]+)(?= {2}|$)", re.MULTILINE)


def describe_workflows(parser: ArgumentParser, registry: Registry) -> None:
    """Add the list of commands and examples to the help of `workflow_parser`."""
    commands = [(f"  {name}", command.help) for name, (_, command) in registry.commands.items()]
    parser.description = f"{_DESCRIPTION}commands:\n{align_columns(commands)}".rstrip()
    parser.epilog = _epilog(registry)


def _epilog(registry: Registry) -> str:
    """Show examples with the commands that are installed; without the default workflow, how to install it."""
    failed = failed_plugins(registry.plugin_host)
    if DEFAULT_WORKFLOW not in registry.workflows:
        return f"The default workflow is not installed. Install it:\n  {installation(_DEFAULT_DISTRIBUTION)}\n{failed}"
    lines = [f"code-commit {name}" for name in ("demo", "init") if name in registry.commands]
    lines += ['code-commit --query "Rename the module util to text"', "git diff | code-commit --query-file - --dry-run"]
    return (
        "examples:\n" + "".join(f"  {line}\n" for line in lines) + "\n"
        f"`code-commit help COMMAND` explains a command. The exit code is 0 when the goal was reached.\n{failed}"
    )


class HelpFormatter(RawDescriptionHelpFormatter):
    """Formats a help text, as wide as the terminal. Indented lines of descriptions are not wrapped."""

    def __init__(self, prog: str) -> None:
        width = min(terminal_columns(os.environ), _WIDEST)
        super().__init__(prog, max_help_position=_COLUMN, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        def filled(line: str) -> str:
            stays = not line or line.startswith(" ")
            return line if stays else textwrap.fill(line, width - len(indent), break_on_hyphens=False)

        return textwrap.indent("\n".join(map(filled, text.splitlines())), indent)


def show_help(text: str) -> None:
    """Write a help text to stdout. Texts of plugins are escaped before colors are added."""
    text = printable(text)
    if may_color(sys.stdout, os.environ):  # headings are bold, names cyan
        text = _NAME.sub("\\1\x1b[36m\\2\x1b[0m", _HEADING.sub("\x1b[1m\\1\x1b[0m", text))
    write_stdout(sys.stdout, text)
