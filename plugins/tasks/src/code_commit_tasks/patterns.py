"""Search a text for JavaScript's regular expressions, in a Deno process that can be killed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from code_commit_tasks.runtime.script import CallAnswer, ScriptFailed, ScriptLimits, run_script

# Flags come first, as in `(?im)^ok`, because a pattern has no other place for them.
_SEARCH = """\
async function agent_code(): Promise<(boolean | string)[]> {{
    const text = {text};
    return {patterns}.map((pattern) => {{
        const [, flags = "", source] = pattern.match(/^(?:\\(\\?([ims]+)\\))?([^]*)$/);
        try {{
            return new RegExp(source, flags).test(text);
        }} catch (error) {{
            return String(error.message);
        }}
    }});
}}
"""


class SearchFailed(Exception):  # noqa: N818 - the name of an event
    """The search ended without a result. The message is for the model."""


def search(patterns: Sequence[str], text: str, *, seconds: float, memory: int) -> list[bool | str]:
    """Return for each pattern whether `text` contains a match, or why the pattern is invalid.

    Raises:
        SearchFailed: it took more than `seconds` or `memory` bytes.
        NotReady: Deno is not installed, or does not start.
    """
    code = _SEARCH.format(patterns=json.dumps(list(patterns)), text=json.dumps(text))
    limits = ScriptLimits(seconds, memory, calls=0)
    try:
        answers: list[bool | str] = run_script(code, [], _no_function, limits)
    except ScriptFailed as failed:
        if failed.fault == "time":
            raise SearchFailed(
                f"The search for the pattern took longer than {seconds:g} s and was stopped."
            ) from None
        raise SearchFailed(f"The search for the pattern failed: {failed}") from None
    return answers


def _no_function(name: str, _given: object) -> CallAnswer:
    return CallAnswer(f"there is no function {name}", is_error=True)
