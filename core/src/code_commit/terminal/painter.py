"""Paint lines: on a terminal above a status line, elsewhere one after the other."""

from __future__ import annotations

from typing import IO, cast

from code_commit.terminal.streams import SafeStream
from code_commit_workspace.words import printable


class PlainPainter:
    """Prints lines to files, pipes and dumb terminals. Foreign text is escaped."""

    def __init__(self, stream: SafeStream) -> None:
        self._stream = stream

    def print(
        self,
        prefix: str,
        text: str,
        style: str,  # noqa: ARG002 - for terminals
    ) -> None:
        """Print `text` after `prefix`."""
        self.tick(prefix + _indented(text, len(prefix)))

    def status(self, text: str) -> None:
        """Do nothing: the status line cannot be repainted."""

    def tick(self, text: str) -> None:
        """Show that the run goes on."""
        self._stream.print(text)


class LivePainter(PlainPainter):
    """Prints to a terminal, above a status line that it repaints. `style` is one of rich's.

    `rich.live` would hide the cursor, which stays hidden if the process is killed.
    """

    def __init__(self, stream: SafeStream, *, color: bool) -> None:
        from rich.console import Console
        from rich.text import Text

        super().__init__(stream)
        file = cast("IO[str]", stream)  # it has the methods that rich uses
        self._console = Console(file=file, force_terminal=True, no_color=not color, highlight=False)
        self._text = Text
        self._status = Text()  # on the screen

    def print(self, prefix: str, text: str, style: str) -> None:
        """Print `text` in `style` after `prefix`, above the status line."""
        self._erase()
        line = self._text.assemble((prefix, "dim"), (_indented(text, len(prefix)), style))
        self._console.print(line, soft_wrap=True)
        self._console.print(self._status, end="", soft_wrap=True)

    def status(self, text: str) -> None:
        """Show `text` in the status line."""
        status = self._text(printable(text).replace("\n", " "))
        # The terminal shows Ctrl-C as `^C` at the end: without room for it, the line would wrap
        # and stay.
        status.truncate(max(1, self._console.width - 3), overflow="ellipsis")
        if status != self._status:
            self._erase()
            self._console.print(status, end="", soft_wrap=True)
            self._status = status

    tick = status

    def _erase(self) -> None:
        """Erase the status line, which takes several rows after the terminal became narrower."""
        if self._status:
            rows = (self._status.cell_len - 1) // self._console.width
            self._stream.write("\r\x1b[2K" + "\x1b[1A\x1b[2K" * rows)


def _indented(text: str, indent: int) -> str:
    """Escape foreign text, and indent its further lines, so that they do not look like ours."""
    return printable(text).replace("\n", "\n" + " " * indent)
