"""write_file and str_replace."""

from __future__ import annotations

from contextlib import suppress

from code_commit.plugin_api import Json, count_of
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool, ToolContext, ToolError, parameters
from code_commit_toolbox.tools.project_file import read_text, write_text
from code_commit_workspace import normalise_path

_LINES_NAMED = 10
_MOST_PLACES = 1000
_PATH = {"type": "string", "description": "Relative to the project's root, such as src/main.py."}


def write_file(settings: ToolboxSettings) -> Tool:
    """Return the tool that writes a whole file."""

    def call(context: ToolContext, arguments: Json) -> str:
        path = arguments["path"]
        content = arguments["content"]
        if not write_text(context, path, content, settings.file_limit):
            return f"{path} already has this content."
        return f"Wrote {count_of(len(content.encode()), 'byte')} to {path}."

    return Tool(
        name="write_file",
        description=(
            "Write a file of the project: content replaces the whole file. Folders are created "
            "as needed. To change a part of a file, str_replace is shorter and safer."
        ),
        parameters=parameters(
            {
                "path": _PATH,
                "content": {"type": "string", "description": "The whole new content."},
            },
            required=["path", "content"],
        ),
        call=call,
    )


def str_replace(settings: ToolboxSettings) -> Tool:
    """Return the tool that replaces one passage of a file."""

    def call(context: ToolContext, arguments: Json) -> str:
        path = arguments["path"]
        text = read_text(context.run, path, settings.file_limit)
        passages = (arguments["old_str"], arguments["new_str"])
        changed = replaced_once(text, *passages)
        write_text(context, path, changed, settings.file_limit, over=text)
        known = context.seen.get(normalise_path(path), text)
        with suppress(ToolError):  # the passage is new since the agent saw the file
            context.seen[normalise_path(path)] = replaced_once(known or "", *passages)
        return f"Replaced one passage of {path}."

    return Tool(
        name="str_replace",
        description=(
            "Replace one passage of a file of the project. old_str must occur in the file exactly "
            "once, including blanks and line ends: include enough of the surrounding text."
        ),
        parameters=parameters(
            {
                "path": _PATH,
                "old_str": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The passage to replace.",
                },
                "new_str": {"type": "string", "description": "The new passage; can be empty."},
            },
            required=["path", "old_str", "new_str"],
        ),
        call=call,
    )


def replaced_once(text: str, old: str, new: str) -> str:
    """Return `text` with its only occurrence of `old` replaced by `new`.

    In text with CRLF line endings, `old` and `new` may use LF.

    Raises:
        ToolError: `old` is missing or occurs more than once; the message contains the number and
            the lines.
    """
    places = places_of(old, text)
    if not places and "\r\n" in text and "\n" in old and "\r" not in old:
        old = old.replace("\n", "\r\n")
        new = new.replace("\n", "\r\n")
        places = places_of(old, text)
    if not places:
        raise ToolError(
            "old_str is not in the file: 0 matches. Read the file, and copy the passage exactly."
        )
    if len(places) > 1:
        lines = [str(text.count("\n", 0, place) + 1) for place in places[:_LINES_NAMED]]
        if len(places) > _LINES_NAMED:
            lines.append("…")
        count = f"{len(places)}" if len(places) < _MOST_PLACES else f"{_MOST_PLACES} or more"
        raise ToolError(
            f"old_str occurs in the file {count} times, in lines {', '.join(lines)}: "
            "include more of the surrounding text."
        )
    if old == new:
        raise ToolError("old_str and new_str are the same: nothing would change.")
    [place] = places
    return text[:place] + new + text[place + len(old) :]


def places_of(old: str, text: str) -> list[int]:
    """Return the positions of `old` in `text`, at most a thousand; they may overlap."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) < _MOST_PLACES:
        places.append(place)
        place = text.find(old, place + 1)
    return places
