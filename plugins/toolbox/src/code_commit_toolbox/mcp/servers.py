"""The tools of the MCP servers in the user's configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import Json, NotReady
from code_commit_toolbox.settings import McpServer
from code_commit_toolbox.tool import Tool, ToolContext, ToolError

if TYPE_CHECKING:  # these import the SDK, which takes a second
    import mcp_types

    from code_commit_toolbox.mcp.connection import Connection
    from code_commit_toolbox.mcp.process import ServerProcess

Start = Callable[..., "ServerProcess"]
"""`Run.start_process` or `Workspace.start_process`."""

_SDK = "mcp>=2.3,<3"
_LONGEST_NAME = 64  # characters
_LONGEST_DESCRIPTION = 4000  # characters
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")


def server_tools(name: str, server: McpServer, start: Start, root: Path) -> Iterator[Tool]:
    """Connect to the server `name`, and yield its tools.

    The tool `add` of the server `math` is called `math_add`.

    `start` starts a process in the sandbox.

    Raises:
        NotReady: the SDK is missing, or the server does not start or does not answer.
    """
    connection, tools = _connected(name, server, start, root)
    for tool in tools:
        if server.tools is None or tool.name in server.tools:
            description = tool.description or tool.title or f"{tool.name} of {name}"
            yield Tool(
                name=_NOT_A_NAME.sub("_", f"{name}_{tool.name}")[:_LONGEST_NAME],
                description=description[:_LONGEST_DESCRIPTION],
                parameters=_in_order(tool.input_schema),
                call=partial(_call, connection, name, tool.name, server.seconds),
            )


def _connected(
    name: str,
    server: McpServer,
    start: Start,
    root: Path,
) -> tuple[Connection, list[mcp_types.Tool]]:
    try:
        from code_commit_toolbox.mcp.connection import Connection, ConnectionFailed
        from code_commit_toolbox.mcp.pipes import StderrTail
        from code_commit_toolbox.mcp.process import TrustedProcess
    except ImportError as error:
        raise NotReady(
            f"the MCP server {name} needs the MCP SDK: {error}", hint=f"pip install '{_SDK}'"
        ) from error
    process: ServerProcess | None = None
    if server.command and server.trusted:
        process = TrustedProcess(server.command, root=root, env=server.environment)
    elif server.command:
        process = start(server.command, env=server.environment, isolation_required=True)
    stderr = StderrTail(process.stderr) if process else None
    connection = Connection(process or server.url, headers=server.headers, seconds=server.seconds)
    try:
        return connection, connection.open()
    except ConnectionFailed as failed:
        if process:
            process.kill()
        last = f" ({stderr.text})" if stderr and stderr.text else ""
        raise NotReady(
            f"the MCP server {name} does not work: {failed}{last}",
            hint=f"fix or remove [plugins.toolbox.mcp.{name}]; "
            "`code-commit doctor` starts each server",
        ) from failed


def _in_order(schema: Mapping[str, Any]) -> Json:
    """Return a schema with its required properties first, like the parameters of a function."""
    ordered = {name: value for name, value in schema.items() if name != "$schema"}
    properties = ordered.get("properties")
    required = ordered.get("required", [])
    if isinstance(properties, dict) and isinstance(required, list):
        names = [name for name in required if name in properties]
        names += [name for name in properties if name not in names]
        ordered["properties"] = {name: properties[name] for name in names}
    return ordered


def _call(
    connection: Connection,
    server: str,
    tool: str,
    most_seconds: float,
    context: ToolContext,
    arguments: Json,
) -> str:
    from code_commit_toolbox.mcp.connection import ConnectionFailed

    seconds = context.seconds(most_seconds)
    try:
        result = connection.call(tool, arguments, seconds=seconds)
    except ConnectionFailed as failed:
        raise ToolError(f"The MCP server {server} failed: {failed}") from failed
    text = "\n".join(_text(content) for content in result.content)
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    if result.is_error:
        raise ToolError(text or f"{tool} failed without a message.")
    return text


def _text(content: Any) -> str:
    """Return a part of a result as text; images and sounds are only named."""
    resource = getattr(content, "resource", content)
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return text
    kind = getattr(content, "type", "data")
    place = getattr(resource, "uri", "") or getattr(content, "mime_type", "") or ""
    return f"[{kind} {place}]".replace(" ]", "]")
