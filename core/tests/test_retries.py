"""Which failures are tried again, when, and how often; and when a service asks to be called
again.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.models.http.failures import retry_after_seconds
from code_commit.models.limits import HINTS, LONGEST_RETRY_AFTER, deadline, retry
from code_commit.plugin_api import Interrupted, ProviderError, ProviderFailed
from code_commit_testing import ScriptedProvider, model_call


def failing(kind: str, retry_after: float | None = 0.0) -> ProviderError:
    return ProviderError(f"it was {kind}", kind=kind, retry_after=retry_after, body=kind)


def ask(
    provider: ScriptedProvider,
    *,
    seconds: float = 30,
    retries: int = 4,
    report=lambda *_: None,
    wait=time.sleep,
):
    call = model_call("a question", seconds=seconds, wait=wait)
    return retry(call, next=provider.complete, retries=retries, report=report)


def waiting_for(ended: threading.Event):
    """The `wait` of a run that may end."""

    def wait(seconds: float) -> None:
        if ended.wait(seconds):
            raise Interrupted("the run ended")

    return wait


@pytest.mark.parametrize("kind", ["rate", "server", "network"])
def test_what_may_pass_is_tried_again(kind):
    provider = ScriptedProvider([failing(kind), failing(kind), "hello"])
    reports = []
    assert ask(provider, report=lambda _call, *what: reports.append(what)).text == "hello"
    assert reports == [(1, 0.0, f"it was {kind}"), (2, 0.0, f"it was {kind}")]


@pytest.mark.parametrize("kind", ["auth", "quota", "rejected", "invalid_response"])
def test_what_will_not_pass_is_not(kind):
    error = failing(kind)
    provider = ScriptedProvider([error, "hello"])
    with pytest.raises(ProviderFailed, match=f"^scripted: it was {kind}$") as caught:
        ask(provider)
    assert (caught.value.__cause__, caught.value.kind, caught.value.hint) == (
        error,
        kind,
        HINTS[kind],
    )
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("kind", "hint"), [("auth", "no key was sent to this address: "), ("quota", HINTS["quota"])]
)
def test_without_a_key_the_hint_is_about_that(kind, hint):
    provider = ScriptedProvider([failing(kind)])
    with pytest.raises(ProviderFailed) as caught:
        retry(
            model_call("?"), next=provider.complete, retries=1, report=lambda *_: None, keyless=True
        )
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(("max_retries", "tries"), [(0, 1), (1, 2), (3, 4)])
def test_the_number_of_retries_is_kept(max_retries, tries):
    provider = ScriptedProvider([failing("server")] * 10)
    with pytest.raises(ProviderFailed, match="it was server") as caught:
        ask(provider, retries=max_retries)
    assert len(provider.requests) == tries
    assert caught.value.kind == "server"
    assert caught.value.__cause__.body == "server"
    assert (f"after {tries} tries" in str(caught.value)) == (tries > 1)


def test_the_wait_is_a_random_part_of_a_doubling_interval():
    waits = {number: [] for number in range(1, 8)}
    for _ in range(300):
        provider = ScriptedProvider([*[failing("server", None)] * 7, "hello"])
        ask(
            provider,
            seconds=3600,
            retries=7,
            report=lambda _call, number, wait, _reason: waits[number].append(wait),
            wait=lambda _seconds: None,
        )
    for number, longest in enumerate((1, 2, 4, 8, 16, 30, 30), start=1):
        assert 0 <= min(waits[number]) < 0.1 * longest
        assert 0.9 * longest < max(waits[number]) <= longest


def test_the_wait_that_was_asked_for_is_kept():
    waits = []
    provider = ScriptedProvider([failing("rate", 0.02), "hello"])
    ask(provider, report=lambda _call, _number, wait, _reason: waits.append(wait))
    assert waits == [0.02]


def test_the_longest_wait_is_kept_and_the_end_of_the_run_is_looked_for():
    waits = []
    ask(
        ScriptedProvider([failing("rate", LONGEST_RETRY_AFTER), "hello"]),
        seconds=3600,
        wait=waits.append,
    )
    assert waits == [0, 0, 60]


def test_a_wait_that_is_too_long_ends_the_call_and_says_so():
    provider = ScriptedProvider([failing("rate", LONGEST_RETRY_AFTER + 1), "hello"])
    with pytest.raises(ProviderFailed, match=r"asks to wait 61 s, more than 60 s") as caught:
        ask(provider, seconds=3600)
    assert caught.value.__cause__.retry_after == LONGEST_RETRY_AFTER + 1
    assert len(provider.requests) == 1


def test_no_try_begins_after_the_deadline():
    provider = ScriptedProvider([failing("rate", 20), "hello"])
    with pytest.raises(ProviderFailed, match="no time is left"):
        ask(provider, seconds=10)
    assert len(provider.requests) == 1


def test_the_deadline_is_set_for_all_tries_together():
    seen = []
    provider = ScriptedProvider([failing("server"), "hello"])

    def try_once(call):
        seen.append(call.deadline)
        return provider.complete(call)

    began = time.monotonic()
    tries = partial(retry, next=try_once, retries=1, report=lambda *_: None)
    deadline(
        model_call("a question", deadline=math.inf),
        next=tries,
        seconds=30,
        count=lambda _, done: done,
    )
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert began + 30 <= seen[0] <= time.monotonic() + 30


def test_the_end_of_the_run_ends_a_wait():
    ended = threading.Event()
    provider = ScriptedProvider([failing("rate", 50), "hello"])
    with pytest.raises(Interrupted):
        ask(
            provider,
            seconds=3600,
            wait=waiting_for(ended),
            report=lambda *_: threading.Thread(target=ended.set).start(),
        )
    assert len(provider.requests) == 1


@pytest.mark.parametrize("kind", ["network", "rejected"])
def test_a_call_that_was_cancelled_is_not_tried_again(kind):
    ended = threading.Event()
    provider = ScriptedProvider([lambda _request: (ended.set(), failing(kind))[1], "hello"])
    with pytest.raises(Interrupted):
        ask(provider, wait=waiting_for(ended))
    assert len(provider.requests) == 1


def test_no_call_begins_when_the_run_has_ended():
    ended = threading.Event()
    ended.set()
    provider = ScriptedProvider(["hello"])
    with pytest.raises(Interrupted):
        ask(provider, wait=waiting_for(ended))
    assert provider.requests == []


def test_another_exception_is_a_bug_and_passes_through():
    def fail(_request):
        raise ZeroDivisionError

    provider = ScriptedProvider([fail, "hello"])
    with pytest.raises(ZeroDivisionError):
        ask(provider)


def test_retries_are_not_printed_or_logged(capfd, caplog):
    caplog.set_level(logging.DEBUG)
    ask(ScriptedProvider([failing("server"), "hello"]))
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


# --- Retry-After


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT",
                "date": "Wed, 21 Oct 2015 07:29:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan", "retry-after-ms": "nan"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_in_its_forms(headers, seconds):
    assert retry_after_seconds(headers) == seconds


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text()))
def test_retry_after_survives_any_text(headers):
    seconds = retry_after_seconds(headers)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
