"""The layer that enforces `--max-cost`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    ProviderError,
    Request,
    Usage,
    cost_of,
    request_text,
)
from code_commit.plugin_api.errors import LimitReached, NotReady
from code_commit.plugin_api.provider import ModelCall, NextLayer
from code_commit.plugin_api.tokens import most_tokens

# A limit on cost needs a limit on the completion. This one is sent if the request and the configuration have none.
_MAX_TOKENS = 32_000
# After any other error, the service may charge for the request.
_COSTS_NOTHING = frozenset({"auth", "quota", "rate", "rejected"})

Count = Callable[[ModelCall], int | None] | None


class Budget:
    """Reserves the highest cost of a try before it starts, so that the sum never passes `limit` USD."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
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
        """Reserve the highest cost of one try, then count its actual cost. An unknown cost counts in full.

        `max_tokens` is the configured limit of a completion, if any. `count` asks the service for the tokens of the
        prompt. `write_price` is that of marked input, relative to other input, if genai-prices does not have it.

        Raises:
            NotReady: the model's price is unknown.
            LimitReached: the try could pass the limit.
        """
        request = replace(call.request, max_tokens=call.request.max_tokens or max_tokens or _MAX_TOKENS)
        cost = bound = self._reserve(replace(call, request=request), count, write_price)
        try:
            completion = next(replace(call, request=request))
            known = cost_of(call.model, completion.usage) if completion.cost is None else completion.cost
            # A service may charge for what it still writes after the host stopped reading.
            cost = bound if known is None or completion.finish is Finish.STOPPED_EARLY else known
        except ProviderError as error:
            if error.kind in _COSTS_NOTHING:
                cost = 0.0
            raise
        finally:
            with self._lock:
                self._reserved -= bound
                self._spent += cost
        return replace(completion, cost=cost if known is None else known)

    def _reserve(self, call: ModelCall, count: Count, write_price: float | None) -> float:
        """Reserve the highest cost of a request."""
        for tokens in _most_tokens(call, count):
            bound = _cost(call.model, call.request, tokens, write_price)
            with self._lock:
                if self._spent + self._reserved + bound <= self._limit:
                    self._reserved += bound
                    return bound
        spent, limit = _dollars(self._spent), _dollars(self._limit)
        raise LimitReached(
            f"the next call could cost up to {_dollars(bound)} ({tokens:,} tokens of prompt, at most "
            f"{call.request.max_tokens:,} tokens of reply); {spent} of {limit} is spent",
            hint="raise --max-cost, send less code, or lower max_tokens in the provider's config",
        )


def _most_tokens(call: ModelCall, count: Count) -> Iterator[int]:
    """Yield bounds of the tokens of a prompt: its bytes, then a closer one, which takes time.

    That is the count of the service with what it may add, or a bound by the kinds of characters.
    """
    text = _text(call.request)
    yield len(text.encode("utf-8", "replace"))
    counted = count(call) if count else None
    yield most_tokens(text) if counted is None else counted + counted // 50 + 20


def _cost(model: str, request: Request, tokens: int, write_price: float | None) -> float:
    """Return the cost of a call with a prompt of so many `tokens` and the longest reply.

    Raises:
        NotReady: the model's price is unknown.
    """
    writes = any(getattr(part, "cache_here", False) for message in request.messages for part in message.parts)
    usage = Usage(tokens, request.max_tokens, cache_write=tokens * writes)  # costs more than reading
    if writes and write_price:
        usage = Usage(math.ceil(tokens * write_price), request.max_tokens)
    cost = cost_of(model, usage)
    if cost is None:
        raise NotReady(f"the price of {model} is unknown, so --max-cost does not work", hint="run without --max-cost")
    return cost


def _text(request: Request) -> str:
    """Return what counts as tokens: all texts, and the tools."""
    return request_text(request) + "".join(f"{each.name}{each.description}{each.parameters}" for each in request.tools)


def _dollars(usd: float) -> str:
    return f"${usd:.4f}" if usd >= 0.001 or not usd else f"${Decimal(f'{usd:.2g}'):f}"  # noqa: PLR2004 - four decimals suffice
