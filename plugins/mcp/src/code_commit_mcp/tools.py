"""The tools of the server: one for each workflow that asks no questions, and some about runs.

A call of a tool is a command line of `code-commit`, so that its checks, limits and exit codes apply
here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api import Flag, WorkflowDefinition

_RUN = {"type": "string", "description": "The folder of a run, a unique prefix of it, or latest."}
# The flags of every workflow that an agent may set. None of them opens the sandbox or turns off a
# plugin.
_SHARED: Mapping[str, Mapping[str, Any]] = {
    "model": {"type": "string", "description": "The model; by default that of the settings."},
    "max_cost": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Never spend more than this, in USD.",
    },
    "on_failure": {
        "enum": ["keep", "restore"],
        "description": "What happens to the files if the goal is not reached.",
    },
}


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A tool. `command` are the first words of its command line, `flags` maps arguments to flags.

    An argument without a flag is positional. `runs` is whether the tool runs a workflow.
    """

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    command: tuple[str, ...]
    flags: Mapping[str, str]
    required: tuple[str, ...] = ()
    runs: bool = False
    read_only: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        required = list(self.required)
        return {
            "type": "object",
            "properties": self.properties,
            "required": required,
            "additionalProperties": False,
        }

    def argv(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the command line of a call whose arguments match the schema."""
        words = [*self.command, "--json"]
        positional: list[str] = []
        for name in self.properties:
            value = arguments.get(name)
            if value is None or value is False:
                continue
            flag = self.flags.get(name)
            if flag is None:
                positional += value if isinstance(value, list) else [str(value)]
            else:
                words.append(flag if value is True else f"{flag}={value}")
        return [*words, "--", *positional] if positional else words


def served_tools(
    workflows: Iterable[WorkflowDefinition], commands: Iterable[str]
) -> list[ServedTool]:
    """Return the tools for the installed workflows and commands.

    A workflow is left out if it is interactive, or if only a person may set the flags that select
    it.
    """
    about_runs = [tool for tool in _ABOUT_RUNS if " ".join(tool.command[:1]) in set(commands)]
    return [*(_workflow_tool(each) for each in workflows if _can_be_served(each)), *about_runs]


def _can_be_served(workflow: WorkflowDefinition) -> bool:
    selecting = [flag for flag in workflow.flags if flag.selects]
    selectable = not selecting or any(not flag.is_for_people for flag in selecting)
    return selectable and not workflow.interactive


def _workflow_tool(workflow: WorkflowDefinition) -> ServedTool:
    """Return the tool of a workflow, with the flags that are not for people alone."""
    offered = [flag for flag in workflow.flags if not flag.is_for_people]
    flags = {_long(flag.names).removeprefix("--").replace("-", "_"): flag for flag in offered}
    selecting = [flag for flag in offered if flag.selects]
    switches = [flag for flag in selecting if flag.metavar is None]
    shown = {name: flag for name, flag in flags.items() if flag not in switches}
    properties: dict[str, Mapping[str, Any]] = {
        name: _property(flag) for name, flag in shown.items()
    }
    return ServedTool(
        workflow.name.replace("-", "_"),
        workflow.help,
        {**properties, **{name: each for name, each in _SHARED.items() if name not in properties}},
        tuple(_long(flag.names) for flag in switches[:1]),
        {name: _long(flag.names) for name, flag in shown.items()}
        | {name: f"--{name.replace('_', '-')}" for name in _SHARED},
        runs=True,
        read_only=not workflow.writes,
    )


def _property(flag: Flag) -> dict[str, Any]:
    return {"type": "boolean" if flag.metavar is None else "string", "description": flag.help}


def _long(names: Sequence[str]) -> str:
    return next((name for name in names if name.startswith("--")), names[0])


_ABOUT_RUNS = (
    ServedTool(
        "list_runs", "List all runs of this project, newest last.", {}, ("runs", "list"), {}
    ),
    ServedTool(
        "show_run",
        "Show the calls, builds, changes and files of a run.",
        {"run": _RUN},
        ("runs", "show"),
        {},
    ),
    ServedTool(
        "diff_run",
        "Show the changes of a run, or of one of its attempts.",
        {"run": _RUN, "attempt": {"type": "integer", "minimum": 1}},
        ("runs", "diff"),
        {"attempt": "--attempt"},
    ),
    ServedTool(
        "undo_run",
        "Restore the files that a run changed. Refuses, by name, files that were changed since, unless force is true.",
        {
            "run": _RUN,
            "paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Restore only these.",
            },
            "force": {
                "type": "boolean",
                "description": "Also restore files that were changed since the run.",
            },
        },
        ("undo",),
        {"force": "--force"},
        required=("run",),
        read_only=False,
    ),
)
