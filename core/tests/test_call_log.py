"""The calls that run at the same time, and their numbers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from code_commit.models.call_log import CallLog
from code_commit.plugin_api import Completion, Delta, Finish, Message, ProviderFailed, Text, Usage
from code_commit_testing import model_call

DONE = Completion(
    Message("assistant", (Text("done"),)), Finish.STOP, "stop", Usage(1, 1), "scripted", {}
)
SERVICE = SimpleNamespace(address="", key_source="", definition=SimpleNamespace(free=False))


def test_a_call_runs_until_its_end_is_logged(log):
    calls, go_on = CallLog(log, numbered=True), threading.Event()
    started = threading.Event()

    def answer(_call):
        started.set()
        assert go_on.wait(60)
        return DONE

    call = threading.Thread(
        target=lambda: calls.record(model_call("hi"), next=answer, service=SERVICE, watch=None),
        daemon=True,
    )
    call.start()
    assert started.wait(60)
    assert list(calls.running) == [1]
    go_on.set()
    call.join(60)
    assert not calls.running


@pytest.mark.parametrize(("numbered", "numbers"), [(True, [None, 1, 2, 3, 3]), (False, [None] * 5)])
def test_a_build_shares_the_number_of_the_latest_call_or_in_a_thread_of_its_own(
    log, numbered, numbers
):
    calls = CallLog(log, numbered=numbered)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        last_numbers = [calls.last_number]
        assert calls.next_number() == 1
        last_numbers.append(
            first.submit(lambda: calls.last_number).result()
        )  # it has no call of its own
        assert [thread.submit(calls.next_number).result() for thread in (first, second)] == [2, 3]
        last_numbers += [
            thread.submit(lambda: calls.last_number).result() for thread in (first, second)
        ]
        last_numbers.append(calls.last_number)
    assert last_numbers == numbers


@pytest.mark.parametrize("fails", [False, True])
def test_who_reads_what_arrived_is_not_disturbed_by_the_whole_response(log, fails):
    calls, readers = CallLog(log, numbered=True), []
    response = log.folder / "1-ask-response.txt"

    def printed(_text):  # the last time at the end of what arrived
        if response.exists():
            readers.append(response.open())

    def answer(call):
        call.progress(Delta("text", "do"))
        if fails:
            raise ProviderFailed("no more")
        return DONE

    calls.print_text.set(lambda: printed)
    with pytest.raises(ProviderFailed) if fails else nullcontext():
        calls.record(
            replace(model_call("hi"), label="ask", number=1),
            next=answer,
            service=SERVICE,
            watch=None,
        )
    for reader in readers:
        with reader:
            assert reader.read() in {"", "do"}
    assert readers
    assert response.read_text() == ("ERROR\nno more\ndo" if fails else "done")
