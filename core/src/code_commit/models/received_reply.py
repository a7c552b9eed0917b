"""A reply while it streams: what arrived is kept in the run folder, and shown."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from code_commit.log.kept_stream import KeptStream
from code_commit.log.run_log import CallFiles, RunLog
from code_commit.models.leaked_thinking import ThinkingFilter, visible_text
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    Text,
    Usage,
    request_text,
)
from code_commit.plugin_api.event import CallProgress
from code_commit.plugin_api.provider import Delta, ModelCall, StopReading, StreamEvent, Watch
from code_commit.plugin_api.tokens import estimate_tokens
from code_commit.run_folder.json_text import join_surrogates
from code_commit.run_folder.output_folder import counted

Print = Callable[[str], None]
_EVENT_SECONDS = 1.0  # between events for programs
_SAMPLE = 1024  # characters, of which the tokens are counted
# A line that begins or ends a file in a response.
_FENCE = re.compile(r"^\^\^\^(.{1,999})\n", re.MULTILINE)
_LONGEST_LINE = 1000  # characters of a line that are looked at


class ReceivedReply:
    """Takes what arrives of the replies to one call. With `print_text`, their text is printed, too.

    With `watch`, a reply is stopped as soon as its text contains a key, or decides what the
    workflow does with it.
    """

    def __init__(
        self,
        number: int,
        files: CallFiles,
        log: RunLog,
        print_text: Print | None,
        watch: Watch | None,
    ) -> None:
        self.files, self._watch = files, watch
        self._number, self._log, self._print = number, log, print_text
        self.lost_tries = 0
        self.spent: list[tuple[Usage, float | None]] = []  # for each answer of the service
        self._begin()

    def _begin(self) -> None:
        append, files = self._log.append_clean, self.files
        self.kept = KeptStream(
            self._log.redactor,
            partial(append, files.raw),
            partial(append, files.response),
            self._show,
        )
        self._text: list[str] = []  # for an early end
        self._watched, self._shown = ThinkingFilter(), ThinkingFilter()
        self._decides = self._watch() if self._watch else None
        self._answers = len(self.spent)
        self._began = self._reported = 0.0
        self._tokens = self._characters = 0
        self._kind = self._file = self._line = self._printed = self._half = ""

    def take(self, item: StreamEvent | Delta) -> None:
        """Take what arrived next.

        Raises:
            StopReading: the rest is not needed.
        """
        if len(self.spent) > self._answers:  # a layer of a plugin asked again
            self.begin_next_try()
        if isinstance(item, StreamEvent):
            self.kept.add_event(b"" + item.data)  # an error of the plugin if it is text
        else:
            self._kind = item.kind
            if self._half or not (text := item.text).isascii():
                text = join_surrogates(self._half + item.text)
                self._half = text[-1:] if "\ud800" <= text[-1:] < "\udc00" else ""  # of a character
                text = text[: len(text) - len(self._half)]
            self.kept.add_text(text, (item.kind, item.index), keep=item.kind == "text")
            if self._decides and item.kind == "text":
                self._text.append(text)
                visible = self._watched.feed(text)
                if self._watched.restarted and self._watch:
                    self._decides = self._watch()
                if self._decides(visible) is not None or self.kept.holds_key:
                    raise StopReading(self._stopped_early)

    def end(self, text: str = "") -> None:
        """Keep the rest.

        Print the end of the line, and `text` without thinking if nothing of it was printed.

        Raises:
            NotReady: it cannot be written or printed.
        """
        self.kept.end()
        self._print_piece(self._shown.finish() if self._print else "")
        self._print_piece("" if self._printed else visible_text(text))
        self._print_piece("\n" * (self._printed[-1:] not in {"", "\n"}))

    def begin_next_try(self) -> None:
        """Keep what arrived under another name, and begin the next try."""
        self.lost_tries += 1
        self.end()
        for file in (self._log.folder / self.files.response, self._log.folder / self.files.raw):
            with suppress(FileNotFoundError):
                file.rename(file.with_name(counted(file.name, f"try-{self.lost_tries}")))
        self._begin()

    def _show(self, text: str, added: str) -> None:
        """Print new text, and report how far the reply is.

        Thinking that leaked into the text is not shown as text.
        """
        text = self._shown.feed(text)
        if self._shown.restarted:
            self._file = self._line = ""
        is_thinking = self._kind == "thinking" or self._shown.is_thinking
        now = time.monotonic()
        self._began = self._began or now
        sample = added[:_SAMPLE]
        self._tokens += round(estimate_tokens(sample) * len(added) / (len(sample) or 1))
        self._characters += len(added)
        for fence in map(str.strip, _FENCE.findall(self._line + text)):
            self._file = {"end": "", "delete": self._file}.get(fence, fence)
        self._line = (self._line + text).rpartition("\n")[2][:_LONGEST_LINE]
        piece = text + "\n" * (self._kind != "text" and (text or self._printed or "\n")[-1] != "\n")
        is_text = self._kind == "text" and not is_thinking
        printing = self._print is not None and bool(text or is_text)  # text may have been held back
        if not printing:  # end the line of the words before the status line comes back
            self._print_piece(piece)
        event = CallProgress(
            number=self._number,
            tokens=self._tokens,
            characters=self._characters,
            seconds=round(now - self._began, 3),
            thinking=is_thinking,
            file=self._file or None,
            printed=printing,
        )
        is_due = now - self._reported >= _EVENT_SECONDS
        self._reported = now if is_due else self._reported
        (self._log.emit if is_due else self._log.show)(event)
        self._print_piece(piece * printing)

    def _stopped_early(self, call: ModelCall, usage: Usage | None) -> Completion:
        """Return what arrived, with an estimate of the tokens that `usage` does not tell."""
        self.kept.end()  # counts the rest
        usage = usage or Usage()
        read = estimate_tokens(request_text(call.request)) if usage.input is None else usage.input
        usage = replace(usage, input=read, output=max(usage.output or 0, self._tokens))
        message, detail = (
            Message("assistant", (Text("".join(self._text)),)),
            "stop_early, tokens are estimated",
        )
        return Completion(message, Finish.STOPPED_EARLY, detail, usage, call.model, raw={})

    def _print_piece(self, text: str) -> None:
        if self._print and text:
            self._print(text)
            self._printed = text
