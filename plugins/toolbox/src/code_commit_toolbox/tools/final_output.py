"""final_output: the call by which an agent says that it is done."""

from __future__ import annotations

from code_commit.plugin_api import Json
from code_commit_toolbox.tool import Tool, ToolContext

FINAL_OUTPUT = "final_output"


def final_output() -> Tool:
    """Ends the loop with its text; by itself it does no more than hand that text on."""

    def call(context: ToolContext, arguments: Json) -> str:  # noqa: ARG001 - the shape of every tool
        summary: str = arguments["summary"]
        return summary

    return Tool(
        FINAL_OUTPUT,
        "Say that the work is done, or cannot be done, and end it. Call this last, by itself.",
        {
            "type": "object",
            "properties": {"summary": {"type": "string", "description": "What was done, found out, or is in the way."}},
            "required": ["summary"],
            "additionalProperties": False,
        },
        call,
    )
