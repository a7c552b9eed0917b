"""Errors and the functions of others: what is said about them."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator

import pytest

from code_commit_workspace.code_checks import checked_result, fault_of_function, is_async, require_sync
from code_commit_workspace.errors import NotReady, closest, describe, did_you_mean, no_room


class _Broken(Exception):  # noqa: N818 - a plugin's own
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "options", "text"),
    [
        (ValueError("one\n two"), {}, "ValueError: one two"),
        (ValueError(), {}, "ValueError"),
        (_Broken(), {}, "_Broken"),
        (ValueError("12345"), {"longest": 5}, "ValueError: 12345"),
        (ValueError("123456"), {"longest": 5}, "ValueError: 12345…"),
        (NotReady("no", hint="do"), {}, "NotReady: no"),
        (NotReady("no", hint="do"), {"with_hint": True}, "NotReady: no (hint: do)"),
        (NotReady("no"), {"with_hint": True}, "NotReady: no"),
        (ValueError("no"), {"with_hint": True}, "ValueError: no"),
    ],
)
def test_an_error_is_described_on_one_line(error, options, text):
    assert describe(error, **options) == text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_full_or_read_only_disk_is_not_ready(number):
    error = no_room(OSError(number, "No room", "a/file"))
    assert (str(error), bool(error.hint)) == ("cannot write: a/file: No room", True)
    assert str(no_room(OSError(number, "No room"))) == "cannot write: No room"


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "Permission denied"), ValueError("no")])
def test_other_errors_are_not_about_room(error):
    assert no_room(error) is None


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
        (type, 1, ""),  # a builtin has no signature
    ],
)
def test_a_function_that_cannot_be_called_is_found(code, arguments, fault):
    assert fault_of_function(code, arguments) == fault
    assert is_async(code) is ("async" in fault)


@pytest.mark.parametrize("code", [coroutine, generator])
def test_the_result_of_an_async_function_is_no_result(code):
    with pytest.raises(TypeError, match="it is async; use a plain function"):
        require_sync(code())
    with pytest.raises(TypeError, match="it is async; use a plain function"):
        checked_result(code(), int)
    assert require_sync(3) == 3


def test_a_result_of_another_type_is_an_error():
    error = NotReady("no")
    assert checked_result(error, NotReady, message=str, hint=str) is error
    with pytest.raises(TypeError, match="it returned 3 for a NotReady"):
        checked_result(3, NotReady)
    with pytest.raises(TypeError, match="it returned a NotReady whose `message` must be of type int, not 'no'"):
        checked_result(error, NotReady, hint=str, message=int)


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [("repiars", ["model", "Repairs", "repair"], "Repairs"), ("MODEL", ["Modell"], "Modell"), ("xyz", ["model"], None)],
)
def test_a_misspelled_name_is_told_with_what_was_meant(word, known, meant):
    assert closest(word, known) == meant
    assert did_you_mean(word, known) == (f"; did you mean {meant}?" if meant else "")
