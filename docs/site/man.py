"""Write the man page, core/man/code-commit.1: `python docs/site/man.py`, in an environment with all
plugins and Sphinx.

Commands and flags come from the parsers of the command line, exit codes from docs/usage.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from argparse import SUPPRESS, Action, ArgumentParser, _ArgumentGroup, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from code_commit.cli.arguments import load_registry, workflow_parser
from code_commit.cli.host import command_parser

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "core/man/code-commit.1"
SUMMARY = "change a codebase through a language model"
CONF = f"""
project = "code-commit"
today = "code-commit"
man_pages = [("index", "code-commit", {SUMMARY!r}, [], 1)]
smartquotes = False
"""
BEGIN = """\
code-commit
===========

Synopsis
--------

| **code-commit** [*flags*]
| **code-commit** *command* [*arguments*]

Description
-----------

**code-commit** changes a codebase through a language model, and lets the project's own build judge
the change. It works in the current folder, the root of a git repository. A change is applied as a
whole, or not at all, and each run can be undone. Without a command, the workflow runs that the
flags choose: **committing-code**, unless a flag of another one is given.
"""
FILES = {
    "agent-config/query.txt": "The description of the change, unless a flag gives it.",
    "agent-config/codeRollup.txt": (
        "The code that the model sees; **code-commit rollup** writes it."
    ),
    "agent-config/PROVIDER-key.txt": "The key of a provider, such as agent-config/gemini-key.txt.",
    "agent-config/config.toml": (
        "The settings of the project; **code-commit config** prints all settings."
    ),
    "build.sh": "Checks the project: exit code 0 means success.",
    "logs/": "A folder for each run.",
}
_EXIT_CODE = re.compile(r"^\| (\d+) \| `?(\w+)`? \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def source() -> str:
    """Return the text of the page, as reStructuredText."""
    registry = load_registry()
    parser = workflow_parser(registry)
    parts = [BEGIN, titled("Commands")]
    for plugin, definition in registry.commands.values():
        if plugin.distribution != "code-commit-testing":  # for authors of plugins
            parts += command(command_parser(plugin, definition))
    for group in parser._action_groups:  # noqa: SLF001 - no public way
        if flags := list(described(group)):
            title = group.title or ""
            parts += [
                titled(title[0].upper() + title[1:]),
                escaped(group.description or ""),
                *flags,
            ]
    parts += [titled("Exit status"), *exit_codes(), titled("Files")]
    parts += [definition_of(f"*{escaped(name)}*", text) for name, text in FILES.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def command(parser: ArgumentParser, level: str = "~") -> Iterator[str]:
    """Yield the parts of the page about one command, then those about its actions."""
    actions = parser._actions  # noqa: SLF001 - no public way
    words = [
        synopsis(action)
        for action in actions
        if not action.option_strings and action.help != SUPPRESS
    ]
    yield titled(" ".join([parser.prog, *words]), level)
    for paragraph in (parser.description or "").split("\n\n"):
        if not any(line.startswith(" ") for line in paragraph.splitlines()):
            yield escaped(paragraph)
    for group in parser._action_groups:  # noqa: SLF001 - no public way
        yield from described(group)
    for action in actions:
        if isinstance(action, _SubParsersAction):
            for subparser in action.choices.values():
                yield from command(subparser, level)


def described(group: _ArgumentGroup) -> Iterator[str]:
    """Yield each argument of a group with its help."""
    for action in group._group_actions:  # noqa: SLF001 - no public way
        if (
            action.help != SUPPRESS
            and not isinstance(action, _SubParsersAction)
            and "--help" not in action.option_strings
        ):
            names = ", ".join(f"**{name}**" for name in action.option_strings)
            value = "" if action.nargs == 0 else f"*{escaped(named(action))}*"
            yield definition_of(
                f"{names} {value}".strip(), escaped((action.help or "").replace("%%", "%"))
            )


def synopsis(action: Action) -> str:
    """Return a positional argument as in a synopsis."""
    name = named(action)
    more = " ..." if action.nargs in {"*", "+"} else ""
    return f"[{name}{more}]" if action.nargs in {"?", "*"} else f"{name}{more}"


def named(action: Action) -> str:
    """Return the name of an argument's value."""
    return str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())


def exit_codes() -> Iterator[str]:
    """Yield the exit codes of docs/usage.md."""
    for code, name, meaning in _EXIT_CODE.findall((ROOT / "docs/usage.md").read_text("utf-8")):
        yield definition_of(
            f"**{code}** {escaped(name)}", escaped(re.sub("[`*]", "", _LINK.sub(r"\1", meaning)))
        )


def definition_of(term: str, text: str) -> str:
    """Return a term and its explanation."""
    return f"{term}\n    {' '.join(text.split()) or '|'}"


def titled(text: str, mark: str = "-") -> str:
    """Return a title."""
    return f"{escaped(text)}\n{mark * 2 * len(text)}"


def escaped(text: str) -> str:
    """Return text without markup."""
    return re.sub(r"([\\*`_|<>])", r"\\\1", text)


def man_page() -> str:
    """Return the man page, made by Sphinx."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "conf.py").write_text(CONF, "utf-8")
        (Path(folder) / "index.rst").write_text(source(), "utf-8")
        subprocess.run(
            [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "man", folder, f"{folder}/out"],
            check=True,
        )
        return (Path(folder) / "out/code-commit.1").read_text("utf-8").partition(".SH Copyright")[0]


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(man_page(), "utf-8")
