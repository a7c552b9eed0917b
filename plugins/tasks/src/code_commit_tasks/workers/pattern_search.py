"""Search a text for regular expressions, in a separate process, because a search cannot be stopped from within.

Input: {patterns, text}. Output: a list with, for each pattern, whether it is found, or why it is invalid.
"""

from __future__ import annotations

import contextlib
import json
import re
import resource
import sys

_MEMORY = 1024 * 1024 * 1024  # bytes


def main() -> None:
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    seconds = int(sys.argv[1])  # the parent may have ended
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    question = json.load(sys.stdin)
    json.dump([found(pattern, question["text"]) for pattern in question["patterns"]], sys.stdout)


def found(pattern: str, text: str) -> bool | str:
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)


if __name__ == "__main__":
    main()
