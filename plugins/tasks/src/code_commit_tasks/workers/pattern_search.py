"""Looks for regular expressions in a text. A script of its own: a search cannot be ended from within.

Asked {patterns, text}, it answers a list: for each pattern whether it is found, or in words why it is none.
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
    seconds = int(sys.argv[1])  # whoever started this may be gone
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
