"""What arrives in a stream is kept without keys, by a thread of its own."""

from __future__ import annotations

import json
import threading

import pytest

from code_commit.log.kept_stream import KeptStream
from code_commit_workspace import Redactor

KEY = "sk-canary-0123456789-key7Q"


class Kept:
    """What a stream keeps and shows; a piece of text or an event opens `arrived`."""

    def __init__(self, *keys: str) -> None:
        self.events = b""
        self.text = b""
        self.shown = ""
        self.added = ""
        self.arrived = threading.Semaphore(0)
        self.stream = KeptStream(Redactor(keys), self.keep_events, self.keep_text, self.show)

    def keep_events(self, data: bytes) -> None:
        self.events += data
        self.arrived.release()

    def keep_text(self, data: bytes) -> None:
        self.text += data

    def show(self, text: str, added: str) -> None:
        self.shown += text
        self.added += added


def test_events_and_texts_are_kept_as_they_come_before_the_end():
    earlier, recorder = {*threading.enumerate()}, Kept(KEY)
    recorder.stream.add_event(b'{"a": 1}')
    recorder.stream.add_text("wörd\n", "text", keep=True)
    recorder.stream.add_text("thought", "thinking", keep=False)
    assert recorder.arrived.acquire(timeout=60)
    assert (recorder.events, recorder.text.decode(), recorder.shown) == (
        b'[\n{"a": 1}',
        "wörd\n",
        "wörd\n",
    )
    assert (recorder.added, recorder.stream.holds_key) == ("wörd\nthought", False)
    [thread] = {*threading.enumerate()} - earlier
    assert (thread.name, thread.daemon) == ("stream", True)
    recorder.stream.end()
    assert (recorder.events, recorder.stream.has_events, recorder.stream.has_text) == (
        b'[\n{"a": 1}\n]\n',
        True,
        True,
    )


def test_a_stream_without_anything_keeps_nothing_and_starts_no_thread():
    earlier, recorder = {*threading.enumerate()}, Kept()
    recorder.stream.end()
    assert (recorder.events, recorder.text, recorder.stream.has_events) == (b"", b"", False)
    assert {*threading.enumerate()} <= earlier


def test_a_key_over_many_events_is_kept_in_no_form():
    recorder = Kept(KEY)
    for character in f"say {KEY}, so":
        recorder.stream.add_event(json.dumps({"text": character}).encode())
        recorder.stream.add_text(character, "text", keep=True)
    recorder.stream.end()
    assert (recorder.text, recorder.stream.holds_key) == (b"say ***7Q, so", True)
    texts = [event["text"] for event in json.loads(recorder.events) if isinstance(event, dict)]
    assert "".join(texts) in {f"say {KEY[:count]}, so" for count in range(4)}


def test_an_error_of_what_keeps_is_raised_at_the_end_and_blocks_nobody():
    def full(_: bytes) -> None:
        raise OSError("no space")

    stream = KeptStream(Redactor(), full, full, lambda text, added: None)
    for _ in range(40):
        stream.add_event(b'"%s"' % (b"x" * 100_000))
    for _ in range(2):
        with pytest.raises(OSError, match="no space"):
            stream.end()


def test_a_text_that_is_not_kept_is_only_shown():
    recorder = Kept()
    recorder.stream.add_text("thought", "thinking", keep=False)
    recorder.stream.end()
    assert (recorder.events, recorder.text, recorder.shown, recorder.added) == (
        b"",
        b"",
        "",
        "thought",
    )
    assert (recorder.stream.has_events, recorder.stream.has_text) == (False, False)


@pytest.mark.parametrize("kind", ["event", "text"])
def test_no_more_than_a_mebibyte_waits(kind):
    begun = threading.Event()
    go = threading.Event()
    added = []

    def keep(_: bytes) -> None:
        begun.set()
        assert go.wait(60)

    def add() -> None:
        for number in range(100):
            if kind == "event":
                stream.add_event(b"x" * 100_000)
            else:
                stream.add_text("x" * 100_000, "text", keep=True)
            added.append(number)

    stream = KeptStream(Redactor(), keep, keep, lambda text, added: None)
    stream.add_text("first", "text", keep=True)
    assert begun.wait(60)
    adder = threading.Thread(target=add, daemon=True)
    adder.start()
    while len(added) < 10:
        adder.join(0.01)
    adder.join(0.1)  # it would be over by then
    assert (adder.is_alive(), len(added)) == (True, 10)
    go.set()
    adder.join(60)
    assert len(added) == 100
    stream.end()


def test_a_fast_stream_waits_until_it_is_kept():
    recorder, event = Kept(), b'"%s"' % (b"x" * 1000)
    for _ in range(5000):
        recorder.stream.add_event(event)
    recorder.stream.end()
    assert recorder.events.count(event) == 5000
    recorder.stream.add_event(event)  # too late, and nobody waits
