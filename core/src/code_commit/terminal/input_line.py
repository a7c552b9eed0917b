"""The input line of a person at a terminal: editing, history, several lines.

This module imports prompt_toolkit, which is slow to import: import it when a question is asked.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.data_structures import Size
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from code_commit.terminal.keyboard import Keyboard
from code_commit.terminal.streams import SafeStream
from code_commit_workspace import STOP
from code_commit_workspace.words import printable

_SIGNAL_AFTER_HANGUP = 0.2  # seconds
_STOPS_IN = 0.1  # seconds until the signal has stopped this thread, too
_STYLE = Style.from_dict({"mark": "bold ansicyan"})


def edit_line(
    show: Callable[[], object],
    screen: TextIO,
    mark: str,
    *,
    past: Sequence[str],
    continues: bool,
    colored: bool,
) -> str | None:
    """Ask a question with `show` on `screen`, and let the person edit the answer after `mark`.

    Return None at the end of input. `past` are earlier answers. With `continues`, a backslash at
    the end continues the answer on the next line.

    Raises:
        Interrupted: a signal came.
    """
    keyboard = Keyboard(sys.stdin)
    color_depth = None if colored else ColorDepth.DEPTH_1_BIT
    with keyboard.raw_mode():  # before the question, so that each key after it arrives as a key
        keyboard.drop_typed_keys()
        show()
        session: PromptSession[str] = PromptSession(
            [("class:mark", mark)],
            input=keyboard,
            output=_output(screen),
            history=InMemoryHistory(past),
            key_bindings=_key_bindings(keyboard, continues=continues),
            style=_STYLE,
            color_depth=color_depth,
            multiline=True,
            prompt_continuation=lambda width, _number, _soft_wrap: " " * width,
            reserve_space_for_menu=0,
            input_processors=[_Escaped()],
            search_ignore_case=True,
        )
        answer = _run(session)
    if keyboard.closed:
        STOP.sleep(_SIGNAL_AFTER_HANGUP)
    return answer


def _run(session: PromptSession[str]) -> str | None:
    """Read the answer in a thread, so that the main thread handles signals."""
    answers: list[str] = []
    errors: list[Exception] = []
    loop = asyncio.new_event_loop()
    task = loop.create_task(session.prompt_async(set_exception_handler=False, handle_sigint=False))

    def end() -> None:
        with suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(task.cancel)

    def handle_error(_loop: object, context: dict[str, Any]) -> None:
        errors.append(context.get("exception") or RuntimeError(context["message"]))
        task.cancel()

    def read() -> None:
        try:
            answers.append(loop.run_until_complete(task))
        except (EOFError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 - raised below
            errors.append(error)
        finally:
            loop.close()

    loop.set_exception_handler(handle_error)
    thread = threading.Thread(target=read, name="input line", daemon=True)
    thread.start()
    try:
        with STOP.child(end):
            thread.join()
    finally:
        end()
        thread.join()  # it restores the terminal
    STOP.check()
    for error in errors:
        raise error
    return answers[0] if answers else None


def _output(screen: TextIO) -> Vt100_Output:
    """Return the terminal `screen`, which is not asked where its cursor is.

    A late reply to that would be read as keys.
    """

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(screen.fileno())
        except OSError:
            columns, rows = 0, 0
        return Size(rows=rows or 24, columns=columns or 80)

    stream: Any = SafeStream(screen)
    return Vt100_Output(stream, size, term=os.environ.get("TERM"), enable_cpr=False)


class _Escaped(Processor):
    """Shows control characters and invisible ones as the rest of the output does."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        text = fragment_list_to_text(fragments)
        if printable(text) == text:
            return Transformation(fragments)
        characters = explode_text_fragments(fragments)
        shown: StyleAndTextTuples = [
            (style, printable(character)) for style, character, *_ in characters
        ]
        begins = [0, *accumulate(len(text) for _, text, *_ in shown)]
        return Transformation(
            shown,
            source_to_display=lambda at: begins[min(at, len(shown))],
            display_to_source=lambda at: max(0, bisect_right(begins, at) - 1),
        )


def _key_bindings(keyboard: Keyboard, *, continues: bool) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def _answer(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if keyboard.has_more():
            buffer.insert_text("\n")
        elif continues and buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter", filter=has_focus(DEFAULT_BUFFER))
    def _begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("c-c")
    def _interrupt(_event: KeyPressEvent) -> None:
        """Do what the terminal does outside of this line."""
        try:
            os.killpg(os.tcgetpgrp(keyboard.fileno()), signal.SIGINT)
        except OSError:  # the terminal controls no processes
            os.kill(os.getpid(), signal.SIGINT)

    @bindings.add("c-z")
    def _suspend(_event: KeyPressEvent) -> None:
        run_in_terminal(_stop)

    return bindings


def _stop() -> None:
    """Stop the processes of the terminal until the shell continues them."""
    os.kill(0, signal.SIGTSTP)
    time.sleep(_STOPS_IN)
