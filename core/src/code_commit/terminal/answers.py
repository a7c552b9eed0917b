"""Read a person's answers from stdin, which may be a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from code_commit_workspace import STOP

_PASTE = 0.05  # seconds; the lines of a pasted block arrive without a pause
_EDIT = "e"


def read_answer(
    show: Callable[[], object],
    root: Path | None = None,
    draft: str | None = None,
) -> str | None:
    """Ask a question with `show`, and return the answer from stdin, or None at the end of input.

    Input that was typed on a terminal before the question is dropped: it cannot be an answer.

    An answer is one line, or a block pasted on a terminal. With `draft`, it may be longer: a
    backslash at the end of a line continues it, and on a terminal `e` opens `draft` in an editor,
    but never a program in `root`.

    Raises:
        Interrupted: a signal came.
    """
    _drop_typed_input()
    show()
    while True:
        answer = _read_block()
        while draft is not None and answer is not None and answer.endswith("\\"):
            answer = answer.removesuffix("\\")
            next_block = _read_block()
            if next_block is not None:
                answer += f"\n{next_block}"
        if draft is None or answer is None or answer.strip() != _EDIT:
            return answer
        if not (_on_terminal() and sys.stdout.isatty()):
            return answer
        try:
            from code_commit.terminal.editor import edited

            return edited(draft, root or Path.cwd())
        except (OSError, ValueError) as error:
            sys.stdout.write(f"The editor failed: {error}\n")
            sys.stdout.flush()


def _drop_typed_input() -> None:
    if _on_terminal():
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _read_block() -> str | None:
    """Read a line, and the rest of a pasted block."""
    line = _read_line()
    if not line:
        return None
    block = line
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
