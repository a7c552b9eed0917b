"""shell: a command chosen by the model, in the sandbox of builds."""

from __future__ import annotations

import os

from code_commit.plugin_api import Json, MessageLogged, NotReady, ProcessResult
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ProjectTampered, Tool, ToolContext, ToolError


def shell(settings: ToolboxSettings) -> Tool:
    """Return the tool that runs a command. The run folder has the whole output; the model gets it up to the limit."""

    def call(context: ToolContext, arguments: Json) -> str:
        wanted = min(arguments.get("timeout_seconds", settings.shell_seconds), settings.shell_seconds_at_most)
        seconds = context.seconds(wanted)
        try:
            result = context.run.execute(["bash", "-c", arguments["command"]], timeout=seconds, label="shell")
        except NotReady as error:
            context.run.emit(MessageLogged(f"shell was refused: {error.message}; {error.hint}", level="warning"))
            raise ToolError(f"The command was not run: {error.message}. Work without commands.") from error
        report = _report(result, os.path.relpath(result.log, context.run.root), settings.output_limit)
        if result.tampered:
            paths = ", ".join(result.tampered)
            raise ProjectTampered(
                f"The command changed files that check this project, which is not allowed: {paths}.\n{report}",
                result.tampered,
            )
        if result.timed_out:
            raise ToolError(f"The command and its child processes were stopped after {seconds:g} s.\n{report}")
        return report

    return Tool(
        "shell",
        "Run a command with bash in the project's root, without a terminal or input; its child processes end with it. "
        "Returns its exit code, stdout and stderr.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "timeout_seconds": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": f"The time limit; {settings.shell_seconds:g} by default, "
                    f"{settings.shell_seconds_at_most:g} at most.",
                },
            },
            "required": ["command"],
            "additionalProperties": False,
        },
        call,
    )


def _report(result: ProcessResult, log: str, limit: int) -> str:
    outputs = {
        name: output.decode("utf-8", "replace")
        for name, output in (("stdout", result.stdout), ("stderr", result.stderr))
        if output
    }
    ending = "ended by a signal or its time limit" if result.exit_code is None else f"exit code: {result.exit_code}"
    pieces = [ending]
    for name, text in outputs.items():
        ended = text if text.endswith("\n") else f"{text}\n"
        pieces.append(f"--- {name} ---\n" + head_and_tail(ended, limit // len(outputs), whole=f"see {log}"))
    return "\n".join(piece.removesuffix("\n") for piece in pieces)
