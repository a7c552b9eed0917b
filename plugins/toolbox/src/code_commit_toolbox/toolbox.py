"""All tools of a run: the first-party ones, those of plugins (hook `code_commit_tools`), and those
of MCP servers.
"""

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

    `of_servers` are the names of the tools of MCP servers.
    """

    tools: Mapping[str, Tool]
    settings: ToolboxSettings
    of_servers: tuple[str, ...] = ()

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
    own = {tool.name: tool for tool in first_party(settings, todo=todo)}
    offered: dict[str, list[tuple[str, Tool]]] = {}
    servers = [
        (f"{_SERVER}{name}", tool)
        for name, server in settings.mcp.items()
        for tool in server_tools(name, server, run.start_process, run.root)
    ]
    for distribution, item in (*run.collect(_HOOK), *servers):
        if problem := _tool_problem(item):
            _report(run, distribution, problem)
        elif item.name in own:
            _report(run, distribution, f"the tool name {item.name!r} belongs to the toolbox")
        else:
            offered.setdefault(item.name, []).append((distribution, item))
    for name, claims in offered.items():
        rivals = sorted({distribution for distribution, _ in claims})
        if len(claims) == 1:
            own[name] = claims[0][1]
            continue
        for distribution in rivals:
            _report(
                run, distribution, f"the tool name {name!r} is claimed by {' and '.join(rivals)}"
            )
    of_servers = tuple(
        name for name, tool in own.items() if any(tool is each for _, each in servers)
    )
    return Toolbox(own, settings, of_servers)


def _tool_problem(item: Any) -> str:
    """Return why `item` is not a usable tool, or ""."""
    if not isinstance(item, Tool):
        return f"a tool must be a Tool, not a {type(item).__name__}"
    name: Any = item.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"{item.name!r} is not a valid tool name: use at most 64 letters, digits and _"
    problem = schema_problem(item.parameters)
    return f"the tool {item.name!r}: {problem}" if problem else ""


def _report(run: Run, source: str, error: str) -> None:
    """Report a tool that is left out; `source` is a distribution, or a server."""
    if source.startswith(_SERVER):
        run.emit(PluginFailed("toolbox", "code-commit-toolbox", stage=source, error=error))
    else:
        run.emit(PluginFailed(plugin=source, distribution=source, stage=_HOOK, error=error))
