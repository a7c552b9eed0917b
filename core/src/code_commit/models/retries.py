"""Several tries at one call: which errors are worth another, how long to wait before it, when to give up."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from code_commit.plugin_api.conversation import Completion, ProviderError, Request
from code_commit.plugin_api.provider import Call, Provider

_MAY_PASS = frozenset({"rate", "server", "network"})
_FIRST_WAIT = 1.0
_LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 60.0

OnRetry = Callable[[int, float, str], None]
"""Called before a wait, with the number of the try that failed, the seconds to wait, and why."""


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A `Call` with a deadline on `time.monotonic()`; what arrives so far goes to `on_progress`."""

    deadline: float
    on_progress: Callable[[str], None] | None = None

    def progress(self, text_delta: str) -> None:
        """Tell what has arrived so far."""
        if self.on_progress is not None:
            self.on_progress(text_delta)


def complete_with_retries(
    provider: Provider,
    request: Request,
    call: Call,
    *,
    max_retries: int = 4,
    on_retry: OnRetry | None = None,
    cancelled: threading.Event | None = None,
) -> Completion:
    """Try until there is a completion: once, and up to `max_retries` times more, all before `call.deadline`.

    Errors of kind rate, server and network are tried again, after as long as the service asks for, else after a random
    part of a doubling interval (full jitter). `cancelled`, set from another thread, ends a wait.

    Raises:
        ProviderError: the last try's, with the reason why there was no other.
    """
    plan = _Plan(call.deadline, max_retries, on_retry, cancelled or threading.Event())
    try:
        try:
            return provider.complete(request, call)
        except ProviderError as error:
            if not plan.again(error):
                raise
        return _again(provider, request, call, plan, max_retries)
    except ProviderError as error:
        if not plan.given_up:
            raise
        raise ProviderError(
            f"{error} ({plan.given_up})", kind=error.kind, retry_after=error.retry_after, raw=error.raw
        ) from None


def _again(provider: Provider, request: Request, call: Call, plan: _Plan, tries: int) -> Completion:
    """Try up to `tries` times, each after its wait."""
    import stamina  # most calls need no second try, and it takes a while to import
    import stamina.instrumentation

    # Its default hooks log the exception to wherever structlog or logging happen to lead.
    stamina.instrumentation.set_on_retry_hooks(())
    # The waiting is ours, as stamina can neither wait for an event nor draw from the whole interval.
    for attempt in stamina.retry_context(
        on=plan.again, attempts=tries, timeout=None, wait_initial=0, wait_max=0, wait_jitter=0
    ):
        with attempt:
            plan.wait()
            return provider.complete(request, call)
    raise AssertionError("stamina ended without a result")  # pragma: no cover


class _Plan:
    """The tries of one call: how many there were, and the wait before the next."""

    def __init__(self, deadline: float, max_retries: int, on_retry: OnRetry | None, cancelled: threading.Event) -> None:
        self._deadline = deadline
        self._max_retries = max_retries
        self._on_retry = on_retry
        self._cancelled = cancelled
        self._failed = 0
        self._wait = 0.0
        self.given_up = ""

    def again(self, error: Exception) -> bool:
        """Whether to try again after `error`."""
        if not isinstance(error, ProviderError) or error.kind not in _MAY_PASS or self._cancelled.is_set():
            return False
        self._failed += 1
        if self._failed > self._max_retries:
            self.given_up = f"gave up after {self._failed} tries" if self._failed > 1 else ""
            return False
        backoff = min(_LONGEST_BACKOFF, _FIRST_WAIT * 2.0 ** (self._failed - 1))
        wait = random.uniform(0, backoff)  # noqa: S311 - spreads clients, guards nothing
        if error.retry_after is not None:
            wait = error.retry_after
        if wait > LONGEST_WAIT:
            self.given_up = f"gave up: the service asks to wait {wait:.0f} s, more than {LONGEST_WAIT:.0f} s"
            return False
        if time.monotonic() + wait >= self._deadline:
            self.given_up = "gave up: the time limit of the call leaves no other try"
            return False
        self._wait = wait
        if self._on_retry is not None:
            self._on_retry(self._failed, wait, str(error))
        return True

    def wait(self) -> None:
        """Wait before the next try, unless cancelled."""
        if self._wait and self._cancelled.wait(self._wait):
            raise ProviderError("the call was ended", kind="rejected")
