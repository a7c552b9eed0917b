"""Show a long text in the pager of the user."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from code_commit_workspace import STOP, find_program

_DEFAULT = "less -FRX"
_OPTIONS_OF_LESS = "FRX"  # unless the user has others: no pager for less than a screen, colors


def show_in_pager(text: str, environ: Mapping[str, str]) -> bool:
    """Show `text` in the pager: `GIT_PAGER`, else `PAGER`, else less.

    Return False if there is none, such as with an empty `PAGER` or `PAGER=cat`. The configuration
    of a repository names no pager: it may be anybody's.
    """
    command = environ.get("GIT_PAGER", environ.get("PAGER", _DEFAULT))
    try:
        words = shlex.split(command)
    except ValueError:  # a quote is open
        return False
    if not words or words == ["cat"]:
        return False
    program: str | None = words[0]
    if "/" not in words[0]:
        program = find_program(words[0], Path.cwd())
    if program is None:
        return False
    try:
        process = subprocess.Popen(
            [program, *words[1:]],
            stdin=subprocess.PIPE,
            env={"LESS": _OPTIONS_OF_LESS, **os.environ},
        )
    except OSError:
        return False
    with process, STOP.child(process.terminate):
        process.communicate(text.encode("utf-8", "backslashreplace"))
    STOP.check()
    return True
