"""The functions that plugins give are checked before they are called; what they return is checked after."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from code_commit.plugin_api.errors import NotReady
from code_commit.plugins.code import checked_result, fault_of_code, is_async


async def coroutine() -> None: ...


async def generator() -> AsyncIterator[int]:
    yield 1


class AsyncCall:
    async def __call__(self) -> None: ...


def plain(one: int, two: int = 2) -> None: ...


@pytest.mark.parametrize(
    ("code", "arguments", "fault"),
    [
        (None, None, "is missing"),
        (3, None, "is not callable"),
        (coroutine, None, "is async; use a plain function"),
        (generator, None, "is async; use a plain function"),
        (AsyncCall(), None, "is async; use a plain function"),
        (plain, None, ""),
        (plain, 1, ""),
        (plain, 2, ""),
        (plain, 0, "is called with 0 arguments: missing a required argument: 'one'"),
        (plain, 3, "is called with 3 arguments: too many positional arguments"),
        (lambda: 0, 1, "is called with 1 argument: too many positional arguments"),
        (plain, "a pydantic model", "is not a pydantic model"),
        (type, 1, ""),  # a builtin has no signature
    ],
)
def test_a_function_that_cannot_be_called_is_found(code, arguments, fault):
    assert fault_of_code(code, arguments) == fault
    assert is_async(code) is ("async" in fault)


def test_a_result_of_another_type_is_an_error():
    error = NotReady("no")
    assert checked_result(error, NotReady, message=str, hint=str) is error
    with pytest.raises(TypeError, match="it returned 3 for a NotReady"):
        checked_result(3, NotReady)
    with pytest.raises(TypeError, match="it returned a NotReady whose `message` must be of type int, not 'no'"):
        checked_result(error, NotReady, hint=str, message=int)
    with pytest.raises(TypeError, match="it is async; use a plain function"):
        checked_result(coroutine(), int)
