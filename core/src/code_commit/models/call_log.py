"""The outermost layer: count and log the calls of a run."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import astuple, fields, replace
from typing import Any

from code_commit.log.run_log import RunLog, failure_text
from code_commit.models.leaked_thinking import visible_text
from code_commit.models.received_reply import Print, ReceivedReply
from code_commit.models.resolution import Service
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    ProviderError,
    Text,
    Usage,
    request_text,
)
from code_commit.plugin_api.errors import (
    CodeCommitError,
    LimitReached,
    NotReady,
    ProviderFailed,
    as_reported,
)
from code_commit.plugin_api.event import CallFinished, CallRetried, CallStarted
from code_commit.plugin_api.provider import ModelCall, NextLayer, Watch
from code_commit_workspace import Redactor
from code_commit_workspace.words import shorten

_QUOTED = 200  # characters of a model's refusal


class CallLog:
    """The calls of one run, numbered in order.

    `print_text` prints the text of replies, where it is set.
    """

    def __init__(self, log: RunLog, *, numbered: bool) -> None:
        self._log = log
        self._numbered = numbered
        self._count = 0
        self._latest: ContextVar[int] = ContextVar("latest call")
        self.running: dict[int, ReceivedReply] = {}  # by the number of the call
        self._lock = threading.Lock()
        self.print_text: ContextVar[Print | None] = ContextVar("print", default=None)
        self.warn = log.add_warning

    @property
    def last_number(self) -> int | None:
        """The number of the latest call, which its build shares; None without a call, or if files
        have no numbers.

        In a worker thread, calls of other threads do not count.
        """
        own = (
            None
            if threading.current_thread() is threading.main_thread()
            else self._latest.get(None)
        )
        return (own or self._count or None) if self._numbered else None

    @property
    def has_calls(self) -> bool:
        """Whether a call was made."""
        return self._count > 0

    def next_number(self) -> int:
        """Return the number of a new call."""
        with self._lock:
            self._count = number = self._count + 1
        self._latest.set(number)
        return number

    def record(
        self,
        call: ModelCall,
        *,
        next: NextLayer,  # noqa: A002
        service: Service,
        watch: Watch | None,
    ) -> Completion:
        """Log the start and the end of a call. With `watch`, stop a streamed reply early."""
        files = self._log.call_files(call.number if self._numbered else None, call.label)
        reply = ReceivedReply(call.number, files, self._log, self.print_text.get(), watch)
        self.running[call.number] = reply
        try:
            self._log.write(files.request, request_text(call.request))
            with self._log.nested():
                of_call = (call.number, call.label, call.provider, call.model)
                self._log.emit(
                    CallStarted(*of_call, service.address, service.key_source, files.request)
                )
                started, finished = time.monotonic(), None
                try:
                    completion = next(replace(call, progress=reply.take))
                    finished = self._finished(call, reply, completion, time.monotonic() - started)
                    reply.end(completion.text)
                    self._keep(finished, reply, completion)
                except BaseException as error:
                    self._log.emit(self._failed(call, error, time.monotonic() - started, finished))
                    raise
                self._log.emit(
                    replace(finished, cost_usd=0.0) if service.definition.free else finished
                )
        finally:
            del self.running[call.number]
        return completion

    def count_answer(self, call: ModelCall, completion: Completion) -> Completion:
        """Keep what an answer of the service cost: a plugin's layer may ask again, fail after it,
        or change it.
        """
        # A thread of a layer may get its answer after the call.
        reply = self.running.get(call.number)
        if reply and not completion.cached:
            reply.spent.append((completion.usage, completion.cost))
        return completion

    def retried(self, call: ModelCall, number: int, wait: float, reason: str) -> None:
        """Log that the try `number` failed and the next one starts after `wait` seconds.

        Keep what arrived of it.
        """
        self.running[call.number].begin_next_try()
        self._log.emit(CallRetried(call.number, number, wait, reason))

    def _failed(
        self, call: ModelCall, error: BaseException, seconds: float, paid: CallFinished | None
    ) -> CallFinished:
        """Write the files of a failed call, and return its event.

        With `paid`, its completion cannot be written.
        """
        message, cause, reply = (
            as_reported(error).message,
            error.__cause__,
            self.running[call.number],
        )
        with suppress(CodeCommitError):  # it is the error already, or the next write fails, too
            reply.end()
        body = cause.body if isinstance(cause, ProviderError) else ""
        arrived = (
            (self._log.folder / reply.files.response).read_bytes().decode()
            if reply.kept.has_text
            else body
        )
        with suppress(CodeCommitError):  # a full disk
            self._log.write(reply.files.response, failure_text(message) + arrived, replaces=True)
        if paid:
            return replace(paid, finish=None, finish_detail="", parts=None, error=message)
        # These two are raised before a try is sent, so the first try of a call costs nothing.
        unsent = isinstance(error, LimitReached | NotReady) and not reply.lost_tries
        spent = reply.spent or [(Usage(0, 0), 0.0) if unsent else (Usage(), None)]
        kind = error.kind if isinstance(error, ProviderFailed) else None
        ended = (call.number, call.label, call.model, None, "", round(seconds, 3))
        return CallFinished(
            *ended, **_sums(spent), response=reply.files.response, error=message, error_kind=kind
        )

    def _keep(self, finished: CallFinished, reply: ReceivedReply, completion: Completion) -> None:
        """Write the files of a completion."""
        files, refused = reply.files, refusal(completion, finished.number, self._log.redactor)
        text = failure_text(refused) + completion.text if refused else completion.text
        self._log.write(files.response, text, replaces=reply.kept.has_text)
        if not reply.kept.has_events:
            self._log.write_json(files.raw, completion.raw)
        if finished.parts:
            from code_commit.plugin_api.run_files import parts_to_json

            self._log.write_json(finished.parts, parts_to_json(completion.message.parts))

    def _finished(
        self, call: ModelCall, reply: ReceivedReply, completion: Completion, took: float
    ) -> CallFinished:
        """Return the event of a completion."""
        parts = (
            None
            if all(isinstance(part, Text) for part in completion.message.parts)
            else reply.files.parts
        )
        spent = reply.spent or [
            (Usage(0, 0), 0.0) if completion.cached else (completion.usage, completion.cost)
        ]
        of_call, how = (
            (call.number, call.label, completion.model),
            (completion.finish.value, completion.finish_detail),
        )
        return CallFinished(
            *of_call,
            *how,
            round(took, 3),
            **_sums(spent),
            response=reply.files.response,
            parts=parts,
        )


def _sums(spent: list[tuple[Usage, float | None]]) -> dict[str, Any]:
    """Return the tokens and the cost of all answers, as fields of the event; None for what no
    service told.
    """
    names = [*(f"{each.name}_tokens" for each in fields(Usage)), "cost_usd"]
    rows = zip(*((*astuple(usage), cost) for usage, cost in spent), strict=True)
    told = ([each for each in row if each is not None] for row in rows)
    return {name: sum(row) if row else None for name, row in zip(names, told, strict=True)}


def refusal(completion: Completion, number: int, redactor: Redactor) -> str:
    """Return a message if the model refused or the service filtered the completion, else an empty
    text.
    """
    if completion.finish not in {Finish.REFUSED, Finish.FILTERED}:
        return ""
    what = f"call {number} ({completion.finish_detail})"
    if completion.finish is Finish.FILTERED:
        return f"{completion.model} filtered {what}"
    words = " ".join(redactor.text(visible_text(completion.text)).split())
    quoted = f': "{shorten(words, _QUOTED)}"' if words else ""
    return f"{completion.model} refused {what}{quoted}"
