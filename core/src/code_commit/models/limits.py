"""The layers that limit a call: its time, its tries, and with `--max-cost` its cost.

No library: with tenacity, what stops the retries, how long they wait and what the error says would
all stay our code.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    ProviderError,
    Request,
    Usage,
    cost_of,
)
from code_commit.plugin_api.errors import LimitReached, NotReady, ProviderFailed
from code_commit.plugin_api.prompt_size import sendable_text
from code_commit.plugin_api.provider import ModelCall, NextLayer
from code_commit.plugin_api.tokens import most_tokens
from code_commit_workspace.words import count_of

HINTS: Mapping[str, str] = {
    "auth": "check that the key is for this service, "
    "and that its account may use the service and the model",
    "quota": "check the plan and billing of your account",
    "rate": "wait, or use another model",
    "network": "check the connection and the address",
    "server": "the service has a problem: try again later, or use another model",
    "rejected": "check the name of the model, the config and address of the provider, "
    "and the size of the prompt",
    "invalid_response": "check the address; if it is right, the provider's plugin has a bug, "
    "and --debug shows where",
}
_KEYLESS = "no key was sent to this address: set api_key or api_key_file in the provider's config"
LONGEST_RETRY_AFTER = 60.0  # seconds that a service may ask to wait
_RETRIED = frozenset({"rate", "server", "network"})
_NEEDS_A_PERSON = frozenset({"auth", "quota"})
_FIRST_WAIT = 1.0
_LONGEST_BACKOFF = 30.0
# A limit on cost needs a limit on the completion. This one is sent if the request and the
# configuration have none.
_MAX_TOKENS = 32_000
# After any other error, the service may charge for the request.
_COSTS_NOTHING = frozenset({"auth", "quota", "rate", "rejected"})

_FOUR_DECIMALS = 0.001  # USD, from which four decimals suffice

Report = Callable[[ModelCall, int, float, str], None]
"""Called before a wait: the number of the failed try, the seconds to wait, and the reason."""

Count = Callable[[ModelCall], int | None] | None


def deadline(
    call: ModelCall,
    *,
    next: NextLayer,  # noqa: A002
    seconds: float,
    count: Callable[..., Completion],
) -> Completion:
    """Limit the call to `seconds` for all its tries, and `count` the answer."""
    return count(call, next(replace(call, deadline=time.monotonic() + seconds)))


def retry(
    call: ModelCall,
    *,
    next: NextLayer,  # noqa: A002
    retries: int,
    report: Report,
    keyless: bool = False,
) -> Completion:
    """Try once, and retry up to `retries` times before the call's deadline.

    Errors of kind rate, server and network, and those that the service asks to retry, are retried
    after the time that the service asks for, else after a random part of a doubling interval (full
    jitter). `keyless` is whether no key is sent.

    Raises:
        ProviderFailed: the error of the last try, and why it is not retried.
        Interrupted: the run ended.
    """
    call.wait(0)  # raise if the run ended
    number = 0
    while True:
        number += 1
        try:
            return next(call)
        except ProviderError as error:
            call.wait(0)  # a workflow may catch a `ProviderFailed`
            wait = error.retry_after
            if wait is None:
                longest = min(_LONGEST_BACKOFF, _FIRST_WAIT * 2.0 ** (number - 1))
                wait = random.uniform(0, longest)  # noqa: S311
            reason = _reason_to_stop(error, number, retries, wait, call.deadline)
            if reason is not None:
                hint = HINTS[error.kind]
                if keyless and error.kind == "auth":
                    hint = _KEYLESS
                raise ProviderFailed(
                    f"{call.model}: {error}{reason}", hint=hint, kind=error.kind
                ) from error
            report(call, number, wait, str(error))
            call.wait(wait)


def _reason_to_stop(
    error: ProviderError,
    number: int,
    retries: int,
    wait: float,
    deadline: float,
) -> str | None:
    """Return the end of the error message if the try `number` was the last one, or None."""
    if retries == 0:
        return ""
    if not _may_pass(error):
        return " (the service asks not to retry)" if error.kind in _RETRIED else ""
    if number > retries:
        return f" (gave up after {number} tries)"
    if wait > LONGEST_RETRY_AFTER:
        longest = f"{LONGEST_RETRY_AFTER:.0f} s"
        return f" (gave up: the service asks to wait {wait:.0f} s, more than {longest})"
    if time.monotonic() + wait >= deadline:
        return " (gave up: no time is left for another try)"
    return None


def _may_pass(error: ProviderError) -> bool:
    """Return whether another try makes sense: the service may know better than its status says."""
    if error.should_retry is None or error.kind in _NEEDS_A_PERSON:
        return error.kind in _RETRIED
    return error.should_retry


class Budget:
    """Reserves the highest cost of a try before it starts, so the sum never passes the limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit  # in USD, as all costs
        self._spent = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    def spend(
        self,
        call: ModelCall,
        *,
        next: NextLayer,  # noqa: A002
        max_tokens: int | None,
        count: Count = None,
        write_price: float | None = None,
    ) -> Completion:
        """Reserve the highest cost of one try, then count its actual cost.

        An unknown cost counts in full. `max_tokens` is the configured limit of a completion, if
        any. `count` asks the service for the tokens of the prompt. `write_price` is that of marked
        input, relative to other input, if genai-prices does not have it.

        Raises:
            NotReady: the model's price is unknown.
            LimitReached: the try could pass the limit.
        """
        max_tokens = call.request.max_tokens or max_tokens or _MAX_TOKENS
        call = replace(call, request=replace(call.request, max_tokens=max_tokens))
        bound = self._reserve(call, count, write_price)
        charged = bound
        try:
            completion = next(call)
            cost = completion.cost
            if cost is None:
                cost = cost_of(call.model, completion.usage)
            # A service may charge for what it still writes after the host stopped reading.
            if cost is not None and completion.finish is not Finish.STOPPED_EARLY:
                charged = cost
        except ProviderError as error:
            if error.kind in _COSTS_NOTHING:
                charged = 0.0
            raise
        finally:
            with self._lock:
                self._reserved -= bound
                self._spent += charged
        if cost is None:
            cost = charged
        return replace(completion, cost=cost)

    def _reserve(self, call: ModelCall, count: Count, write_price: float | None) -> float:
        """Reserve the highest cost of a request."""
        for tokens in _most_tokens(call, count):
            bound = _cost(call.model, call.request, tokens, write_price)
            with self._lock:
                if self._spent + self._reserved + bound <= self._limit:
                    self._reserved += bound
                    return bound
        prompt = count_of(tokens, "token")
        reply = count_of(call.request.max_tokens or 0, "token")
        raise LimitReached(
            f"the next call could cost up to {_dollars(bound)} "
            f"({prompt} of prompt, at most {reply} of reply); "
            f"{_dollars(self._spent)} of {_dollars(self._limit)} is spent",
            hint="raise --max-cost, send less code, or lower max_tokens in the provider's config",
        )


def _most_tokens(call: ModelCall, count: Count) -> Iterator[int]:
    """Yield bounds of the tokens of a prompt: its bytes, then a closer one, which takes time.

    That is the count of the service with what it may add, or a bound by the kinds of characters.
    """
    text = sendable_text(call.request)
    yield len(text.encode("utf-8", "replace"))
    counted = None
    if count is not None:
        counted = count(call)
    if counted is None:
        yield most_tokens(text)
    else:
        yield counted + counted // 50 + 20


def _cost(model: str, request: Request, tokens: int, write_price: float | None) -> float:
    """Return the cost of a call with a prompt of so many `tokens` and the longest reply.

    Raises:
        NotReady: the model's price is unknown.
    """
    parts = (part for message in request.messages for part in message.parts)
    writes_cache = any(getattr(part, "cache_here", False) for part in parts)
    if not writes_cache:
        usage = Usage(tokens, request.max_tokens, cache_write=0)
    elif write_price:
        usage = Usage(math.ceil(tokens * write_price), request.max_tokens)
    else:  # genai-prices has the price, which is higher than that of reading
        usage = Usage(tokens, request.max_tokens, cache_write=tokens)
    cost = cost_of(model, usage)
    if cost is None:
        raise _unknown_price(model)
    return cost


def require_price(model: str) -> None:
    """Check that a limit on cost can be kept.

    Raises:
        NotReady: the model's price is unknown.
    """
    if cost_of(model, Usage(1, 1)) is None:
        raise _unknown_price(model)


def _unknown_price(model: str) -> NotReady:
    return NotReady(
        f"the price of {model} is unknown, so --max-cost does not work",
        hint="run without --max-cost",
    )


def _dollars(usd: float) -> str:
    if usd == 0 or usd >= _FOUR_DECIMALS:
        return f"${usd:.4f}"
    return f"${Decimal(f'{usd:.2g}'):f}"
