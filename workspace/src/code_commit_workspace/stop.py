"""End the work of the process after SIGINT, SIGTERM or SIGHUP, where that is safe.

A signal sets `STOP`, for good, and does nothing else. Code that waits or loops asks `STOP.check()`,
which raises `Interrupted`. Code that must finish runs inside `STOP.hold()`. No exception comes from
outside, so there is no other place where the work can end.

A thread watches. It ends waits (`child`), and it ends the process if nothing asks for too long.
That is as safe as a kill: the journal restores a half-applied change, and supervisors end
processes.
"""

from __future__ import annotations

import atexit
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn, TypeVar

from code_commit_workspace.errors import Interrupted
from code_commit_workspace.scope import Scope

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WHILE_STARTING = 0.2  # seconds of patience until work starts
_AT_WORK = 3.0
_AGAIN = 0.5  # seconds between the first signal and one that means "now"
_HELD_AGAIN = 3.0  # seconds that a hold may take after such a signal
_LAST_WORDS = 1.0  # seconds
_TICK = 0.02  # seconds between two looks, once a signal came
_READ, _PIECE = 512, 1 << 16  # bytes
# What the pipe holds: the numbers of signals, and these.
_LOOK = 0
_HANDLED = 255  # Python's handler ran: for a signal that the pipe may already have told
_STOPPED: Any = object()  # ends a wait for a queue


class Stop(Scope):
    """Whether a signal came that ends the process, and what may delay the end.

    It is the root of the tree of scopes: a signal ends its children. `process` is the scope of what
    lives as long as the process, and which a signal does not end. `is_set` never goes back to
    False. `words` is what `check` raises. `exit_code` is that of a hard end.
    """

    INTERRUPTED = 130  # the exit code after a signal, as shells report Ctrl-C

    def __init__(self) -> None:
        super().__init__()
        self.process = Scope()
        self.is_set = False
        self.exit_code = self.INTERRUPTED
        self._last_words: dict[int, Callable[[str], object]] = {}  # by the thread that set it
        self._patience = _WHILE_STARTING
        self.words = Interrupted("interrupted")
        self._holds = 0
        self._over = False
        self._lock = threading.Lock()
        self._wake_end: int | None = None
        self._set_reader: int | None = None  # readable once the stop is set
        self._set_writer: int | None = None
        self._exit: Callable[[int], NoReturn] = os._exit
        atexit.register(self.end)

    # --- for code that waits, loops or must finish ------------------------------------------------

    def check(self) -> None:
        """Ask whether to go on. Call it before and after a wait, and between steps of a loop.

        Raises:
            Interrupted: a signal came, and nothing holds.
        """
        if self.is_set and not self._holds:
            raise Interrupted(self.words.message, hint=self.words.hint)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Finish the block: until its end, `check` raises in no thread, and no wait is ended."""
        with self._lock:
            self._holds += 1
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
            if self.is_set:
                self._look()

    @contextmanager
    def saying(self, error: Interrupted) -> Iterator[None]:
        """Report an interruption of the block as `error`."""
        before, self.words = self.words, error
        try:
            yield
        finally:
            self.words = before

    def get(self, queue: SimpleQueue[T], timeout: float | None = None) -> T:
        """Return the next item of `queue`.

        Raises:
            Interrupted: a signal came.
            queue.Empty: nothing came within `timeout` seconds.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            self.check()
            left = min(max(0.0, end - time.monotonic()), threading.TIMEOUT_MAX)
            with self.child(lambda: queue.put(_STOPPED)):
                item = queue.get(timeout=left)
            if item is not _STOPPED:
                return item

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds`.

        Raises:
            Interrupted: a signal came.
        """
        self.check()
        woken = threading.Event()
        with self.child(woken.set):
            woken.wait(seconds)
        self.check()

    def join(self, thread: threading.Thread) -> None:
        """Wait for the end of `thread`.

        Raises:
            Interrupted: a signal came.
        """
        while thread.is_alive():
            self.check()
            thread.join(_TICK)
        self.check()  # the signal may have ended the thread

    def wait_for_input(self, handle: int) -> None:
        """Wait until the descriptor `handle` is readable.

        Read it without a buffer: what a buffer holds is not seen here.

        Raises:
            Interrupted: a signal came.
        """
        self.check()
        while True:
            ends = [] if self._set_reader is None or self._holds else [self._set_reader]
            ready, _, _ = select.select([handle, *ends], [], [])
            self.check()
            if handle in ready:
                return

    def pieces(self, handle: int) -> Iterator[bytes]:
        """Read the descriptor `handle` to its end, piece by piece.

        If it does not block, a named pipe that nobody writes to is at its end.

        Raises:
            Interrupted: a signal came.
        """
        blocks = os.get_blocking(handle)
        while True:
            if blocks:
                self.wait_for_input(handle)
            try:
                piece = os.read(handle, _PIECE)
            except BlockingIOError:
                self.wait_for_input(handle)
                continue
            if not piece:
                return
            yield piece

    # --- for the program --------------------------------------------------------------------------

    def listen(self, exit_process: Callable[[int], NoReturn]) -> None:
        """From now on, the signals set this. An ignored signal stays ignored.

        Call it once, in the main thread, after any fork. `exit_process` ends the process hard.
        """
        self._exit = exit_process
        reader, self._wake_end = os.pipe()
        self._set_reader, self._set_writer = os.pipe()
        for writer in (self._wake_end, self._set_writer):
            os.set_blocking(writer, False)
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)
                # Later, Python restores the default.
                atexit.register(signal.signal, number, signal.SIG_IGN)
        watch = threading.Thread(
            target=self._watch,
            args=(reader,),
            name="code-commit stop",
            daemon=True,
        )
        watch.start()
        os.register_at_fork(after_in_child=self._forget)

    def begin_work(self) -> None:
        """Be more patient from now on: the work has started, and asks."""
        self._patience = _AT_WORK

    @property
    def last_words(self) -> Callable[[str], object]:
        """What a hard end calls before, for the work of this thread; it has one second.

        It gets the place where the main thread was, or "" before work started.
        """
        return self._last_words.get(threading.get_ident(), str)

    @last_words.setter
    def last_words(self, say: Callable[[str], object]) -> None:
        self._last_words[threading.get_ident()] = say

    def decide(self, exit_code: int) -> None:
        """Keep `exit_code`: a hard end has no last words, and exits with it.

        In another thread than the main one, only the work of that thread has no last words.
        """
        self.last_words = str
        if threading.current_thread() is threading.main_thread():
            self.exit_code = exit_code

    @contextmanager
    def nested(self) -> Iterator[None]:
        """After the block, forget what it decided: it was a part of the work."""
        exit_code = self.exit_code
        last_words = self.last_words
        try:
            yield
        finally:
            self.decide(exit_code)
            self.last_words = last_words

    def finish(self, exit_code: int) -> None:
        """From now on, a signal ends the process at once with `exit_code`."""
        self.decide(exit_code)
        self._over = True

    def set(self) -> None:
        """Do what a signal does."""
        self._mark()
        if self._wake_end is None:
            self._end_waits()
        else:
            self._look()

    def end(self) -> None:
        """End everything, before an exit without Python's shutdown."""
        super().end()
        self.process.end()

    # --- the watching thread ----------------------------------------------------------------------

    def _forget(self) -> None:
        """Make a fork, such as one of `multiprocessing`, a process that signals end.

        It has no watching thread, and must not write to the pipe of its parent.
        """
        signal.set_wakeup_fd(-1)
        self._wake_end = self._set_reader = self._set_writer = None
        for number in SIGNALS:
            if signal.getsignal(number) == self._handle:
                signal.signal(number, signal.SIG_DFL)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._mark()
        self._look(_HANDLED)  # another library may have replaced our wakeup descriptor

    def _mark(self) -> None:
        self.is_set = True
        if self._set_writer is not None:
            with suppress(BlockingIOError):
                os.write(self._set_writer, b"!")

    def _look(self, what: int = _LOOK) -> None:
        if self._wake_end is None:
            self._end_waits()
            return
        with suppress(BlockingIOError):  # it is full, so the thread will look
            os.write(self._wake_end, bytes([what]))

    def _watch(self, reader: int) -> None:
        first = math.inf  # when the first signal came
        waited = held = 0.0  # seconds since then without a hold; with one, since the second signal
        insisted = False
        while True:
            before = time.monotonic()
            pause = _TICK if self.is_set else None
            told = os.read(reader, _READ) if select.select([reader], [], [], pause)[0] else b""
            now = time.monotonic()
            signaled = any(byte in SIGNALS for byte in told)
            if signaled or _HANDLED in told:
                self._mark()
                first = min(first, now)
            if not self.is_set:
                continue
            if self._over:
                self._exit(self.exit_code)
            insisted = insisted or (signaled and now - first >= _AGAIN)
            passed = min(now - before, 2 * _TICK)  # a machine that stands still costs no more
            if not self._holds:
                self._end_waits()
                waited += passed
                if insisted or waited >= self._patience:
                    self._end_hard()
            elif insisted:
                held += passed
                if held >= _HELD_AGAIN:
                    self._end_hard()

    def _end_late(self, child: Scope) -> None:
        if self.is_set and not self._holds:
            child.end()

    def _end_waits(self, *, held_too: bool = False) -> None:
        for child in self._newest_first():
            if self._holds and not held_too:
                return
            child.end()

    def _end_hard(self) -> None:
        place = _main_thread_place() if self._patience == _AT_WORK else ""
        self._end_waits(held_too=True)

        def speak() -> None:
            for say in tuple(self._last_words.values()):
                with suppress(BaseException):
                    say(place)

        speaker = threading.Thread(target=speak, name="last words", daemon=True)
        speaker.start()
        speaker.join(_LAST_WORDS)
        self._exit(self.exit_code)


def _main_thread_place() -> str:
    """Return where the main thread is: the file, the line and the function."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - no public way
    if frame is None:
        return "an unknown place"
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}, line {frame.f_lineno}, in {code.co_name}"  # noqa: PTH119 - pathlib costs


STOP = Stop()
"""The stop of this process."""
