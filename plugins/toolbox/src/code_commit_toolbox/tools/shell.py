"""shell: a command chosen by the model, in the sandbox of builds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from code_commit.plugin_api import Json, MessageLogged, NotReady, ProcessResult, Run
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import ProjectTampered, Tool, ToolContext, ToolError, parameters


def shell(settings: ToolboxSettings, *, writes: Sequence[str] = ()) -> Tool:
    """Return the tool that runs a command.

    The run folder has the whole output; the model gets it up to the limit.

    With `writes`, the changes of a command to other files of the project are undone.
    """
    allowed = ", ".join(writes)
    description = (
        "Run a command with bash in the project's root, without a terminal or input; "
        "its child processes end with it. "
        "Returns its exit code and its output, stdout and stderr together."
    )
    if writes:
        description += f" Its changes to files other than {allowed} are undone."

    def call(context: ToolContext, arguments: Json) -> str:
        requested = arguments.get("timeout_seconds", settings.shell_seconds)
        seconds = context.seconds(min(requested, settings.shell_seconds_at_most))
        try:
            with context.run.limit_writes(writes) if writes else nullcontext(()) as undone:
                result = _execute(context.run, arguments["command"], seconds)
        except NotReady as error:
            reason = f"its changes cannot be undone: {error.message}"
            raise ProjectTampered((reason,), f"The command is at fault: {reason}") from error
        report = process_report(context.run, result, settings.output_limit)
        if undone:
            report += f"\n[Undone, because you may write only {allowed}: {', '.join(undone)}]"
        if result.tampered:
            paths = ", ".join(result.tampered)
            raise ProjectTampered(
                result.tampered,
                "The command changed files that check this project, which is not allowed: "
                f"{paths}.\n{report}",
            )
        if result.timed_out:
            raise ToolError(f"The command {report}")
        return report

    return Tool(
        name="shell",
        description=description,
        parameters=parameters(
            {
                "command": {"type": "string", "minLength": 1},
                "timeout_seconds": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": f"The time limit; {settings.shell_seconds:g} by default, "
                    f"{settings.shell_seconds_at_most:g} at most.",
                },
            },
            required=["command"],
        ),
        call=call,
    )


def _execute(run: Run, command: str, seconds: float) -> ProcessResult:
    try:
        return run.execute(["bash", "-c", command], timeout=seconds, label="shell")
    except NotReady as error:
        text = f"shell was refused: {error.message}; {error.hint}"
        run.emit(MessageLogged(text, level="warning"))
        raise ToolError(
            f"The command was not run: {error.message}. Work without commands."
        ) from error
