"""The definition of a tool: its schema for the model, and its function."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from code_commit.plugin_api import Json, Run, ToolSpec

Seen = dict[str, str | None]
"""The texts of files as an agent knows them, by their normalised paths; None is no file."""


class ToolError(Exception):
    """A tool failed. The message is for the model: the reason, and what to do instead."""


class ProjectTampered(ToolError):  # noqa: N818 - the name of an event
    """A command altered files that check the project (`paths`): the agent's work has failed."""

    def __init__(self, paths: tuple[str, ...], message: str = "") -> None:
        names = ", ".join(paths)
        super().__init__(message or f"a command changed files that check the project: {names}")
        self.paths = paths


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of the tool calls of an agent.

    `deadline` is the agent's on `time.monotonic()`, or None. `seen` has the files as the agent read
    or wrote them last, None where there was none.
    """

    run: Run
    deadline: float | None = None
    seen: Seen = field(default_factory=dict)

    def seconds(self, most: float) -> float:
        """Return `most` seconds, or the time until the deadline if that is less."""
        if self.deadline is None:
            return most
        return max(0.0, min(most, self.deadline - time.monotonic()))


def parameters(properties: Json, required: Sequence[str] = ()) -> Json:
    """Return the schema of a tool's parameters that allows no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model can call.

    `parameters` is a JSON schema of type object, with required properties first, in the order of a
    function's parameters. `call` gets arguments that match it, and returns the answer to the model.

    `call` raises `ToolError` to report a failure to the model. Other exceptions are reported, too,
    except for the host's exceptions that end a run (`LimitReached`, `ProviderFailed`).
    """

    name: str
    description: str
    parameters: Json
    call: Callable[[ToolContext, Json], str]

    @property
    def spec(self) -> ToolSpec:
        """Return the tool's specification for a request."""
        return ToolSpec(self.name, self.description, self.parameters)
