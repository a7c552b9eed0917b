"""Find the command line that runs a build script as its first line says, as the kernel would."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.programs import require_program
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.process.interpreter import (
    BLANKS,
    hiding_nothing,
    interpreter_named,
    require_interpreter,
)

_LONGEST_FIRST_LINE = 255  # bytes that Linux reads of it
_LARGEST = 16 * 1024 * 1024  # bytes that are looked at
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TEXT_AT_LEAST = 8192  # bytes without NUL at the start of a script, as git judges
_CARRIAGE_RETURN = re.compile(rb"\r(?:\n|\Z)")


def build_command(
    tree: ProjectTree,
    script: str,
    writable: Iterable[Path] = (),
    *,
    hiding: Callable[[str], str] = hiding_nothing,
) -> tuple[str, ...]:
    """Return the command line that runs `script`: its interpreter with the argument, or bash.

    The execute permission does not matter. Bash is not taken from the folders `writable`, which
    builds can change. `hiding` returns the place that hides a path from builds, or an empty text.

    Raises:
        NotReady: the script is missing, or is not a text with LF line ends; or its interpreter is
            missing, hidden or cannot start.
    """
    content = _content(tree, script)
    first_line = content.partition(b"\n")[0]
    words = os.fsdecode(first_line.removeprefix(b"#!")).strip(BLANKS)
    if not first_line.startswith(b"#!") or not words:  # a shell takes over from the kernel
        require_program("bash", tree.root, writable)
        return ("bash", script)
    if len(first_line) > _LONGEST_FIRST_LINE:
        size = f"{len(first_line)} bytes; Linux cuts it after {_LONGEST_FIRST_LINE}"
        raise NotReady(f"the first line of {script} has {size}", hint="shorten it")
    interpreter, argument = interpreter_named(words)
    require_interpreter(tree.root, script, words, hiding)
    if argument:
        return (interpreter, argument, script)
    return (interpreter, script)


def _content(tree: ProjectTree, script: str) -> bytes:
    """Return the content of the script.

    Raises:
        NotReady: it is missing, or is not a text with LF line ends.
    """
    try:
        content = tree.read(script, _LARGEST)
    except OSError as error:
        fault = "a link" if error.errno == errno.ELOOP else "not a readable regular file"
        raise NotReady(
            f"{script} is {fault}",
            hint="replace it with a script that builds and tests the project",
        ) from error
    if content is None:
        raise NotReady(
            f"there is no {script} here",
            hint="write one that exits with 0 only if the project builds and its tests pass",
        )
    if b"\0" in content[:_TEXT_AT_LEAST]:
        raise NotReady(
            f"{script} is a binary file, not a script",
            hint="write a script that starts it, with a first line such as #!/bin/sh",
        )
    if content.startswith(_BYTE_ORDER_MARK):
        raise NotReady(
            f"{script} begins with a byte order mark, so that its first line has no effect",
            hint="save it as UTF-8 without a byte order mark",
        )
    _require_line_feeds(content, script)
    return content


def _require_line_feeds(content: bytes, script: str) -> None:
    """Check that no line ends with a carriage return: in `set -e`, it would turn the option off.

    Raises:
        NotReady: a line does, or the first line holds one.
    """
    first_line = content.partition(b"\n")[0]
    position = first_line.find(b"\r")
    if position < 0:
        line_end = _CARRIAGE_RETURN.search(content)
        if line_end is None:
            return
        position = line_end.start()
    line = content.count(b"\n", 0, position) + 1
    raise NotReady(
        f"line {line} of {script} has a carriage return (CRLF line ends): shells would misread it",
        hint=rf"run `sed -i 's/\r$//' {script}`, and add `{script} text eol=lf` to .gitattributes",
    )
