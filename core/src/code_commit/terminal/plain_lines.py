"""Read plain lines from stdin: from a pipe, or from a terminal that edits them itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TextIO

from code_commit_workspace import STOP

_PASTE = 0.05  # seconds; the lines of a pasted block arrive without a pause
_LONGEST = 4095  # bytes of a line; such a terminal drops the rest


def read_lines(
    show: Callable[[], object],
    terminal: TextIO | None,
    mark: str,
    *,
    continues: bool,
) -> str | None:
    """Ask a question with `show`, and return a line of stdin, or None at the end of input.

    If a person types on `terminal`, `mark` stands before the line, and a pasted block is one
    answer. With `continues`, a backslash at the end continues the answer on the next line.

    Raises:
        Interrupted: a signal came.
    """
    while True:
        _drop_typed_input()
        show()
        _write(terminal, mark)
        answer = _read_block()
        if answer is None:
            _write(terminal, "\n")  # the end of the input moved no cursor
        while continues and answer is not None and answer.endswith("\\"):
            answer = answer.removesuffix("\\")
            _write(terminal, mark)
            next_block = _read_block()
            if next_block is not None:
                answer += f"\n{next_block}"
        if terminal is None or not _is_cut(answer):
            return answer
        show = partial(
            _write,
            terminal,
            f"The terminal cut a line off after {_LONGEST:,} bytes. Type it as several lines.\n",
        )


def _write(terminal: TextIO | None, text: str) -> None:
    if terminal is not None:
        terminal.write(text)
        terminal.flush()


def _is_cut(answer: str | None) -> bool:
    lines = (answer or "").split("\n")
    return any(len(line.encode()) >= _LONGEST for line in lines)


def _drop_typed_input() -> None:
    if _on_terminal():
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _read_block() -> str | None:
    """Read a line, and the rest of a pasted block; None at the end of input."""
    line = _read_line()
    if not line:
        return None
    block = bytearray(line)
    while line and _on_terminal() and _has_more():
        line = _read_line()
        block += line
    return block.decode("utf-8", "replace").rstrip("\r\n")


def _read_line() -> bytes:
    """Read bytes, which may not be UTF-8. A terminal that was closed is the end of the input.

    Read one at a time: what follows the line belongs to the next reader.
    """
    line = bytearray()
    if sys.stdin is None:  # the caller closed it
        return b""
    handle = sys.stdin.fileno()
    with suppress(OSError):
        while not line.endswith(b"\n"):
            STOP.wait_for_input(handle)
            byte = os.read(handle, 1)
            if not byte:
                break
            line += byte
    return bytes(line)


def _has_more() -> bool:
    """Return whether another line, or the beginning of one, follows without a pause."""
    import select

    return bool(select.select([sys.stdin], [], [], _PASTE)[0]) or _has_unfinished_line()


def _has_unfinished_line() -> bool:
    """Return whether a pasted block ends in the middle of a line.

    A terminal that edits lines reports only complete ones, so turn that off for a moment.
    """
    import fcntl
    import termios

    try:
        edited = termios.tcgetattr(sys.stdin)
        raw = [*edited[:3], edited[3] & ~termios.ICANON, *edited[4:]]
        termios.tcsetattr(sys.stdin, termios.TCSANOW, raw)
        try:
            waiting = fcntl.ioctl(sys.stdin, termios.FIONREAD, b"\0" * 4)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, edited)
    except (OSError, termios.error):
        return False
    return any(waiting)
