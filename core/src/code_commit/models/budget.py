"""What all calls of a run may cost together (`--max-cost`)."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from code_commit.plugin_api.conversation import Usage
from code_commit.plugin_api.errors import LimitReached, NotReady
from code_commit.plugin_api.prices import cost_of


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call may cost at most, held back until it is known what it did cost."""

    model: str
    bound: float


class Budget:
    """Holds back, before each call, the most that it could cost; so the sum can never pass `limit` USD."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._spent = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, model: str, *, input_bytes: int, max_tokens: int) -> Reservation:
        """Hold back what a call could cost: every token stands for at least one byte of the prompt.

        Raises:
            NotReady: nobody knows the model's price.
            LimitReached: the call could pass the limit.
        """
        bound = cost_of(model, Usage(input_bytes, max_tokens))
        if bound is None:
            raise NotReady(f"the price of {model} is not known, so --max-cost cannot be kept", hint="run without it")
        with self._lock:
            if self._spent + self._reserved + bound > self._limit:
                raise LimitReached(
                    f"the next call could cost up to ${bound:.4f} ({input_bytes} bytes of prompt, at most {max_tokens} "
                    f"tokens of reply); ${self._spent:.4f} of ${self._limit:.4f} is spent",
                    hint="raise --max-cost, send less code, or lower max_tokens in the provider's config",
                )
            self._reserved += bound
        return Reservation(model, bound)

    def settle(self, reservation: Reservation, usage: Usage) -> float:
        """Count what the call cost; the whole reservation where the service did not tell. Returns USD."""
        cost = cost_of(reservation.model, usage)
        spent = reservation.bound if cost is None else cost
        with self._lock:
            self._reserved -= reservation.bound
            self._spent += spent
        return spent

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back: the call never reached the service."""
        with self._lock:
            self._reserved -= reservation.bound
