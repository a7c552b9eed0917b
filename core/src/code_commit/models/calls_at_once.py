"""Several calls at once: each in a thread of its own, and their answers in the order of arrival."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue

from code_commit.log.run_log import RunLog
from code_commit.models.chain import ChainedModel
from code_commit.plugin_api.conversation import Completion, Request
from code_commit.plugin_api.event import CallArrived
from code_commit.plugin_api.prompt_size import PromptPart, PromptSize
from code_commit.plugin_api.provider import Watch
from code_commit.plugin_api.running_code import host_works
from code_commit_workspace import STOP, Scope

_Complete = Callable[[], Completion]


@dataclass(frozen=True, slots=True)
class ArrivedCall:
    """The end of one of several calls. Implements `Arrival`."""

    number: int
    context: Context = field(repr=False)
    result: _Complete = field(repr=False)


class ConcurrentCalls:
    """Starts calls, which end with `scope`, and yields them as they end. Implements `CallsAtOnce`.

    The calls to a recorded run are not made in threads, but one after the other in the order in
    which they arrived there, so that a replay takes them in this order.
    """

    def __init__(self, log: RunLog, scope: Scope) -> None:
        self._log = log
        self._scope = scope
        self._ended: SimpleQueue[ArrivedCall] = SimpleQueue()
        self._running: set[int] = set()
        self._recorded: dict[int, Callable[[], ArrivedCall]] = {}
        self._choose: Callable[[Sequence[int]], int] = min

    def start(
        self,
        model: ChainedModel,
        request: Request,
        *,
        label: str,
        watch: Watch | None = None,
        parts: Sequence[PromptPart] = (),
    ) -> int:
        """Start a call. Implements `CallsAtOnce.start`."""
        size = PromptSize.of(request, parts)
        model.require_fit(size)
        context = copy_context()
        number = context.run(model.models.log.begin_number)
        complete = partial(
            model.complete_call,
            request,
            number,
            size,
            label=label,
            watch=watch,
            scope=self._scope,
        )
        make = partial(_make, number, context, complete)
        choose = getattr(model.service.provider, "next_arrival", None)
        if choose is None:
            self._running.add(number)
            threading.Thread(
                target=lambda: self._ended.put(make()), name=f"call {number}", daemon=True
            ).start()
        else:
            self._choose = choose
            self._recorded[number] = make
        return number

    def __iter__(self) -> Iterator[ArrivedCall]:
        while self._running or self._recorded:
            arrived = self._next()
            self._log.emit(CallArrived(arrived.number))
            yield arrived

    def _next(self) -> ArrivedCall:
        if self._recorded:
            number = self._choose(tuple(self._recorded))
            return self._recorded.pop(number)()
        with host_works():
            arrived = STOP.get(self._ended)
        self._running.discard(arrived.number)
        return arrived


def _make(number: int, context: Context, complete: _Complete) -> ArrivedCall:
    """Make a call in its context, and return its end."""
    try:
        completion = context.run(complete)
    except BaseException as error:  # noqa: BLE001 - raised by `result`
        return ArrivedCall(number, context, partial(_raise, error))
    return ArrivedCall(number, context, lambda: completion)


def _raise(error: BaseException) -> Completion:
    raise error
