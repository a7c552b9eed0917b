"""Flags and settings of the task agent."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MEGABYTE = 1024 * 1024


class TasksSettings(BaseModel):
    """The section `[plugins.tasks]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attempts: int = Field(3, ge=1, le=20, description="Attempts at each step.")
    max_depth: int = Field(10, ge=1, le=100, description="Maximum nesting of lists of steps.")
    max_steps: int = Field(
        100, ge=1, description="Maximum steps of one task, including nested lists."
    )
    max_seconds: float = Field(4 * 3600, gt=0, description="Time limit of one task, in seconds.")
    script_seconds: float = Field(
        60,
        gt=0,
        description=(
            "Time limit of the code of one answer, in seconds, without the time of its tool calls."
        ),
    )
    script_memory: int = Field(
        512 * _MEGABYTE,
        ge=128 * _MEGABYTE,
        description="Memory limit of the code of one answer, in bytes.",
    )
    max_calls: int = Field(1000, ge=1, description="Maximum tool calls of the code of one answer.")
    result_limit: int = Field(
        _MEGABYTE, ge=1024, description="Maximum characters of a result, or of a list."
    )
    context_limit: int = Field(
        256 * 1024,
        ge=1024,
        description="Maximum characters of files in a step's context, and of earlier results.",
    )
    acceptance: bool = Field(
        False, description="Ask the acceptance checks about the result, after a green build."
    )
    pattern_seconds: float = Field(30, gt=0, description="Time limit of a pattern search.")
    syntax_seconds: float = Field(60, gt=0, description="Time limit of syntax_check.")
    validator_seconds: float = Field(600, gt=0, description="Time limit of a plugin's validator.")


class TaskOptions(BaseModel):
    """The flags; one of the first three is required."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str | None = None
    task_file: str | None = None
    resume: str | None = None
    no_build: bool = False

    @model_validator(mode="after")
    def _one_task(self) -> Self:
        flags = (self.task, self.task_file, self.resume)
        if len(flags) - flags.count(None) > 1:
            raise ValueError("--task, --task-file and --resume cannot be used together")
        return self
