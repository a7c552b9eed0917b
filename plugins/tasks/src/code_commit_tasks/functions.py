"""The functions of an answer's code: the tools, and `list` and `show` of the prompt's examples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from code_commit.plugin_api import Json, MessageLogged, Run, ToolCall
from code_commit_tasks.runtime.script import CallAnswer, ScriptFunction
from code_commit_tasks.typescript_names import RESERVED
from code_commit_toolbox.calling import in_one_line, run_call
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool, ToolContext, parameters
from code_commit_toolbox.toolbox import open_toolbox
from code_commit_toolbox.tools.final_output import FINAL_OUTPUT
from code_commit_toolbox.tools.project_file import folder_named, show_text
from code_commit_toolbox.tools.reading import listing


@dataclass(frozen=True, slots=True)
class Function:
    """A tool as a function. A function that `returns` an array returns JSON."""

    tool: Tool
    returns: Literal["string", "string[]"] = "string"

    @property
    def name(self) -> str:
        """Return its name in code."""
        return self.tool.name

    @property
    def declared(self) -> ScriptFunction:
        """Return the function's description for the runtime."""
        return ScriptFunction(
            name=self.name,
            parameters=tuple(self.tool.parameters.get("properties", {})),
            json=self.returns != "string",
        )


@dataclass(frozen=True, slots=True)
class Functions:
    """All functions by name, in the order of the prompt."""

    by_name: dict[str, Function]
    settings: ToolboxSettings

    def __call__(self, context: ToolContext, name: str, argument: Any) -> Called:
        """Check and run one call; `argument` is unchecked data from the code.

        Raises:
            CodeCommitError: an error that ends the run.
        """
        if isinstance(argument, dict):
            call = ToolCall("", name, argument)
        else:
            call = ToolCall("", name, None, raw=json.dumps(argument))
        tools = {name: function.tool for name, function in self.by_name.items()}
        # Code gets the whole result of a tool: results are shortened only for models.
        answer = run_call(call, tools, context, output_limit=self.settings.file_limit)
        return Called(
            line=in_one_line(call),
            answer=CallAnswer(answer.text, answer.is_error),
            seconds=answer.seconds,
            tampered=answer.tampered,
        )


@dataclass(frozen=True, slots=True)
class Called:
    """A finished call.

    `line` is for people; `tampered` names altered files that check the project.
    """

    line: str
    answer: CallAnswer
    seconds: float
    tampered: tuple[str, ...]


def open_functions(run: Run) -> Functions:
    """Collect the functions of `run`.

    A tool whose name is invalid in TypeScript is left out and reported.

    Raises:
        NotReady: the plugin `toolbox` is not loaded, or its configuration section is invalid.
    """
    toolbox = open_toolbox(run)
    own = {function.name: function for function in (_list(), _show(toolbox.settings))}
    functions = dict(own)
    for name, tool in toolbox.tools.items():
        if name in own or name in RESERVED:
            text = f"the tool {name} is left out: code cannot call this name"
            run.emit(MessageLogged(text, level="warning"))
        elif name != FINAL_OUTPUT:  # code ends by returning
            functions[name] = Function(tool)
    return Functions(functions, toolbox.settings)


def _list() -> Function:
    def call(context: ToolContext, arguments: Json) -> str:
        folder = folder_named(arguments.get("path", "."))
        return json.dumps(listing(context, folder, (), recursive=False))

    tool = Tool(
        name="list",
        description=(
            "List the entries of a folder: paths relative to the project's root, folders with a "
            "slash at the end. Files that git ignores are left out."
        ),
        parameters=parameters(
            {
                "path": {
                    "type": "string",
                    "description": "The folder; the project's root by default.",
                }
            }
        ),
        call=call,
    )
    return Function(tool, "string[]")


def _show(settings: ToolboxSettings) -> Function:
    def call(context: ToolContext, arguments: Json) -> str:
        return show_text(context, arguments["path"], settings.file_limit)

    tool = Tool(
        name="show",
        description="Return the whole text of a file of the project.",
        parameters=parameters(
            {
                "path": {
                    "type": "string",
                    "description": "From the project's root, such as src/main.py.",
                }
            },
            required=["path"],
        ),
        call=call,
    )
    return Function(tool)
