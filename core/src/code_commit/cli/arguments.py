"""Parse the command line, and format its help.

The flags of workflows come from the installed plugins.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from code_commit.plugin_api.definitions import Flag, Invocation, WorkflowDefinition
from code_commit.plugin_api.errors import UsageError
from code_commit.plugins.first_party import installation
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import DEFAULT_WORKFLOW, Registry
from code_commit.terminal.screen import align_columns, may_color, terminal_columns
from code_commit.terminal.streams import write_stdout
from code_commit_workspace.words import printable

# Each of these overrides the setting with the name of its field.
SETTING_FLAGS = (
    Flag(("--model", "-m"), "use this model: an id or alias, provider/any-id, a named config, "
                            "or replay/RUN", "NAME"),
    Flag(("--max-cost",), "end the run before it can cost more than this", "USD"),
    Flag(("--on-failure",), "keep or restore the files if the goal is not reached (default keep)", "keep|restore"),
    Flag(("--sandbox",), "isolate builds with bubblewrap: if it works, always, "
                         "or never (default auto)",
         "auto|require|off"),
)  # fmt: skip
_DISABLE = Flag(("--disable-plugin",), "do not load this plugin; repeatable", "NAME")
HOST_FLAGS = (
    *SETTING_FLAGS,
    Flag(("--json",), "print events to stdout, one JSON object per line"),
    Flag(("--quiet", "-q"), "print only errors, no progress"),
    Flag(("--debug",), "show the traceback of an internal error"),
    _DISABLE,
)
RESERVED = (
    "--help",
    "-h",
    "--version",
    "-V",
    *(name for flag in HOST_FLAGS for name in flag.names),
)
BUILTIN = (("code-commit", "code_commit.cli"),)


def load_registry(disabled: Sequence[str] = ()) -> Registry:
    """Load all plugins except disabled ones; return what they offer."""
    return Registry(PluginHost(builtin=BUILTIN, disabled=disabled), reserved_flags=RESERVED)


def parse_invocation(argv: Sequence[str], registry: Registry) -> Invocation:
    """Parse a command line that runs a workflow.

    Raises:
        UsageError: an unknown flag, more than one workflow, a flag of another workflow, or one
            whose plugin is not installed.
    """
    parser = workflow_parser(registry)
    known, extra = parser.parse_known_args(argv)
    if extra:
        raise _unknown(extra[0], parser, registry)
    values = {
        name: value
        for name, value in vars(known).items()
        if value is not None and value is not False
    }
    workflow = _selected_workflow(values, registry)
    own, settings, host = (
        {field_of(flag.names[0]) for flag in flags}
        for flags in (workflow.flags, SETTING_FLAGS, HOST_FLAGS)
    )
    accepted = own | host | {field_of(name) for name in workflow.ignores}
    if foreign := [name for name in values if name not in accepted]:
        raise _foreign_flag(foreign[0], workflow, registry)
    return Invocation(
        workflow,
        {name: value for name, value in values.items() if name in own},
        {name: value for name, value in values.items() if name in settings},
        tuple(argv),
        as_json=known.json,
        quiet=known.quiet,
        debug=known.debug,
    )


def workflow_parser(registry: Registry) -> Parser:
    """Return the parser of a command line without a command, with the flags of every installed
    workflow.
    """
    parser = Parser(
        prog="code-commit", usage="code-commit [flags]\n       code-commit COMMAND [flags]"
    )
    parser._optionals.title = "flags of every workflow"  # noqa: SLF001 - no public way
    parser.add_argument("--version", "-V", action="store_true", help="show the version")
    for flag in HOST_FLAGS:
        _add(parser, flag)
    added: set[str] = set()
    ordered = sorted(
        registry.workflows.values(),
        key=lambda each: (each[1].name != DEFAULT_WORKFLOW, each[1].name),
    )
    for _, workflow in ordered:
        group = parser.add_argument_group(f"workflow {workflow.name}", workflow.help)
        for flag in workflow.flags:
            if flag.names[0] not in added:  # workflows of one distribution may share a flag
                added.update(flag.names)
                also = [
                    other.name
                    for _, other in ordered
                    if other is not workflow and flag in other.flags
                ]
                _add(group, flag, f"; also for {' and '.join(also)}" if also else "")
    for _, workflow in ordered:
        for name in workflow.ignores:  # ignored also if its plugin is not installed
            if name not in added:
                added.add(name)
                parser.add_argument(name, help=argparse.SUPPRESS)
    return parser


def split_command(argv: Sequence[str]) -> tuple[str, Sequence[str], tuple[str, ...]]:
    """Return the command, if there is one, and the words after it.

    Also return what `--disable-plugin` names before `--`.
    """
    disabled, words, rest = [], [], iter(argv)
    for word in rest:
        if word == "--":  # names of files may follow
            words += ["--", *rest]
            break
        flag, is_joined, name = word.partition("=")
        if flag == "--disable-plugin":
            disabled.append(name if is_joined else next(rest, ""))
        else:
            words.append(word)
    command = words[0] if words and not words[0].startswith("-") else ""
    return command, words[1:], tuple(disabled)


def field_of(name: str) -> str:
    """Return the field of an options model that a flag fills: `--query-file` is `query_file`."""
    return name.lstrip("-").replace("-", "_")


def _add(target: argparse._ActionsContainer, flag: Flag, also: str = "") -> None:
    options: dict[str, Any] = (
        {"action": "store_true"} if flag.metavar is None else {"metavar": flag.metavar}
    )
    if flag is _DISABLE:
        options["action"] = "append"
    target.add_argument(
        *flag.names,
        dest=field_of(flag.names[0]),
        help=(flag.help + also).replace("%", "%%"),
        **options,
    )


def _selected_workflow(values: Mapping[str, Any], registry: Registry) -> WorkflowDefinition:
    selected = {
        workflow.name: name
        for _, workflow in registry.workflows.values()
        for name in (field_of(flag.names[0]) for flag in workflow.flags if flag.selects)
        if name in values
    }
    ignored = {field_of(flag) for name in selected for flag in registry.workflows[name][1].ignores}
    selected = {name: flag for name, flag in selected.items() if flag not in ignored}
    if len(selected) > 1:
        flags = " and ".join(f"--{flag.replace('_', '-')}" for flag in selected.values())
        raise UsageError(f"{flags} cannot be used together: a run has one workflow")
    return registry.workflow(next(iter(selected), DEFAULT_WORKFLOW))[1]


def is_selector(flag: Flag) -> bool:
    """Return whether the flag selects the workflow and has no value.

    It needs no field among the options.
    """
    return flag.selects and flag.metavar is None


def _foreign_flag(name: str, workflow: WorkflowDefinition, registry: Registry) -> UsageError:
    flag = "--" + name.replace("_", "-")
    owners = sorted(owner for owner in registry.workflows if flag in registry.flags_of(owner))
    if not owners:
        return registry.missing("flag", flag)
    return UsageError(f"{flag} belongs to {' and '.join(owners)}, not to {workflow.name}")


def _unknown(word: str, parser: argparse.ArgumentParser, registry: Registry) -> UsageError:
    flag = word.partition("=")[0]
    if flag.startswith("-"):
        return registry.missing("flag", flag, parser._option_string_actions)  # noqa: SLF001 - no public way
    registry.command(word)  # raises where there is none
    return UsageError(
        f"the command {word} must come before all flags", hint=f"`code-commit {word} --help`"
    )


# --- help -------------------------------------------------------------------------------------------------------------

_DESCRIPTION = """\
Change a codebase through a language model, and let the project's own build decide whether the change is good. \
Without a command, code-commit runs a workflow: committing-code, unless a flag selects another one.

commands:
"""
_WIDEST = 100  # longer lines are hard to read
_COLUMN = 30  # of the explanations, at most
_HEADING = re.compile(r"(?:\A|(?<=\n\n))([^\s:][^\n:]*:)(?= |$)", re.MULTILINE)
# The first words of an indented line: flags with their values, a command, or a placeholder.
_NAME = re.compile(r"^( {2,4})(-[^\n]*?|[a-z][\w.-]*(?= {2})|[A-Z]+)(?= {2}|$)", re.MULTILINE)


def print_workflow_help(registry: Registry) -> None:
    """Print the help of `workflow_parser` with the list of commands and examples."""
    parser = workflow_parser(registry)
    commands = [(f"  {name}", command.help) for name, (_, command) in registry.commands.items()]
    parser.description = _DESCRIPTION + align_columns(commands)
    parser.epilog = _epilog(registry)
    parser.print_help()


def _epilog(registry: Registry) -> str:
    """Show examples with the commands that are installed; without the default workflow, how to
    install it.
    """
    from code_commit.plugins.missing import failed_plugins

    failed = failed_plugins(registry.plugin_host)
    if DEFAULT_WORKFLOW not in registry.workflows:
        return (
            "The default workflow is not installed. Install it:\n  "
            f"{installation('code-commit-commit')}\n{failed}"
        )
    lines = [f"code-commit {name}" for name in ("demo", "init") if name in registry.commands]
    lines += [
        'code-commit --query "Rename the module util to text"',
        "git diff | code-commit --query-file - --dry-run",
    ]
    examples = "".join(f"  {line}\n" for line in lines)
    end = (
        "`code-commit help COMMAND` explains a command. The exit code is 0 when the goal was "
        "reached."
    )
    return f"examples:\n{examples}\n{end}\n{failed}"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats a help text, as wide as the terminal.

    Indented lines of descriptions are not wrapped.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(
            prog, max_help_position=_COLUMN, width=min(terminal_columns(os.environ), _WIDEST)
        )

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        lines = (
            line
            if line.startswith(" ")
            else textwrap.fill(line, width - len(indent), break_on_hyphens=False)
            for line in text.splitlines()
        )
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
        self._positionals.title, self._optionals.title = "arguments", "flags"
        for name in (None, "store"):  # how argparse calls the action of a flag with one value
            self.register("action", name, _OneValue)
        self.add_argument("--help", "-h", action="help", help="show this help")

    def print_help(self, file: Any = None) -> None:  # noqa: ARG002 - argparse's signature
        """Print the help on stdout. Texts of plugins are escaped before colors are added."""
        text = printable(self.format_help())
        if may_color(sys.stdout, os.environ):  # headings are bold, names cyan
            text = _NAME.sub("\\1\x1b[36m\\2\x1b[0m", _HEADING.sub("\x1b[1m\\1\x1b[0m", text))
        write_stdout(sys.stdout, text)

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise UsageError(message, hint=f"`{self.prog} --help` lists the commands and flags")
