"""The section `[plugins.toolbox]`: limits of tools and of the agent loop."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

ServerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,30}$")]


class McpServer(BaseModel):
    """`[plugins.toolbox.mcp.NAME]`: an MCP server, either a command or an address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: list[str] = Field([], description="The program and its arguments.")
    url: str = Field("", description="The address of a server that speaks streamable HTTP.")
    environment: dict[str, str] = Field({}, description="More variables for the command.")
    headers: dict[str, str] = Field({}, description="HTTP headers for the address.")
    tools: list[str] | None = Field(None, description="The tools to use; all by default.")
    trusted: bool = Field(False, description="Run the command outside of the sandbox.")
    seconds: float = Field(120, gt=0, description="Time limit of a call.")

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("set either command or url")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError("url must begin with http:// or https://")
        return self


class ToolboxSettings(BaseModel):
    """Default limits of agents and of the output of tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(100, ge=1, description="Maximum replies of the model for one agent.")
    max_tokens: int = Field(
        10_000_000,
        ge=1,
        description="Maximum tokens of all its calls, input and output, including repeated input.",
    )
    max_seconds: float = Field(
        3600, gt=0, description="Time limit of one agent in seconds; a call is not interrupted."
    )
    context_tokens: int = Field(
        150_000,
        ge=1000,
        description="Estimated tokens of one request; above this, old tool results are left out.",
    )
    output_limit: int = Field(
        32 * 1024, ge=256, description="Maximum characters of one tool result."
    )
    file_limit: int = Field(
        10 * 1024 * 1024, ge=1, description="Maximum bytes of a file that tools read or write."
    )
    shell_seconds: float = Field(120, gt=0, description="Default time limit of a command.")
    shell_seconds_at_most: float = Field(
        900, gt=0, description="Maximum time limit that the model can request."
    )
    search_seconds: float = Field(20, gt=0, description="Time limit of one use of code_search.")
    mcp: dict[ServerName, McpServer] = Field(
        {},
        description="MCP servers by name; only in the user's file.",
        json_schema_extra={"user_file_only": True},
    )
    todo_file: str = Field(
        "todo.g3.md", min_length=1, description="The file of todo_read and todo_write."
    )
