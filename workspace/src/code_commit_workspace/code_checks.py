"""Check functions of code that somebody else wrote, such as a path rule, and what they return."""

from __future__ import annotations

import inspect
from contextlib import suppress
from textwrap import shorten
from types import AsyncGeneratorType, CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = "is async; use a plain function"


def is_async(code: Any) -> bool:
    """Return whether a call of `code` returns something to await."""
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(kind(each) for kind in kinds for each in (code, getattr(code, "__call__", None)))  # noqa: B004


def fault_of_function(code: Any, arguments: int | None = None) -> str:
    """Return why `code` cannot be called, with that many arguments if it is known; or an empty text."""
    if not callable(code):
        return "is missing" if code is None else "is not callable"
    if is_async(code):
        return _PLAIN
    if arguments is not None:
        with suppress(ValueError):  # a builtin may have no signature
            signature = inspect.signature(code)
            try:
                signature.bind(*range(arguments))
            except TypeError as error:
                return f"is called with {arguments} argument{'s' * (arguments != 1)}: {error}"
    return ""


def require_sync(result: T) -> T:
    """Return the `result` of a function.

    Raises:
        TypeError: the function is async, so it has not run.
    """
    if isinstance(result, CoroutineType):
        result.close()  # else Python warns that it was never awaited
    if isinstance(result, CoroutineType | AsyncGeneratorType):
        raise TypeError(f"it {_PLAIN}")
    return result


def checked_result(result: Any, record: type[T], **types: Any) -> T:
    """Return the `result` of a function, which must be a `record`; `types` are those of its fields.

    Raises:
        TypeError: it is not.
    """
    require_sync(result)
    name = record.__name__
    if not isinstance(result, record):
        raise TypeError(f"it returned {shorten(repr(result), 200)} for a {name}")
    for field, kind in types.items():
        if not isinstance(value := getattr(result, field), kind):
            wanted = getattr(kind, "__name__", kind)
            raise TypeError(f"it returned a {name} whose `{field}` must be of type {wanted}, not {value!r:.100}")
    return result
