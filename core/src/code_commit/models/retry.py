"""The layers that limit the time of a call and retry it.

No library: with tenacity, what stops the retries, how long they wait and what the error says would all stay our code.
"""

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
    "auth": "check the key: that it is one for this service, and that its account may use the service and the model",
    "quota": "look at the plan and the billing of your account",
    "rate": "wait a while, or ask another model",
    "network": "check the connection and the address",
    "server": "the service is in trouble: try again later, or ask another model",
    "rejected": "check the model's name, the provider's config and its address, and the size of the prompt",
    "invalid_response": "check the address; if it is right, the provider's plugin is at fault, and --debug shows where",
}
HINTS_WITHOUT_KEY = {
    **HINTS,
    "auth": "no key was sent to this address: name one by api_key or api_key_file in the provider's config",
}
LONGEST_RETRY_AFTER = 60.0  # seconds that a service may ask to wait
_RETRIED = frozenset({"rate", "server", "network"})
_FIRST_WAIT = 1.0
_LONGEST_BACKOFF = 30.0

Report = Callable[[ModelCall, int, float, str], None]
"""Called before a wait with the number of the failed try, the seconds to wait, and the reason of the failure."""


def deadline(call: ModelCall, *, next: NextLayer, seconds: float) -> Completion:  # noqa: A002
    """Limit the call to `seconds` for all its tries."""
    return next(replace(call, deadline=time.monotonic() + seconds))


def retry(
    call: ModelCall,
    *,
    next: NextLayer,  # noqa: A002
    retries: int,
    report: Report,
    hints: Mapping[str, str] = HINTS,
) -> Completion:
    """Try once, and retry up to `retries` times before the call's deadline.

    Errors of kind rate, server and network are retried after the time that the service asks for, else after a random
    part of a doubling interval (full jitter).

    Raises:
        ProviderFailed: the error of the last try, and why it is not retried.
        Interrupted: the run ended.
    """
    wait = 0.0
    for number in itertools.count(1):
        call.wait(wait)
        try:
            return next(call)
        except ProviderError as error:
            call.wait(0)  # raise if the run ended: a workflow may catch a `ProviderFailed`
            try:
                wait = _wait_after(error, number, retries, call.deadline)
            except _GiveUp as given_up:
                message = f"{call.model}: {error}{given_up}"
                raise ProviderFailed(message, hint=hints[error.kind], kind=error.kind) from error
            report(call, number, wait, str(error))
    raise AssertionError("counting does not end")


class _GiveUp(Exception):  # noqa: N818
    """The call is not retried. The text is the end of the error message."""


def _wait_after(error: ProviderError, number: int, retries: int, deadline: float) -> float:
    """Return the seconds to wait after the failed try `number`, or raise `_GiveUp`."""
    if error.kind not in _RETRIED:
        raise _GiveUp
    if number > retries:
        raise _GiveUp(f" (gave up after {number} tries)" if number > 1 else "")
    backoff = min(_LONGEST_BACKOFF, _FIRST_WAIT * 2.0 ** (number - 1))
    wait = random.uniform(0, backoff)  # noqa: S311 - spreads clients, guards nothing
    if error.retry_after is not None:
        wait = error.retry_after
    if wait > LONGEST_RETRY_AFTER:
        raise _GiveUp(f" (gave up: the service asks to wait {wait:.0f} s, more than {LONGEST_RETRY_AFTER:.0f} s)")
    if time.monotonic() + wait >= deadline:
        raise _GiveUp(" (gave up: the time limit of the call leaves no other try)")
    return wait
