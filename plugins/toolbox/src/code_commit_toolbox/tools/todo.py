"""todo_read and todo_write: an agent's todo list, kept in a file of the project."""

from __future__ import annotations

from code_commit.plugin_api import Json
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool, ToolContext, parameters
from code_commit_toolbox.tools.project_file import show_text_if_any, write_text


def todo_read(settings: ToolboxSettings, path: str) -> Tool:
    """Return the tool that reads the list at `path`."""

    def call(context: ToolContext, arguments: Json) -> str:  # noqa: ARG001 - the signature of every tool
        text = show_text_if_any(context, path, settings.file_limit)
        return text or f"The list is empty ({path})."

    return Tool("todo_read", f"Read the todo list ({path}).", parameters({}), call)


def todo_write(settings: ToolboxSettings, path: str) -> Tool:
    """Return the tool that writes the whole list at `path`."""

    def call(context: ToolContext, arguments: Json) -> str:
        changed = write_text(context, path, arguments["content"], settings.file_limit)
        return f"{path} is written." if changed else f"{path} is unchanged."

    return Tool(
        name="todo_write",
        description=(
            f"Write the todo list ({path}): content replaces the whole list. "
            "Items are lines such as `- [ ] open` and `- [x] done`."
        ),
        parameters=parameters(
            {"content": {"type": "string", "description": "The whole list, in Markdown."}},
            required=["content"],
        ),
        call=call,
    )
