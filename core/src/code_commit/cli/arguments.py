"""Parse the command line.

The flags of workflows come from the installed plugins.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from code_commit.cli.parser import Parser
from code_commit.plugin_api.definitions import Flag, Invocation, WorkflowDefinition
from code_commit.plugin_api.errors import UsageError
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import DEFAULT_WORKFLOW, Registry

_MODEL = Flag(
    ("--model", "-m"),
    "use this model: an id or alias, provider/any-id, or a named config",
    "NAME",
)
# Each of these overrides the setting with the name of its field.
SETTING_FLAGS = (
    _MODEL,
    Flag(("--max-cost",), "end the run before it can cost more than this", "USD"),
    Flag(
        ("--on-failure",),
        "keep or restore the files if the goal is not reached (default keep)",
        "keep|restore",
    ),
    Flag(
        ("--sandbox",),
        "isolate builds with bubblewrap: if it works, always, or never (default auto)",
        "auto|require|off",
    ),
)
_DISABLE = Flag(("--disable-plugin",), "do not load this plugin; repeatable", "NAME")
_FOLDER = Flag(("-C",), "work in this folder instead of the current one", "DIR")
HOST_FLAGS = (
    _FOLDER,
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
    arguments, extra = parser.parse_known_args(argv)
    unknown = [word for word in extra if not is_query(word)]
    if unknown:
        raise _unknown(unknown[0], parser, registry)
    values = {
        name: value
        for name, value in vars(arguments).items()
        if value is not None and value is not False
    }
    if extra:
        if len(extra) > 1 or {"query", "query_file"} & values.keys():
            raise UsageError("the query is given twice")
        values["query"] = extra[0]
    if field_of(_FOLDER.names[0]) in values:  # the command line has none left
        raise UsageError("-C works on the command line; `Host.start` takes the folder as `root`")
    workflow = _selected_workflow(values, registry)
    own = _fields(workflow.flags)
    settings = _fields(SETTING_FLAGS)
    ignored = {field_of(name) for name in workflow.ignores}
    accepted = own | ignored | _fields(HOST_FLAGS)
    for name in values:
        if name not in accepted:
            raise _foreign_flag(name, workflow, registry)
    for flag in workflow.flags:
        if flag.needs and field_of(flag.names[0]) in values:
            registry.require_loaded(flag.needs, flag.names[0])
    return Invocation(
        workflow,
        flags={name: value for name, value in values.items() if name in own},
        settings={name: value for name, value in values.items() if name in settings},
        argv=tuple(argv),
        as_json=arguments.json,
        quiet=arguments.quiet,
        debug=arguments.debug,
    )


def workflow_parser(registry: Registry) -> Parser:
    """Return the parser of a command line without a command: the flags of installed workflows."""
    parser = Parser(
        prog="code-commit", usage="code-commit [QUERY] [flags]\n       code-commit COMMAND [flags]"
    )
    parser._optionals.title = "flags of every workflow"  # noqa: SLF001 - no public way
    parser.add_argument("--version", "-V", action="store_true", help="show the version")
    for flag in HOST_FLAGS:
        also = ""
        if flag is _MODEL and "replay" in registry.providers:
            also = ", or replay/RUN for the answers of a past run"
        _add(parser, flag, also)
    added: set[str] = set()
    workflows = [workflow for _, workflow in registry.workflows.values()]
    workflows.sort(key=lambda workflow: (workflow.name != DEFAULT_WORKFLOW, workflow.name))
    for workflow in workflows:
        group = parser.add_argument_group(f"workflow {workflow.name}", workflow.help)
        for flag in workflow.flags:
            if flag.names[0] in added:
                continue
            added.update(flag.names)
            # Workflows of one distribution may share a flag.
            owners = [owner.name for owner in workflows if flag in owner.flags]
            owners.remove(workflow.name)
            also = f"; also for {' and '.join(owners)}" if owners else ""
            _add(group, flag, also)
    for workflow in workflows:
        for name in workflow.ignores:  # ignored also if its plugin is not installed
            if name not in added:
                added.add(name)
                parser.add_argument(name, help=argparse.SUPPRESS)
    return parser


def split_command(argv: Sequence[str]) -> tuple[str, Sequence[str], tuple[str, ...]]:
    """Return the command, or "", the words after it, and the plugins to disable.

    These are what `--disable-plugin` names before `--`. A query is no command.
    """
    disabled: list[str] = []
    words: list[str] = []
    following = iter(argv)
    for word in following:
        if word == "--":  # names of files may follow
            words += ["--", *following]
            break
        flag, is_joined, name = word.partition("=")
        if flag == "--disable-plugin":
            disabled.append(name if is_joined else next(following, ""))
        else:
            words.append(word)
    command = ""
    if words and not words[0].startswith("-") and not is_query(words[0]):
        command = words[0]
    return command, words[1:], tuple(disabled)


def is_query(word: str) -> bool:
    """Return whether a word of the command line is a query: a text with a blank, and no flag."""
    return not word.startswith("-") and len(word.split()) > 1


def field_of(name: str) -> str:
    """Return the field of an options model that a flag fills: `--query-file` is `query_file`."""
    return name.lstrip("-").replace("-", "_")


def _fields(flags: Sequence[Flag]) -> set[str]:
    return {field_of(flag.names[0]) for flag in flags}


def _add(target: argparse._ActionsContainer, flag: Flag, also: str = "") -> None:
    options: dict[str, Any] = {}
    if flag.metavar is None:
        options["action"] = "store_true"
    else:
        options["metavar"] = flag.metavar
    if flag is _DISABLE:
        options["action"] = "append"
    elif flag.several:
        options |= {"action": "extend", "nargs": "+"}
    target.add_argument(
        *flag.names,
        dest=field_of(flag.names[0]),
        help=(flag.help + also).replace("%", "%%"),
        **options,
    )


def _selected_workflow(values: Mapping[str, Any], registry: Registry) -> WorkflowDefinition:
    selected: dict[str, str] = {}  # the flag of each workflow
    for _, workflow in registry.workflows.values():
        for flag in workflow.flags:
            if flag.selects and field_of(flag.names[0]) in values:
                selected[workflow.name] = field_of(flag.names[0])
    ignored = {field_of(flag) for name in selected for flag in registry.workflows[name][1].ignores}
    selected = {name: field for name, field in selected.items() if field not in ignored}
    if len(selected) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in selected.values())
        raise UsageError(f"{flags} cannot be used together: a run has one workflow")
    name = next(iter(selected), DEFAULT_WORKFLOW)
    if name not in registry.workflows:
        _require_owners(values, registry)
    return registry.workflow(name)[1]


def _require_owners(values: Mapping[str, Any], registry: Registry) -> None:
    """Check that no flag is one that workflows only ignore, because its plugin is not installed.

    Raises:
        UsageError: one is.
    """
    owned = _fields(HOST_FLAGS).union(
        *(_fields(workflow.flags) for _, workflow in registry.workflows.values())
    )
    for field in values:
        if field not in owned:
            raise registry.missing("flag", _flag_of(field))


def _flag_of(field: str) -> str:
    return "--" + field.replace("_", "-")


def is_selector(flag: Flag) -> bool:
    """Return whether the flag selects the workflow and has no value: it needs no option."""
    return flag.selects and flag.metavar is None


def _foreign_flag(name: str, workflow: WorkflowDefinition, registry: Registry) -> UsageError:
    flag = _flag_of(name)
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
