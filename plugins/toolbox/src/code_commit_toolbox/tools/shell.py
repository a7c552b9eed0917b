"""shell: a command chosen by the model, in the sandbox of builds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from code_commit.plugin_api import Json, MessageLogged, NotReady
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import ProjectTampered, Tool, ToolContext, ToolError


def shell(settings: ToolboxSettings, *, writes: Sequence[str] = ()) -> Tool:
    """Return the tool that runs a command.

    The run folder has the whole output; the model gets it up to the limit.

    With `writes`, the changes of a command to other files of the project are undone.
    """
    only = f" Its changes to files other than {', '.join(writes)} are undone." if writes else ""

    def call(context: ToolContext, arguments: Json) -> str:
        wanted = min(
            arguments.get("timeout_seconds", settings.shell_seconds), settings.shell_seconds_at_most
        )
        seconds = context.seconds(wanted)
        try:
            with context.run.limit_writes(writes) if writes else nullcontext(()) as undone:
                result = context.run.execute(
                    ["bash", "-c", arguments["command"]], timeout=seconds, label="shell"
                )
        except NotReady as error:
            context.run.emit(
                MessageLogged(f"shell was refused: {error.message}; {error.hint}", level="warning")
            )
            raise ToolError(
                f"The command was not run: {error.message}. Work without commands."
            ) from error
        report = process_report(context.run, result, settings.output_limit)
        if undone:
            report += (
                f"\n[Undone, because you may write only {', '.join(writes)}: {', '.join(undone)}]"
            )
        if result.tampered:
            paths = ", ".join(result.tampered)
            raise ProjectTampered(
                result.tampered,
                f"The command changed files that check this project, which is not allowed: {paths}.\n{report}",
            )
        if result.timed_out:
            raise ToolError(f"The command {report}")
        return report

    return Tool(
        "shell",
        "Run a command with bash in the project's root, without a terminal or input; its child processes end with it. "
        f"Returns its exit code and its output, stdout and stderr together.{only}",
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
