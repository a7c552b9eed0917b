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
# The flags of every workflow that an agent may set. None opens the sandbox or turns off a plugin.
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
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
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
            values = value if isinstance(value, list) else [value]
            if flag is None:
                positional += map(str, values)
            elif value is True:
                words.append(flag)
            else:
                words += [f"{flag}={one}" for one in values]
        if positional:
            words += ["--", *positional]
        return words


def served_tools(
    workflows: Iterable[WorkflowDefinition], commands: Iterable[str]
) -> list[ServedTool]:
    """Return the tools for the installed workflows and commands.

    A workflow is left out if it is interactive, or if no program may set a flag that selects it.
    """
    installed = set(commands)
    tools = [_workflow_tool(workflow) for workflow in workflows if _can_be_served(workflow)]
    tools += [tool for tool in _ABOUT_RUNS if tool.command[0] in installed]
    return tools


def _can_be_served(workflow: WorkflowDefinition) -> bool:
    selecting = [flag for flag in workflow.flags if flag.selects]
    selectable = not selecting or any(flag.for_programs for flag in selecting)
    return selectable and not workflow.interactive


def _workflow_tool(workflow: WorkflowDefinition) -> ServedTool:
    """Return the tool of a workflow, with the flags that its plugin offers to programs."""
    offered = [flag for flag in workflow.flags if flag.for_programs]
    switches = [flag for flag in offered if flag.selects and flag.metavar is None]
    flags = {_argument(flag): flag for flag in offered if flag not in switches}
    properties: dict[str, Mapping[str, Any]] = {}
    long_names: dict[str, str] = {}
    for name, flag in flags.items():
        properties[name] = _property(flag)
        long_names[name] = _long(flag.names)
    for name, schema in _SHARED.items():
        properties.setdefault(name, schema)
        long_names[name] = f"--{name.replace('_', '-')}"
    return ServedTool(
        name=workflow.name.replace("-", "_"),
        description=workflow.help,
        properties=properties,
        command=tuple(_long(flag.names) for flag in switches[:1]),
        flags=long_names,
        runs=True,
        read_only=not workflow.writes,
    )


def _argument(flag: Flag) -> str:
    return _long(flag.names).removeprefix("--").replace("-", "_")


def _property(flag: Flag) -> dict[str, Any]:
    if flag.metavar is None:
        return {"type": "boolean", "description": flag.help}
    if flag.several:
        return {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": flag.help,
        }
    return {"type": "string", "description": flag.help}


def _long(names: Sequence[str]) -> str:
    return next((name for name in names if name.startswith("--")), names[0])


_ABOUT_RUNS = (
    ServedTool(
        name="list_runs",
        description="List all runs of this project, newest last.",
        properties={},
        command=("runs", "list"),
        flags={},
    ),
    ServedTool(
        name="show_run",
        description="Show the calls, builds, changes and files of a run.",
        properties={"run": _RUN},
        command=("runs", "show"),
        flags={},
    ),
    ServedTool(
        name="diff_run",
        description="Show the changes of a run, or of one of its attempts.",
        properties={"run": _RUN, "attempt": {"type": "integer", "minimum": 1}},
        command=("runs", "diff"),
        flags={"attempt": "--attempt"},
    ),
    ServedTool(
        name="undo_run",
        description=(
            "Restore the files that a run changed. Refuses, by name, files that were changed since."
        ),
        properties={
            "run": _RUN,
            "paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Restore only these.",
            },
        },
        command=("undo",),
        flags={},
        required=("run",),
        read_only=False,
    ),
)
