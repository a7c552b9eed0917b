"""What ends when something else ends: a tree of scopes.

A run, a call and a process each have a scope, in the scope of what they belong to. The root is
`STOP`, the scope of our own process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_LONGEST_WAIT = 1.0  # seconds for another thread that ends a scope, or starts something in it


def _nothing() -> None:
    """Close nothing: the block closes what it has."""


class Scope:
    """Something that ends, and ends what began in it: its children, the newest first.

    `is_over` never goes back to False. What begins in a scope that is over ends at once.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._children: dict[Scope, Callable[[], object]] = {}  # with `close` of each
        self._ends: list[tuple[int, Callable[[], object]]] = []  # with the process of each
        self._ending = threading.RLock()  # held while something ends or starts
        self._left = threading.Condition()  # a child was

    @contextmanager
    def child(
        self,
        end: Callable[[], object] | None = None,
        *,
        close: Callable[[], object] = _nothing,
    ) -> Iterator[Scope]:
        """Open a scope for the block. If it ends in the block, call `end`, as `on_end` does.

        The end of the block ends what is left in the scope, but does not call `end`. For a block
        that no thread is in, `wait_until_over` calls `close`.
        """
        child = Scope()
        if end:
            child.on_end(end)
        with self._left:
            self._children[child] = close
        try:
            self._end_late(child)
            yield child
        finally:
            with child._ending:  # not before an ending that was called has returned
                child._ends.clear()
                child.end()
            with self._left:
                del self._children[child]
                self._left.notify_all()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Start something in the block: `end` waits until it is known, but at most a second."""
        with self._ending:
            yield

    def on_end(self, end: Callable[[], object]) -> None:
        """Call `end` when this scope ends; at once if it is over.

        `end` must not block: it only starts an ending. Any thread may call it. Its exceptions are
        lost.
        """
        with self._ending:
            self._ends.append((os.getpid(), end))
            if self.is_over:
                self.end()

    def end(self) -> None:
        """End the children, then this scope. Any thread may call it, and more than once."""
        self.is_over = True
        if not self._ending.acquire(timeout=_LONGEST_WAIT):  # another thread will see it
            return
        try:
            for child in self._newest_first():
                child.end()
            while self._ends:
                process, end = self._ends.pop()
                if process == os.getpid():  # a fork ends nothing of its parent
                    with suppress(Exception):
                        end()
        finally:
            self._ending.release()

    def wait_until_over(self, seconds: float) -> bool:
        """After `end`, wait until the blocks of all children are left.

        Return False if that takes longer than so many seconds.
        """
        with self._left:
            closings = tuple(self._children.values())
        for close in closings:
            close()
        with self._left:
            return self._left.wait_for(lambda: not self._children, seconds)

    def _newest_first(self) -> tuple[Scope, ...]:
        with self._left:
            return tuple(reversed(self._children))

    def _end_late(self, child: Scope) -> None:
        """End a child that begins too late."""
        if self.is_over:
            child.end()
