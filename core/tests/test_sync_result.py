"""A function of a plugin that is async has no result."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from code_commit.plugin_api import require_sync


async def coroutine() -> None: ...


async def generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("code", [coroutine, generator])
def test_the_result_of_an_async_function_is_no_result(code):
    with pytest.raises(TypeError, match="it is async; use a plain function"):
        require_sync(code())
    assert require_sync(3) == 3
