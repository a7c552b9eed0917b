"""Check and run one tool call. Failures become text for the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api import (
    STOP,
    CodeCommitError,
    NotReady,
    ResponseRefused,
    ToolCall,
    shorten,
)
from code_commit_toolbox.arguments import arguments_problem
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ProjectTampered, Tool, ToolContext, ToolError

_NOTES = 1000  # characters beyond the limit, for a tool's note on what it left out
_LINE = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the model; `tampered` names altered files that no command may change."""

    text: str
    is_error: bool
    seconds: float = 0.0
    tampered: tuple[str, ...] = ()


def run_call(
    call: ToolCall,
    tools: Mapping[str, Tool],
    context: ToolContext,
    *,
    output_limit: int,
) -> Answer:
    """Run `call` if its tool is in the allowlist `tools` and its arguments match the schema.

    Raises:
        CodeCommitError: an error that ends the run: a limit, a failed service, an interruption.
    """
    tool = tools.get(call.name)
    if tool is None:
        names = ", ".join(tools) or "none"
        return Answer(f"There is no tool {call.name!r}. Your tools: {names}.", is_error=True)
    began = time.monotonic()
    STOP.check()
    answer = _answer(call, tool, context)
    STOP.check()  # the tool may have answered that what it waited for has ended
    seconds = round(time.monotonic() - began, 3)
    text = answer.text
    if len(text) > output_limit + _NOTES:
        file = context.run.keep(f"{tool.name}-output.txt", text)
        whole = f"the whole output is in the run folder: {file.name}"
        text = head_and_tail(text, output_limit, whole=whole)
    return Answer(text, answer.is_error, seconds, answer.tampered)


def _answer(call: ToolCall, tool: Tool, context: ToolContext) -> Answer:
    try:
        if problem := arguments_problem(call, tool.parameters):
            return Answer(problem, is_error=True)
        text: object = tool.call(context, call.arguments or {})  # a plugin's types are unchecked
    except ToolError as error:
        tampered = error.paths if isinstance(error, ProjectTampered) else ()
        return Answer(str(error), is_error=True, tampered=tampered)
    except (NotReady, ResponseRefused) as error:
        return Answer(error.message, is_error=True)
    except CodeCommitError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything
        return Answer(f"{tool.name} failed with {type(error).__name__}: {error}", is_error=True)
    if not isinstance(text, str):
        kind = type(text).__name__
        return Answer(f"{tool.name} is broken: it returned {kind}, not text.", is_error=True)
    return Answer(text, is_error=False)


def in_one_line(call: ToolCall) -> str:
    """Return `call` for people: its name, and the beginning of its arguments."""
    if call.arguments is None:
        words = call.raw[:_LINE]
    else:
        words = ", ".join(f"{name}={_brief(value)}" for name, value in call.arguments.items())
    line = " ".join(f"{call.name}({words})".split())
    return shorten(line, _LINE)


def _brief(value: Any) -> str:
    return repr(value[:_LINE]) if isinstance(value, str) else repr(value)
