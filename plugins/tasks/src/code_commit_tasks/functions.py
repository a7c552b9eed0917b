"""What an answer's code may call: the tools of the toolbox, and `list` and `show`, which the prompt's examples use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from code_commit.plugin_api import Json, MessageLogged, Run, ToolCall
from code_commit_tasks.runtime.script import CallAnswer, ScriptFunction
from code_commit_tasks.typescript_names import RESERVED
from code_commit_toolbox.calling import in_one_line, run_call
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool, ToolContext
from code_commit_toolbox.toolbox import open_toolbox
from code_commit_toolbox.tools.final_output import FINAL_OUTPUT
from code_commit_toolbox.tools.project_file import plain, read_text
from code_commit_toolbox.tools.reading import listing


@dataclass(frozen=True, slots=True)
class Function:
    """A tool as code calls it. What `returns` an array gives JSON."""

    tool: Tool
    returns: Literal["string", "string[]"] = "string"

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.tool.name

    @property
    def declared(self) -> ScriptFunction:
        """The function as the runtime needs to know it."""
        return ScriptFunction(self.name, tuple(self.tool.parameters.get("properties", {})), self.returns != "string")


@dataclass(frozen=True, slots=True)
class Functions:
    """All of them, by name, in the order in which a model is told of them."""

    by_name: dict[str, Function]
    settings: ToolboxSettings

    def __call__(self, context: ToolContext, name: str, given: Any) -> Called:
        """Judge and run one call; `given` is whatever the code has sent.

        Raises:
            CodeCommitError: of the kinds that end a run.
        """
        arguments = given if isinstance(given, dict) else None
        call = ToolCall("", name, arguments, raw="" if arguments is not None else json.dumps(given))
        tools = {name: function.tool for name, function in self.by_name.items()}
        # The code gets all that a tool gives: what is cut is what models read, and this is not read by one.
        answer = run_call(call, tools, context, output_limit=self.settings.file_limit)
        return Called(
            name, in_one_line(call), given, CallAnswer(answer.text, answer.is_error), answer.seconds, answer.tampered
        )


@dataclass(frozen=True, slots=True)
class Called:
    """A call that is over. `line` shows it to people; `tampered` names what it altered that judges the project."""

    name: str
    line: str
    given: Any
    answer: CallAnswer
    seconds: float
    tampered: tuple[str, ...]


def open_functions(run: Run) -> Functions:
    """Collect the functions of `run`. A tool whose name TypeScript cannot take is left out, and reported.

    Raises:
        NotReady: the plugin `toolbox` is not loaded, or its section of the configuration is wrong.
    """
    toolbox = open_toolbox(run)
    own = {each.name: each for each in (_list(), _show(toolbox.settings))}
    functions = dict(own)
    for name, tool in toolbox.tools.items():
        if name in own or name in RESERVED:
            run.emit(MessageLogged(f"the tool {name} is left out: code cannot call it by that name", level="warning"))
        elif name != FINAL_OUTPUT:  # an answer ends by returning
            functions[name] = Function(tool)
    return Functions(functions, toolbox.settings)


def _list() -> Function:
    def call(context: ToolContext, arguments: Json) -> str:
        folder = plain(arguments.get("path", ".")).rstrip("/")
        return json.dumps(listing(context, "" if folder == "." else folder, (), recursive=False))

    tool = Tool(
        "list",
        "List what stands in a folder: paths from the project's root, those of folders with a slash at their end. "
        "What git ignores is left out.",
        {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "The folder; the project's root by default."}},
            "required": [],
            "additionalProperties": False,
        },
        call,
    )
    return Function(tool, "string[]")


def _show(settings: ToolboxSettings) -> Function:
    def call(context: ToolContext, arguments: Json) -> str:
        return read_text(context.run, plain(arguments["path"]), settings.file_limit)

    tool = Tool(
        "show",
        "Return the whole text of a file of the project.",
        {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "From the project's root, such as src/main.py."}},
            "required": ["path"],
            "additionalProperties": False,
        },
        call,
    )
    return Function(tool)
