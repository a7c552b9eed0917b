"""Check that a function that somebody else wrote, such as a path rule, is not async."""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType
from typing import TypeVar

T = TypeVar("T")


def require_sync(result: T) -> T:
    """Return the `result` of a function.

    Raises:
        TypeError: the function is async, so it has not run.
    """
    if isinstance(result, CoroutineType):
        result.close()  # else Python warns that it was never awaited
    if isinstance(result, CoroutineType | AsyncGeneratorType):
        raise TypeError("it is async; use a plain function")
    return result
