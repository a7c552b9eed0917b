"""final_output: the call that ends an agent."""

from __future__ import annotations

from code_commit.plugin_api import Json
from code_commit_toolbox.tool import Tool, ToolContext, parameters

FINAL_OUTPUT = "final_output"


def final_output() -> Tool:
    """Return the tool whose text ends the loop; the tool itself only returns the text."""

    def call(context: ToolContext, arguments: Json) -> str:  # noqa: ARG001 - the signature of every tool
        summary: str = arguments["summary"]
        return summary

    return Tool(
        name=FINAL_OUTPUT,
        description=(
            "Report that the work is done or cannot be done, and finish. Call this last, by itself."
        ),
        parameters=parameters(
            {"summary": {"type": "string", "description": "The results, or the obstacles."}},
            required=["summary"],
        ),
        call=call,
    )
