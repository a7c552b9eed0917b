"""The process that runs ast-grep: it reads searches and files from stdin, and writes matches.

A line is `{"search", "path", "line", "text"}` for a match, `{"search", "more": true}` for more
matches than requested, or `{"search", "problem"}`.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any

from ast_grep_py import SgRoot

_MEMORY = 4 * 1024**3
_LINES_SHOWN = 5
_WIDTH = 300  # characters of a line
_DEFAULT_MATCHES = 50


def main() -> None:
    """Run the searches from stdin."""
    work = json.load(sys.stdin)
    seconds = int(work["seconds"]) + 2  # the parent may have ended
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    searches: list[dict[str, Any]] = work["searches"]
    left: dict[int, int] = {}  # matches to write, by the number of the search
    for number, search in enumerate(searches):
        try:
            SgRoot("", search["language"]).root().find_all(pattern=search["pattern"])
        except (RuntimeError, ValueError) as error:
            write_line(search=number, problem=reason(error))
        else:
            left[number] = search.get("max_matches", _DEFAULT_MATCHES)
    for file in work["files"]:
        roots: dict[str, SgRoot] = {}
        for number in file["searches"]:
            if number not in left:
                continue
            language = searches[number]["language"]
            if language not in roots:
                roots[language] = SgRoot(file["text"], language)
            for node in roots[language].root().find_all(pattern=searches[number]["pattern"]):
                if not left[number]:
                    del left[number]
                    write_line(search=number, more=True)
                    break
                left[number] -= 1
                write_line(
                    search=number,
                    path=file["path"],
                    line=node.range().start.line + 1,
                    text=shown(node.text()),
                )


def reason(error: Exception) -> str:
    """Return ast-grep's error message, without the backtrace."""
    message = str(error)
    chain, _, _ = message.partition("Stack backtrace")
    causes = re.findall(r"^ *\d+: (.*)$", chain, re.MULTILINE)
    return f"the pattern is invalid: {causes[-1] if causes else message[:_WIDTH]}"


def shown(text: str) -> str:
    """Return the first lines of a match."""
    lines = text.split("\n")
    first = [line[:_WIDTH] for line in lines[:_LINES_SHOWN]]
    if len(lines) > _LINES_SHOWN:
        first.append("...")
    return "\n".join(first)


def write_line(**line: object) -> None:
    """Write one line immediately."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
