"""`code-commit mcp serve`: an MCP server on stdin and stdout, for the project in this folder."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from argparse import Namespace
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.abc import ObjectSendStream
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from code_commit.plugin_api import STOP, ExitCode, Host, count_of, describe_ending, process_ending
from code_commit_mcp.processes import Printed, run_command
from code_commit_mcp.tools import ServedTool, served_tools

Context = ServerRequestContext[Any]
_LONGEST_STEP = 200  # characters
_INSTRUCTIONS = """\
Tools that change the project through another model. A run succeeds only if the project's own \
build passes. Each run has a folder in logs; undo_run reverts its changes. Runs take minutes."""


def serve(host: Host, _: Namespace) -> int:
    """Serve until the client closes stdin."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # the SDK's log lines quote messages
    workflows = [workflow for _, workflow in host.registry.workflows.values()]
    tools = {tool.name: tool for tool in served_tools(workflows, host.registry.commands)}

    async def list_tools(_: Context, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            names = ", ".join(tools)
            return _answer(f"there is no tool {params.name!r}; there are: {names}", is_error=True)
        arguments = params.arguments or {}
        if fault := best_match(Draft202012Validator(tool.schema).iter_errors(arguments)):
            return _answer(f"{fault.json_path}: {fault.message}", is_error=True)
        argv = tool.argv(arguments)
        if not tool.runs:
            return _command_answer(await run_command(argv, host.root, None))
        return _run_answer(await run_command(argv, host.root, _Progress(context).report))

    server: Server[Any] = Server(
        "code-commit",
        version=version("code-commit-mcp"),
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

    async def main() -> None:
        scope = anyio.CancelScope()
        cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, scope.cancel)
        with scope, STOP.child(cancel):
            async with (
                stdio_server(stdin=_Stdin()) as (received, sent),  # type: ignore[arg-type] # it only iterates
                anyio.create_task_group() as tasks,
            ):
                send, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
                tasks.start_soon(_answer_invalid, received, send, sent)
                await server.run(messages, sent, server.create_initialization_options())

    anyio.run(main)
    STOP.check()
    return ExitCode.REACHED


class _Stdin:
    """The lines of stdin. Unlike with a file of anyio, a cancellation does not wait for a line."""

    async def __aiter__(self) -> AsyncIterator[str]:
        read = sys.stdin.buffer.readline
        while line := await anyio.to_thread.run_sync(read, abandon_on_cancel=True):
            yield line.decode("utf-8", "replace")


async def _answer_invalid(
    received: AsyncIterable[SessionMessage | Exception],
    messages: ObjectSendStream[SessionMessage | Exception],
    sent: ObjectSendStream[SessionMessage],
) -> None:
    """Pass on messages. Answer each line that is none, which the SDK drops."""
    async with messages:
        async for message in received:
            if isinstance(message, SessionMessage):
                await messages.send(message)
            else:
                error = types.JSONRPCError(jsonrpc="2.0", id=None, error=_fault(message))
                await sent.send(SessionMessage(error))


def _fault(error: Exception) -> types.ErrorData:
    """Return what is wrong with a line; `error` is that of its validation."""
    if isinstance(error, ValidationError) and error.errors()[0]["type"] == "json_invalid":
        return types.ErrorData(code=types.PARSE_ERROR, message="the line is not JSON")
    return types.ErrorData(code=types.INVALID_REQUEST, message="the line is no JSON-RPC message")


def _described(tool: ServedTool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.read_only, destructive_hint=not tool.read_only
    )
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=hints,
    )


def _run_answer(printed: Printed) -> types.CallToolResult:
    """Return how a run ended: its exit code, outcome, summary and data."""
    event = printed.document
    if not isinstance(event, dict) or event.get("kind") != "run.finished":
        return _failure(printed)
    data = event.get("data")
    if not isinstance(data, dict):
        return _failure(printed)
    ending = json.dumps({"run": event.get("run", ""), **data}, ensure_ascii=False)
    return _answer(ending, is_error=printed.exit_code != ExitCode.REACHED)


def _command_answer(printed: Printed) -> types.CallToolResult:
    if printed.exit_code != ExitCode.REACHED:
        return _failure(printed)
    return _answer(json.dumps(printed.document, ensure_ascii=False), is_error=False)


def _failure(printed: Printed) -> types.CallToolResult:
    text = printed.stderr.strip() or f"code-commit {describe_ending(printed.exit_code)}"
    return _answer(text, is_error=True)


def _answer(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


class _Progress:
    """Reports the steps of a run to a client that asked for progress."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._steps = 0

    async def report(self, event: Mapping[str, Any]) -> None:
        data = event.get("data")
        describe = _STEPS.get(str(event.get("kind")))
        if describe and isinstance(data, dict):
            self._steps += 1
            await self._context.session.report_progress(self._steps, message=describe(data))


def _running(data: Mapping[str, Any]) -> str:
    command = " ".join(map(str, data.get("argv") or ()))
    return f"running {command}"[:_LONGEST_STEP]


_STEPS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "run.started": lambda data: f"{data.get('workflow')}, log in {data.get('folder')}",
    "call.started": lambda data: f"call {data.get('number')}: asking {data.get('model')}",
    "call.finished": lambda data: str(data.get("error") or f"{data.get('model')} answered"),
    "changes.applied": lambda data: f"{count_of(len(data.get('written') or ()), 'file')} written",
    "process.started": _running,
    "process.finished": process_ending,
    "message": lambda data: str(data.get("text"))[:_LONGEST_STEP],
}
