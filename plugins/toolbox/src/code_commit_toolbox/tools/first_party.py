"""All first-party tools."""

from __future__ import annotations

from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool
from code_commit_toolbox.tools.code_search import code_search
from code_commit_toolbox.tools.final_output import final_output
from code_commit_toolbox.tools.reading import list_files, read_file
from code_commit_toolbox.tools.shell import shell
from code_commit_toolbox.tools.todo import todo_read, todo_write
from code_commit_toolbox.tools.writing import str_replace, write_file


def first_party(settings: ToolboxSettings, *, todo: str | None = None) -> list[Tool]:
    """Return all first-party tools. `todo` is the todo file, if not the one in `settings`."""
    todo_file = settings.todo_file if todo is None else todo
    return [
        read_file(settings),
        list_files(settings),
        code_search(settings),
        write_file(settings),
        str_replace(settings),
        shell(settings),
        todo_read(settings, todo_file),
        todo_write(settings, todo_file),
        final_output(),
    ]
