"""The check of `code-commit doctor` for MCP servers."""

from __future__ import annotations

from collections.abc import Iterator

from code_commit.plugin_api import Check, CheckContext, Host, NotReady, count_of
from code_commit_toolbox.mcp.servers import server_tools
from code_commit_toolbox.settings import McpServer


def check_mcp_servers(host: Host, context: CheckContext) -> Iterator[Check]:
    """Start each configured server, and list its tools."""
    servers = host.settings().mcp
    if not servers:
        yield Check("ok", "no MCP server is configured")
        return
    if not context.builds:
        yield Check("skipped", f"not started, because of --no-build: {', '.join(servers)}")
        return
    with host.workspace(processes=True, repository="optional") as workspace:
        for name, server in servers.items():
            try:
                tools = list(server_tools(name, server, workspace.start_process, host.root))
            except NotReady as error:
                yield Check("problem", error.message, error.hint, {"server": name})
                continue
            names = [tool.name for tool in tools]
            count = count_of(len(names), "tool")
            yield Check(
                "ok",
                f"{name}{_isolation(server)}: {count}: {', '.join(names)}",
                data={"server": name, "tools": names},
            )


def _isolation(server: McpServer) -> str:
    if server.url:
        return ""
    return " outside of the sandbox" if server.trusted else " in the sandbox"
