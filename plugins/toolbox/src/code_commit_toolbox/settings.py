"""The section `[plugins.toolbox]`: limits of tools and of the agent loop."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ToolboxSettings(BaseModel):
    """Default limits of agents, and how much output a tool shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(100, ge=1, description="Replies of the model that one agent may take.")
    max_tokens: int = Field(
        10_000_000, ge=1, description="Tokens of all its calls, in and out, repeated ones included."
    )
    max_seconds: float = Field(3600, gt=0, description="Seconds that one agent may take; a call is not cut short.")
    context_tokens: int = Field(
        150_000, ge=1000, description="Tokens of a request; beyond, old results of tools are left out of it."
    )
    output_limit: int = Field(32 * 1024, ge=256, description="Characters that one tool shows at once.")
    file_limit: int = Field(10 * 1024 * 1024, ge=1, description="Bytes of the largest file that tools read or write.")
    shell_seconds: float = Field(120, gt=0, description="Time limit of a command for which the model asks no other.")
    shell_seconds_at_most: float = Field(900, gt=0, description="The longest time limit that the model can ask for.")
    search_seconds: float = Field(20, gt=0, description="Time limit of one use of code_search.")
    todo_file: str = Field("todo.g3.md", min_length=1, description="Where todo_read and todo_write keep the list.")
