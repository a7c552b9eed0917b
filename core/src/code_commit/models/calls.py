"""What every model call goes through: keys taken out, cost bounded, prompt and reply logged, reply judged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from code_commit.log import CallFiles, RunLog, failure_text
from code_commit.models.budget import Budget, Reservation
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from code_commit.plugin_api.conversation_json import parts_to_json
from code_commit.plugin_api.errors import CodeCommitError, ProviderFailed, ResponseRefused
from code_commit.plugin_api.event import CallFinished, CallRetried, CallStarted, MessageLogged
from code_commit.plugin_api.transcript import request_text

# What is sent as `max_tokens` when a limit on cost needs a bound and the configuration names none.
_BOUND = 32_000
_QUOTED = 200  # characters of what a model says when it refuses


class Redacts(Protocol):
    """What hides live keys."""

    def text(self, text: str, /) -> str:
        """Return `text` without keys."""
        ...

    def holds_key(self, text: str, /) -> bool:
        """Tell whether a live key stands in `text`, in any of its forms."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked, as the log tells it. `max_tokens` is the configured bound of a reply, if there is one."""

    provider: str
    model: str
    address: str = ""
    key_source: str = ""
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CallCost:
    """What is held back for one call while it is under way; `settle` and `release` give it up."""

    budget: Budget
    reservation: Reservation

    def settle(self, usage: Usage) -> float:
        """Count what was used, all of it where that is not told; returns USD."""
        return self.budget.settle(self.reservation, usage)

    def release(self) -> None:
        """The call took nothing."""
        self.budget.release(self.reservation)


Ask = Callable[[Request, int, CallCost | None], Completion]
"""Makes a call, given the request, its number and its cost; settles the cost itself when it raises."""


class Calls:
    """The calls of one run, in the order they were made."""

    def __init__(self, log: RunLog, redactor: Redacts, *, budget: Budget | None, numbered: bool) -> None:
        self._log = log
        self._redactor = redactor
        self._budget = budget
        self._numbered = numbered
        self._count = 0
        self._latest: ContextVar[int] = ContextVar("latest call")
        self._lock = threading.Lock()
        self._under_way = 0
        self._over = threading.Condition(self._lock)

    @property
    def last_number(self) -> int | None:
        """The number of the latest call, which its build shares; None where there is none, or files have no numbers.

        In a thread of its own, that is the latest call of its context: other threads' calls are not its business.
        """
        own = None if threading.current_thread() is threading.main_thread() else self._latest.get(None)
        return (own or self._count or None) if self._numbered else None

    def make(self, asked: Asked, request: Request, label: str, ask: Ask) -> Completion:
        """Log, bound and judge one call; `ask` makes it.

        Raises:
            CodeCommitError: it failed, was refused or filtered, could pass the limit, or came back with a live key.
        """
        request = _without_keys(request, self._redactor)
        text = request_text(request)
        cost = None
        if self._budget:
            bound = request.max_tokens or asked.max_tokens or _BOUND
            request = replace(request, max_tokens=bound)
            held = self._budget.reserve(asked.model, input_bytes=_size(request, text), max_tokens=bound)
            cost = CallCost(self._budget, held)
        with self._one_more() as number:
            completion = self._made(asked, request, text, label, ask, number, cost)
        return self._judged(completion, number)

    def wait_until_over(self, seconds: float) -> bool:
        """Wait until no thread has a call under way; False when that takes longer."""
        with self._over:
            return self._over.wait_for(lambda: not self._under_way, seconds)

    @contextmanager
    def _one_more(self) -> Iterator[int]:
        with self._lock:
            self._count += 1
            self._under_way += 1
            number = self._count
        self._latest.set(number)
        try:
            yield number
        finally:
            with self._over:
                self._under_way -= 1
                self._over.notify_all()

    def _made(
        self, asked: Asked, request: Request, text: str, label: str, ask: Ask, number: int, cost: CallCost | None
    ) -> Completion:
        """Make one call, and put on record how it began and ended."""
        files = self._log.call_files(number if self._numbered else None, label)
        self._log.write(files.request, text)
        with self._log.nested():
            self._log.emit(
                CallStarted(number, label, asked.provider, asked.model, asked.address, asked.key_source, files.request)
            )
            began = time.monotonic()
            try:
                completion = ask(request, number, cost)
            except BaseException as error:
                message = _told(error)
                self._log.write(files.response, failure_text(message))
                failed = CallFinished(number, label, asked.model, None, "", time.monotonic() - began, None, None)
                self._log.emit(replace(failed, response=files.response, error=message, error_kind=_kind(error)))
                raise
            self._record(number, label, files, completion, time.monotonic() - began, cost)
        return completion

    def retried(self, number: int, attempt: int, wait: float, reason: str) -> None:
        """Tell of a try that is repeated after `wait` seconds."""
        self._log.emit(CallRetried(number, attempt, wait, reason))

    def differs(self, number: int, run: str) -> None:
        """Tell that a replayed call was asked something else than the recorded one."""
        self._log.emit(MessageLogged(f"call {number} asks something else than it did in {run}", level="warning"))

    def _record(
        self,
        number: int,
        label: str,
        files: CallFiles,
        completion: Completion,
        seconds: float,
        cost: CallCost | None,
    ) -> None:
        refusal = _refusal(completion, number)
        self._log.write(files.response, failure_text(refusal) + completion.text if refusal else completion.text)
        self._log.write_json(files.raw, completion.raw)
        parts = None
        if any(not isinstance(part, Text) for part in completion.message.parts):
            parts = files.parts
            self._log.write_json(parts, parts_to_json(completion.message.parts))
        usage = completion.usage
        self._log.emit(
            CallFinished(
                number,
                label,
                completion.model,
                completion.finish.value,
                completion.finish_detail,
                round(seconds, 3),
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write,
                usage.reasoning,
                cost.settle(usage) if cost else None,
                files.response,
                parts,
            )
        )

    def _judged(self, completion: Completion, number: int) -> Completion:
        said = [completion.text, *(call.raw or str(call.arguments) for call in completion.tool_calls)]
        if any(self._redactor.holds_key(text) for text in said):
            raise ResponseRefused(
                f"the reply to call {number} holds a live API key",
                hint="look where the model saw it: the query, the code rollup, the output of the build",
            )
        if refusal := _refusal(completion, number):
            raise ProviderFailed(refusal, hint="word the query differently, or ask another model")
        return completion


def _refusal(completion: Completion, number: int) -> str:
    """Say that the service would not answer; nothing where it did."""
    if completion.finish not in {Finish.REFUSED, Finish.FILTERED}:
        return ""
    told = f"call {number} ({completion.finish_detail})"
    if completion.finish is Finish.FILTERED:
        return f"{completion.model} filtered {told}"
    words = " ".join(completion.text.split())
    quoted = f': "{words[:_QUOTED]}{"…" * (len(words) > _QUOTED)}"' if words else ""
    return f"{completion.model} refused {told}{quoted}"


def _without_keys(request: Request, redactor: Redacts) -> Request:
    def clean(part: Part) -> Part:
        match part:
            case Text() | ToolResult():
                return replace(part, text=redactor.text(part.text))
            case _:
                return part

    messages = tuple(Message(each.role, tuple(map(clean, each.parts))) for each in request.messages)
    return replace(request, messages=messages, system=redactor.text(request.system))


def _size(request: Request, text: str) -> int:
    """Bytes that the service may count tokens of: all words, and the schemas of the tools."""
    tools = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
    calls = sum(len(part.raw or str(part.arguments)) for each in request.messages for part in each.parts
                if isinstance(part, ToolCall))  # fmt: skip
    return len(text.encode("utf-8", "replace")) + tools + calls


def _kind(error: BaseException) -> str | None:
    return error.kind if isinstance(error, ProviderFailed) else None


def _told(error: BaseException) -> str:
    if isinstance(error, CodeCommitError):
        return error.message
    return "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
