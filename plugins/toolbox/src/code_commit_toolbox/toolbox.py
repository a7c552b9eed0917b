"""All tools of a run: the first-party ones, those of plugins, and those of MCP servers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api import NotReady, PluginFailed, Run
from code_commit_toolbox.arguments import schema_problem
from code_commit_toolbox.mcp.servers import server_tools
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool
from code_commit_toolbox.tools.first_party import first_party

_HOOK = "code_commit_tools"
_SERVER = "MCP server "
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")  # valid for every service and in TypeScript


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools by name, and the default limits.

    `added` are the names of the tools of plugins and MCP servers.
    """

    tools: Mapping[str, Tool]
    settings: ToolboxSettings
    added: tuple[str, ...] = ()

    def only(self, names: Iterable[str]) -> dict[str, Tool]:
        """Return the tools of an allowlist, in its order.

        Raises:
            NotReady: a tool does not exist.
        """
        chosen = list(names)
        if missing := [name for name in chosen if name not in self.tools]:
            raise NotReady(
                f"there is no tool {missing[0]!r}; there are: {', '.join(sorted(self.tools))}",
                hint="install the plugin with this tool, or remove it from the list",
            )
        return {name: self.tools[name] for name in chosen}


def open_toolbox(run: Run, *, todo: str | None = None) -> Toolbox:
    """Collect the tools of `run`.

    `todo` is the file of todo_read and todo_write, if not the configured one.

    Unusable tools of plugins are left out and reported by an event.

    Raises:
        NotReady: the plugin `toolbox` is not loaded, its configuration section is invalid, or an
            MCP server in it does not work.
    """
    settings: ToolboxSettings | None = run.settings_of("toolbox")
    if settings is None:
        raise NotReady("the plugin toolbox is not loaded", hint="`code-commit plugins` shows why")
    tools = {tool.name: tool for tool in first_party(settings, todo=todo)}
    of_servers = [
        (f"{_SERVER}{name}", tool)
        for name, server in settings.mcp.items()
        for tool in server_tools(name, server, run.start_process, run.root)
    ]
    offers: dict[str, list[tuple[str, Tool]]] = {}
    for source, tool in (*run.collect(_HOOK), *of_servers):
        if problem := _tool_problem(tool):
            _report(run, source, problem)
        elif tool.name in tools:
            _report(run, source, f"the tool name {tool.name!r} belongs to the toolbox")
        else:
            offers.setdefault(tool.name, []).append((source, tool))
    for name, claims in offers.items():
        if len(claims) == 1:
            [(_, tool)] = claims
            tools[name] = tool
            continue
        rivals = sorted({source for source, _ in claims})
        for source in rivals:
            _report(run, source, f"the tool name {name!r} is claimed by {' and '.join(rivals)}")
    return Toolbox(tools, settings, tuple(name for name in offers if name in tools))


def _tool_problem(tool: Any) -> str:
    """Return why `tool` is not a usable tool, or ""."""
    if not isinstance(tool, Tool):
        return f"a tool must be a Tool, not a {type(tool).__name__}"
    name: Any = tool.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"{name!r} is not a valid tool name: use at most 64 letters, digits and _"
    problem = schema_problem(tool.parameters)
    return f"the tool {name!r}: {problem}" if problem else ""


def _report(run: Run, source: str, error: str) -> None:
    """Report a tool that is left out; `source` is a distribution, or a server."""
    if source.startswith(_SERVER):
        run.emit(PluginFailed("toolbox", "code-commit-toolbox", stage=source, error=error))
    else:
        run.emit(PluginFailed(plugin=source, distribution=source, stage=_HOOK, error=error))
