"""A reply while it streams: what arrived is kept in the run folder, and shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from code_commit.log.kept_stream import KeptStream
from code_commit.log.run_log import CallFiles, RunLog
from code_commit.models.leaked_thinking import ThinkingFilter, visible_text
from code_commit.models.reply_progress import ReplyProgress
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    Text,
    Usage,
    request_text,
)
from code_commit.plugin_api.provider import Delta, ModelCall, StopReading, StreamEvent, Watch
from code_commit.plugin_api.tokens import estimate_tokens
from code_commit.run_folder.json_text import join_surrogates
from code_commit.run_folder.output_folder import counted

Print = Callable[[str], None]


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
        self.files = files
        self.lost_tries = 0
        self.passed_on = False  # a layer passed the call on to another model
        self.spent: list[tuple[Usage, float | None]] = []  # for each answer of the service
        self._number = number
        self._log = log
        self._print = print_text
        self._watch = watch
        self._begin()

    def _begin(self) -> None:
        """Begin a try."""
        self.kept = KeptStream(
            self._log.redactor,
            keep_events=partial(self._log.append_clean, self.files.raw),
            keep_text=partial(self._log.append_clean, self.files.response),
            show=self._show,
        )
        self._progress = ReplyProgress(self._number)
        self._answers = len(self.spent)
        self._text: list[str] = []  # for an early end
        self._decides: Callable[[str], int | None] | None = None
        if self._watch is not None:
            self._decides = self._watch()
        self._watched = ThinkingFilter()
        self._shown = ThinkingFilter()
        self._kind = ""
        self._printed = ""  # the latest piece
        self._half = ""  # the first half of a surrogate pair

    def take(self, arrival: StreamEvent | Delta) -> None:
        """Take what arrived next.

        Raises:
            StopReading: the rest is not needed.
        """
        if len(self.spent) > self._answers:  # a layer of a plugin asked again
            self.begin_next_try()
        if isinstance(arrival, StreamEvent):
            self.kept.add_event(b"" + arrival.data)  # an error of the plugin if it is text
            return
        kind = arrival.kind
        self._kind = kind
        text = self._whole_characters(arrival.text)
        self.kept.add_text(text, (kind, arrival.index), keep=kind == "text")
        if self._decides and kind == "text":
            self._stop_if_decided(text)

    def _whole_characters(self, text: str) -> str:
        """Return what is complete of `text`: JSON strings may split a character between deltas."""
        if not self._half and text.isascii():
            return text
        text = join_surrogates(self._half + text)
        self._half = ""
        if "\ud800" <= text[-1:] < "\udc00":
            self._half = text[-1]
            text = text[:-1]
        return text

    def _stop_if_decided(self, text: str) -> None:
        """Stop reading if the text contains a key, or decides what the workflow does with it."""
        self._text.append(text)
        visible = self._watched.feed(text)
        if self._watched.restarted and self._watch:
            self._decides = self._watch()
        if self.kept.holds_key or (self._decides and self._decides(visible) is not None):
            raise StopReading(self._stopped_early)

    def end(self, text: str = "") -> None:
        """Keep the rest.

        Print the end of the line, and `text` without thinking if nothing of it was printed.

        Raises:
            NotReady: it cannot be written or printed.
        """
        self.kept.end()
        if self._print:
            self._print_piece(self._shown.finish())
        if not self._printed:
            self._print_piece(visible_text(text))
        if self._printed and not self._printed.endswith("\n"):
            self._print_piece("\n")

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
            self._progress.restart()
        self._progress.add(text, added)
        is_thinking = self._kind == "thinking" or self._shown.is_thinking
        is_text = self._kind == "text" and not is_thinking
        printing = self._print is not None and bool(text or is_text)  # text may have been held back
        last_printed = text or self._printed
        if self._kind != "text" and last_printed and not last_printed.endswith("\n"):
            text += "\n"
        if not printing:  # end the line of the words before the status line comes back
            self._print_piece(text)
        event = self._progress.event(thinking=is_thinking, printed=printing)
        if self._progress.is_due():
            self._log.emit(event)
        else:
            self._log.show(event)
        if printing:
            self._print_piece(text)

    def _stopped_early(self, call: ModelCall, usage: Usage | None) -> Completion:
        """Return what arrived, with an estimate of the tokens that `usage` does not tell."""
        self.kept.end()  # counts the rest
        usage = usage or Usage()
        input_tokens = usage.input
        if input_tokens is None:
            input_tokens = estimate_tokens(request_text(call.request))
        output_tokens = max(usage.output or 0, self._progress.tokens)
        return Completion(
            message=Message("assistant", (Text("".join(self._text)),)),
            finish=Finish.STOPPED_EARLY,
            finish_detail="stop_early, tokens are estimated",
            usage=replace(usage, input=input_tokens, output=output_tokens),
            model=call.model,
            raw={},
        )

    def _print_piece(self, text: str) -> None:
        if self._print and text:
            self._print(text)
            self._printed = text
