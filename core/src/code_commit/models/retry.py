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
    "auth": "check that the key is for this service, and that its account may use the service and the model",
    "quota": "check the plan and billing of your account",
    "rate": "wait, or use another model",
    "network": "check the connection and the address",
    "server": "the service has a problem: try again later, or use another model",
    "rejected": "check the name of the model, the config and address of the provider, and the size of the prompt",
    "invalid_response": "check the address; if it is right, the provider's plugin has a bug, and --debug shows where",
}
_KEYLESS = "no key was sent to this address: set api_key or api_key_file in the provider's config"
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
    keyless: bool = False,
) -> Completion:
    """Try once, and retry up to `retries` times before the call's deadline. `keyless` is whether no key is sent.

    Errors of kind rate, server and network are retried after the time that the service asks for, else after a random
    part of a doubling interval (full jitter).

    Raises:
        ProviderFailed: the error of the last try, and why it is not retried.
        Interrupted: the run ended.
    """
    call.wait(0)  # raise if the run ended
    for number in itertools.count(1):
        try:
            return next(call)
        except ProviderError as error:
            call.wait(0)  # a workflow may catch a `ProviderFailed`
            wait = error.retry_after
            if wait is None:
                wait = random.uniform(0, min(_LONGEST_BACKOFF, _FIRST_WAIT * 2.0 ** (number - 1)))  # noqa: S311
            reason = _reason_to_stop(error, number, retries, wait, call.deadline)
            if reason is not None:
                hint = _KEYLESS if keyless and error.kind == "auth" else HINTS[error.kind]
                raise ProviderFailed(f"{call.model}: {error}{reason}", hint=hint, kind=error.kind) from error
            report(call, number, wait, str(error))
            call.wait(wait)
    raise AssertionError("counting does not end")


def _reason_to_stop(error: ProviderError, number: int, retries: int, wait: float, deadline: float) -> str | None:
    """Return the end of the error message if the try `number` was the last one, or None."""
    if error.kind not in _RETRIED or retries == 0:
        return ""
    if number > retries:
        return f" (gave up after {number} tries)"
    if wait > LONGEST_RETRY_AFTER:
        return f" (gave up: the service asks to wait {wait:.0f} s, more than {LONGEST_RETRY_AFTER:.0f} s)"
    if time.monotonic() + wait >= deadline:
        return " (gave up: no time is left for another try)"
    return None
