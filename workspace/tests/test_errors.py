"""Errors and misspelled names: what is said about them."""

from __future__ import annotations

import errno

import pytest

from code_commit_workspace.errors import NotReady, no_room
from code_commit_workspace.words import (
    closest,
    describe,
    did_you_mean,
)


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
        (ValueError("123456"), {"longest": 5}, "ValueError: 1234…"),
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


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("repiars", ["model", "Repairs", "repair"], "Repairs"),
        ("MODEL", ["Modell"], "Modell"),
        ("xyz", ["model"], None),
    ],
)
def test_a_misspelled_name_is_told_with_what_was_meant(word, known, meant):
    assert closest(word, known) == meant
    assert did_you_mean(word, known) == (f"; did you mean {meant}?" if meant else "")
