"""Read a person's answers from stdin, which may be a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO, TypeGuard

from code_commit.terminal.answer_history import AnswerHistory
from code_commit.terminal.plain_lines import read_lines
from code_commit.terminal.screen import can_repaint, may_color

_MARK = "> "  # stands before the person's words
_EDIT = "e"


def read_answer(
    show: Callable[[], object],
    root: Path | None = None,
    draft: str | None = None,
    *,
    screen: TextIO | None = None,
    history: AnswerHistory | None = None,
) -> str | None:
    """Ask a question with `show`, and return the answer from stdin, or None at the end of input.

    Input that was typed on a terminal before the question is dropped: it cannot be an answer. If
    `screen`, where the question stands, is a terminal too, the person can edit the answer, and call
    up those in `history`.

    An answer is one line, or a block pasted on a terminal. With `draft`, it may be longer: a
    backslash at the end of a line continues it, and on a terminal `e` opens `draft` in an editor,
    but never a program in `root`.

    Raises:
        Interrupted: a signal came.
    """
    terminal = screen if _is_terminal(sys.stdin) and _is_terminal(screen) else None
    while True:
        answer = _read(show, terminal, history, continues=draft is not None)
        if terminal is None or answer is None:
            return answer
        if draft is None or answer.strip() != _EDIT:
            break
        try:
            from code_commit.terminal.editor import edited

            answer = edited(draft, root or Path.cwd())
            break
        except (OSError, ValueError) as error:
            show = partial(_tell, terminal, f"The editor failed: {error}")
    if history is not None:
        history.add(answer)
    return answer


def _read(
    show: Callable[[], object],
    terminal: TextIO | None,
    history: AnswerHistory | None,
    *,
    continues: bool,
) -> str | None:
    """Ask once. Without `terminal`, nobody sees the question, or nobody types."""
    if terminal is None or not _can_edit(terminal):
        return read_lines(show, terminal, _MARK, continues=continues)
    from code_commit.terminal.input_line import edit_line

    answer = edit_line(
        show,
        terminal,
        _MARK,
        past=history.load() if history else (),
        continues=continues,
        colored=may_color(terminal, os.environ),
    )
    return None if answer is None else answer.rstrip("\n")


def _can_edit(terminal: TextIO) -> bool:
    """Return whether the terminal can show a line that is edited.

    A screen reader reads plain lines best; `ACCESSIBLE` asks for them.
    """
    return can_repaint(terminal, os.environ) and not os.environ.get("ACCESSIBLE")


def _is_terminal(stream: TextIO | None) -> TypeGuard[TextIO]:
    return stream is not None and not stream.closed and stream.isatty()


def _tell(terminal: TextIO, text: str) -> None:
    terminal.write(f"{text}\n")
    terminal.flush()
