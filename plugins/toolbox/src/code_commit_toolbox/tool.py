"""What a tool is: its face to the model, and the function behind it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from code_commit.plugin_api import Json, Run, ToolSpec


class ToolError(Exception):
    """A tool could not do what it was asked; the message tells the model why, and what to do instead."""


class JudgeAltered(ToolError):  # noqa: N818 - what happened, as the message says
    """A command altered what judges the project (`paths`): whatever it was for, this work has failed."""

    def __init__(self, message: str, paths: tuple[str, ...]) -> None:
        super().__init__(message)
        self.paths = paths


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may use. `deadline` is when its agent has to be done, on `time.monotonic()`; None: whenever."""

    run: Run
    deadline: float | None = None

    def seconds(self, wanted: float) -> float:
        """Return `wanted` seconds, or as many as are left until the deadline."""
        return wanted if self.deadline is None else max(0.0, min(wanted, self.deadline - time.monotonic()))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model can call.

    `parameters` is a JSON schema of type object: required properties first, in the order in which a program would pass
    them. `call` gets arguments that fit it, and returns what the model is told.

    `call` raises `ToolError` to tell the model of a failure. Any other exception is told as well; those of the host
    that end a run (`LimitReached`, `ProviderFailed`) do end it.
    """

    name: str
    description: str
    parameters: Json
    call: Callable[[ToolContext, Json], str]

    @property
    def spec(self) -> ToolSpec:
        """The tool as a request carries it."""
        return ToolSpec(self.name, self.description, self.parameters)
