"""The outermost layer: count and log the calls of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields, replace
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
from code_commit.plugin_api.running_code import host_works
from code_commit_workspace import Redactor
from code_commit_workspace.words import shorten

_QUOTED = 200  # characters of a model's refusal
_NOTHING_SPENT = (Usage(0, 0), 0.0)


class CallLog:
    """The calls of one run, numbered in order.

    `print_text` makes what prints the text of a reply, where it is set.
    """

    def __init__(self, log: RunLog, *, numbered: bool) -> None:
        self._log = log
        self._numbered = numbered
        self._count = 0
        self._latest: ContextVar[int] = ContextVar("latest call")
        self._is_own: ContextVar[bool] = ContextVar("own number", default=False)
        self.running: dict[int, ReceivedReply] = {}  # by the number of the call
        self._lock = threading.Lock()
        self.print_text: ContextVar[Callable[[], Print] | None] = ContextVar("print", default=None)
        self.warn = log.add_warning

    @property
    def last_number(self) -> int | None:
        """The number of the latest call, which its build shares.

        It is None without a call, or if files have no numbers. In a worker thread, and in the
        context of one of several calls at once, calls of others do not count.
        """
        if not self._numbered:
            return None
        if self._is_own.get() or threading.current_thread() is not threading.main_thread():
            own_number = self._latest.get(None)
            if own_number:
                return own_number
        return self._count or None

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

    def begin_number(self) -> int:
        """Return the number of a new call, which is the latest one in this context."""
        self._is_own.set(True)
        return self.next_number()

    @host_works()
    def record(
        self,
        call: ModelCall,
        *,
        next: NextLayer,  # noqa: A002
        service: Service,
        watch: Watch | None,
        instead_of: int | None = None,
    ) -> Completion:
        """Log the start and the end of a call. With `watch`, stop a streamed reply early.

        `instead_of` is the number of the failed call in whose place this one is made.
        """
        number = call.number if self._numbered else None
        files = self._log.call_files(number, call.label)
        make_printer = self.print_text.get()
        print_text = make_printer() if make_printer else None
        reply = ReceivedReply(call.number, files, self._log, print_text, watch)
        self.running[call.number] = reply
        try:
            self._log.write_prompt(files.request, request_text(call.request))
            with self._log.nested():
                self._log.emit(
                    CallStarted(
                        number=call.number,
                        label=call.label,
                        provider=call.provider,
                        model=call.model,
                        address=service.address,
                        key_source=service.key_source,
                        request=files.request,
                        instead_of=instead_of,
                    )
                )
                started = time.monotonic()
                finished = None
                try:
                    completion = next(replace(call, progress=reply.take))
                    finished = self._finished(call, reply, completion, time.monotonic() - started)
                    reply.end("" if reply.passed_on else completion.text)
                    self._keep(finished, reply, completion)
                except BaseException as error:
                    self._log.emit(self._failed(call, error, time.monotonic() - started, finished))
                    raise
                if service.definition.free:
                    finished = replace(finished, cost_usd=0.0)
                self._log.emit(finished)
        finally:
            del self.running[call.number]
        return completion

    def count_answer(self, call: ModelCall, completion: Completion) -> Completion:
        """Keep what an answer of the service cost.

        A plugin's layer may ask again, fail after it, or change it.
        """
        # A thread of a layer may get its answer after the call.
        reply = self.running.get(call.number)
        if reply and not completion.cached:
            reply.spent.append((completion.usage, completion.cost))
        return completion

    def pass_on(self, call: ModelCall) -> None:
        """Note that another model answers a call: that call has the tokens and the cost."""
        if reply := self.running.get(call.number):
            reply.passed_on = True
            reply.spent.append(_NOTHING_SPENT)

    def retried(self, call: ModelCall, number: int, wait: float, reason: str) -> None:
        """Log that the try `number` failed and the next one starts after `wait` seconds.

        Keep what arrived of it.
        """
        self.running[call.number].begin_next_try()
        self._log.emit(CallRetried(call.number, number, wait=wait, reason=reason))

    def _failed(
        self,
        call: ModelCall,
        error: BaseException,
        seconds: float,
        paid: CallFinished | None,
    ) -> CallFinished:
        """Write the files of a failed call, and return its event.

        With `paid`, its completion cannot be written.
        """
        message = as_reported(error).message
        reply = self.running[call.number]
        with suppress(CodeCommitError):  # it is the error already, or the next write fails, too
            reply.end()
        arrived = self._arrived(reply, error.__cause__)
        with suppress(CodeCommitError):  # a full disk
            self._log.write(reply.files.response, failure_text(message) + arrived, replaces=True)
        if paid:
            return replace(paid, finish=None, finish_detail="", parts=None, error=message)
        # These two are raised before a try is sent, so the first try of a call costs nothing.
        unsent = isinstance(error, LimitReached | NotReady) and not reply.lost_tries
        answer = _NOTHING_SPENT if unsent else (Usage(), None)
        return CallFinished(
            number=call.number,
            label=call.label,
            model=call.model,
            finish=None,
            finish_detail="",
            seconds=round(seconds, 3),
            **_sums(reply.spent or [answer]),
            response=reply.files.response,
            error=message,
            error_kind=error.kind if isinstance(error, ProviderFailed) else None,
        )

    def _arrived(self, reply: ReceivedReply, cause: BaseException | None) -> str:
        """Return the text of a failed reply, or else what the service said instead."""
        if reply.kept.has_text:
            return (self._log.folder / reply.files.response).read_bytes().decode()
        if isinstance(cause, ProviderError):
            return cause.body
        return ""

    def _keep(self, finished: CallFinished, reply: ReceivedReply, completion: Completion) -> None:
        """Write the files of a completion."""
        text = completion.text
        if reason := refusal(completion, finished.number, self._log.redactor):
            text = failure_text(reason) + text
        self._log.write(reply.files.response, text, replaces=reply.kept.has_text)
        if not reply.kept.has_events:
            self._log.write_json(reply.files.raw, completion.raw)
        if finished.parts:
            from code_commit.plugin_api.parts_as_json import parts_to_json

            self._log.write_json(finished.parts, parts_to_json(completion.message.parts))

    def _finished(
        self,
        call: ModelCall,
        reply: ReceivedReply,
        completion: Completion,
        took: float,
    ) -> CallFinished:
        """Return the event of a completion."""
        is_text = all(isinstance(part, Text) for part in completion.message.parts)
        answer = _NOTHING_SPENT if completion.cached else (completion.usage, completion.cost)
        return CallFinished(
            number=call.number,
            label=call.label,
            model=call.model if reply.passed_on else completion.model,
            finish=completion.finish.value,
            finish_detail=completion.finish_detail,
            seconds=round(took, 3),
            **_sums(reply.spent or [answer]),
            response=reply.files.response,
            parts=None if is_text else reply.files.parts,
        )


def _sums(answers: Sequence[tuple[Usage, float | None]]) -> dict[str, Any]:
    """Return the tokens and the cost of all answers, as fields of the event.

    A field is None if no service told its value.
    """
    sums: dict[str, Any] = {"cost_usd": _sum(cost for _, cost in answers)}
    for field in fields(Usage):
        counts = (getattr(usage, field.name) for usage, _ in answers)
        sums[f"{field.name}_tokens"] = _sum(counts)
    return sums


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are known, or None without any."""
    known_values = [value for value in values if value is not None]
    if not known_values:
        return None
    return sum(known_values)


def refusal(completion: Completion, number: int, redactor: Redactor) -> str:
    """Return why there is no answer: the model refused, or the service filtered it.

    The text is empty for every other completion.
    """
    if completion.finish not in {Finish.REFUSED, Finish.FILTERED}:
        return ""
    call = f"call {number} ({completion.finish_detail})"
    if completion.finish is Finish.FILTERED:
        return f"{completion.model} filtered {call}"
    words = " ".join(redactor.text(visible_text(completion.text)).split())
    if not words:
        return f"{completion.model} refused {call}"
    return f'{completion.model} refused {call}: "{shorten(words, _QUOTED)}"'
