"""The layers that bound a call in time and try again what may pass."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from code_commit.plugin_api.conversation import Completion, ProviderError
from code_commit.plugin_api.errors import ProviderFailed
from code_commit.plugin_api.provider import ModelCall, NextLayer

HINTS: Mapping[str, str] = {
    "auth": "check the key: that it is one for this service, and allowed to use this model",
    "quota": "look at the plan and the billing of your account",
    "rate": "wait a while, or ask another model",
    "network": "check the connection and the address",
    "server": "the service is in trouble: try again later, or ask another model",
    "rejected": "check the model's name, the provider's config and its address, and the size of the prompt",
    "invalid_response": "what answered is not the service that was expected: check the address",
}
HINTS_WITHOUT_KEY = {
    **HINTS,
    "auth": "no key was sent to this address: name one by api_key or api_key_file in the provider's config",
}
LONGEST_WAIT = 60.0
_MAY_PASS = frozenset({"rate", "server", "network"})
_FIRST_WAIT = 1.0
_LONGEST_BACKOFF = 30.0

Report = Callable[[ModelCall, int, float, str], None]
"""Called before a wait, with the number of the try that failed, the seconds to wait, and why it failed."""


def deadline(call: ModelCall, *, next: NextLayer, seconds: float) -> Completion:  # noqa: A002
    """Give the call `seconds`, for all of its tries together."""
    return next(replace(call, deadline=time.monotonic() + seconds))


def retry(
    call: ModelCall,
    *,
    next: NextLayer,  # noqa: A002
    retries: int,
    report: Report,
    hints: Mapping[str, str] = HINTS,
) -> Completion:
    """Try once, and up to `retries` times more, all before the call's deadline.

    Errors of kind rate, server and network are tried again, after as long as the service asks for, else after a random
    part of a doubling interval (full jitter).

    Raises:
        ProviderFailed: the last try's error, and why there was no other.
        Interrupted: the run ended.
    """
    wait = 0.0
    for attempt in itertools.count(1):
        call.wait(wait)
        try:
            return next(call)
        except ProviderError as error:
            call.wait(0)  # the end of the run looks like a failure of the call, which a workflow may catch
            try:
                wait = _wait_after(error, attempt, retries, call.deadline)
            except _GivenUp as given_up:
                message = f"{call.model}: {error}{given_up}"
                raise ProviderFailed(message, hint=hints[error.kind], kind=error.kind) from error
            report(call, attempt, wait, str(error))
    raise AssertionError("counting does not end")


class _GivenUp(Exception):  # noqa: N818
    """There is no other try; the text says why, for the end of the error's message."""


def _wait_after(error: ProviderError, attempt: int, retries: int, deadline: float) -> float:
    """Return the seconds to wait before the next try."""
    if error.kind not in _MAY_PASS:
        raise _GivenUp
    if attempt > retries:
        raise _GivenUp(f" (gave up after {attempt} tries)" if attempt > 1 else "")
    backoff = min(_LONGEST_BACKOFF, _FIRST_WAIT * 2.0 ** (attempt - 1))
    wait = random.uniform(0, backoff)  # noqa: S311 - spreads clients, guards nothing
    if error.retry_after is not None:
        wait = error.retry_after
    if wait > LONGEST_WAIT:
        raise _GivenUp(f" (gave up: the service asks to wait {wait:.0f} s, more than {LONGEST_WAIT:.0f} s)")
    if time.monotonic() + wait >= deadline:
        raise _GivenUp(" (gave up: the time limit of the call leaves no other try)")
    return wait
