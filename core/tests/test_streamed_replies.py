"""What arrives of a streamed reply is kept and shown.

A provider of the test streams what the test scripts.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, install_plugin

KEY = "sk-canary-0123456789-key7Q"
# The script has one list of steps for each try. A step is a piece of text, ["thinking" or "tool",
# piece], or a word: "DROP" breaks off, "REFUSE" fails without a retry, "HANG" waits until the run
# ends, "BARE" adds no events from now on, "WHOLE" nothing at all, "TEXT" an event that is not
# bytes.
PLUGIN = """
import json, os, socket, threading
from pydantic import BaseModel
from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Flag,
    Message,
    Outcome,
    ProviderDefinition,
    ProviderError,
    Request,
    Result,
    StreamEvent,
    Text,
    Usage,
    WorkflowDefinition,
    hookimpl,
)


class Config(BaseModel):
    model: str = "streamer"


class Streamer:
    script = json.loads(os.environ.get("SCRIPT", "[]"))

    def __init__(self, config):
        self.closed = threading.Event()

    def complete(self, call):
        said, bare, whole = [], False, False
        for step in self.script.pop(0):
            kind, piece = ("text", step) if isinstance(step, str) else step
            if piece == "DROP":
                raise ProviderError("it broke off", kind="network", retry_after=0, body="the body")
            if piece == "REFUSE":
                raise ProviderError("no more", kind="rejected")
            if piece == "HANG":
                self.closed.wait()
                raise ProviderError("closed", kind="rejected")
            if piece == "BARE":
                bare = True
                continue
            if piece == "TEXT":
                call.progress(StreamEvent("", "text"))
            if piece == "WHOLE":
                whole = True
                continue
            if whole:
                said.append(piece)
                continue
            if not bare:
                call.progress(StreamEvent("piece", json.dumps({"delta": {kind: piece}}).encode()))
            call.progress(Delta(kind, piece, index=("text", "thinking", "tool").index(kind)))
            said += [piece] * (kind == "text")
        return Completion(
            Message("assistant", (Text("".join(said)),)),
            Finish.STOP,
            "stop",
            Usage(1, 2),
            "streamer",
            {"whole": 1},
        )

    def close(self):
        self.closed.set()


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "streamer",
            {"streamer": ()},
            "",
            None,
            None,
            ("authorization", "{key}"),
            "streamer_plugin:Config",
            "streamer_plugin:Streamer",
        )
    ]


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--ask",), "ask", selects=True), Flag(("--show",), "show"))
    return [
        WorkflowDefinition(
            "asking",
            "ask",
            flags,
            "streamer_plugin:ask",
            options="streamer_plugin:Options",
            writes=False,
        )
    ]


class Began:  # tells the test the name of the run
    def receive(self, record):
        if record.kind == "call.started":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as told:
                told.sendto(record.run.encode(), ("127.0.0.1", int(os.environ["TOLD"])))

    def close(self):
        pass


@hookimpl
def code_commit_log_sinks():
    return [Began()] if "TOLD" in os.environ else []


class Options(BaseModel):
    show: bool = False


def ask(run):
    request = Request((Message("user", (Text("hi"),)),))
    if run.options.show:
        with run.show_replies():
            text = run.model().complete(request, label="ask").text
        if Streamer.script:
            run.model().complete(request, label="unseen")
    else:
        text = run.model().complete(request, label="ask").text
    return Result(Outcome.REACHED, "done", {"text": text})
"""
RESPONSE, EVENTS = "1-ask-response.txt", "1-ask-response.json"


@pytest.fixture
def plugins(tmp_path: Path) -> list[Path]:
    return [install_plugin(tmp_path / "plugins", "streamer", PLUGIN)]


@pytest.fixture
def environ() -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY}


@pytest.fixture
def ask(project, plugins, environ):
    def ask(*tries: list[Any], arguments: tuple[str, ...] = ("--json", "--quiet")) -> Finished:
        return project.command(
            "--ask",
            "--model",
            "streamer",
            *arguments,
            plugins=plugins,
            environ={**environ, "SCRIPT": json.dumps(tries)},
        )

    return ask


def kept(project: Project, name: str = RESPONSE) -> str:
    return (project.run_folder / name).read_text("utf-8")


def events(project: Project, name: str = EVENTS) -> list[Any]:
    """Return the events, one from each line, of the array that they are together."""
    lines = kept(project, name).splitlines()
    assert (lines[0], lines[-1]) == ("[", "]")
    events_read = [json.loads(line.removesuffix(",")) for line in lines[1:-1]]
    assert events_read == json.loads(kept(project, name))
    return events_read


def pieces(*texts: str, kind: str = "text") -> list[Any]:
    return [{"delta": {kind: text}} for text in texts]


def test_a_streamed_reply_is_kept_as_its_text_and_its_events(ask, project):
    finished = ask([["thinking", "hm"], "Hello ", "wörld\n"])
    assert finished.exit_code == 0, finished.stderr
    assert kept(project) == "Hello wörld\n"
    assert events(project) == [*pieces("hm", kind="thinking"), *pieces("Hello ", "wörld\n")]


@pytest.mark.slow
def test_without_events_the_whole_reply_is_kept(ask, project):
    assert ask(["BARE", "Hello"]).exit_code == 0
    assert (kept(project), json.loads(kept(project, EVENTS))) == ("Hello", {"whole": 1})


def test_what_had_arrived_is_kept_after_the_error(ask, project):
    finished = ask(["Half of ", "me", "REFUSE"])
    assert finished.exit_code == 4
    assert kept(project) == "ERROR\nstreamer: no more\nHalf of me"
    assert events(project) == pieces("Half of ", "me")
    (ended,) = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    assert (ended["response"], ended["error"]) == (RESPONSE, "streamer: no more")


@pytest.mark.slow
def test_the_events_are_kept_where_no_text_arrived(ask, project):
    assert ask([["thinking", "hm"], "REFUSE"]).exit_code == 4
    assert kept(project) == "ERROR\nstreamer: no more\n"
    assert events(project) == pieces("hm", kind="thinking")


@pytest.mark.slow
def test_a_lost_try_stays_under_its_own_name(ask, project):
    finished = ask(["Half", "DROP"], ["DROP"], ["Whole"])
    assert finished.exit_code == 0, finished.stderr
    assert (kept(project), events(project)) == ("Whole", pieces("Whole"))
    assert kept(project, "1-ask-response-try-1.txt") == "Half"
    assert events(project, "1-ask-response-try-1.json") == pieces("Half")
    assert not list(project.run_folder.glob("*try-2*"))


@pytest.mark.slow
def test_the_last_of_the_lost_tries_is_the_response(ask, project, environ):
    environ["CODE_COMMIT_HTTP__RETRIES"] = "1"
    assert ask(["One", "DROP"], ["Two", "DROP"]).exit_code == 4
    assert kept(project).startswith("ERROR\nstreamer: it broke off (gave up after 2 tries)\nTwo")
    assert kept(project, "1-ask-response-try-1.txt") == "One"


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 1, 8, 25])
@pytest.mark.parametrize("ending", [[], ["REFUSE"]])
def test_no_key_can_be_put_together_from_what_is_kept(ask, project, environ, size, ending):
    (project.root / "agent-config").mkdir(exist_ok=True)
    project.write({"agent-config/openai-key.txt": KEY})
    text = f"the key is {KEY}, so"
    finished = ask([*(text[at : at + size] for at in range(0, len(text), size)), *ending])
    assert finished.exit_code == (4 if ending else 5), finished.stderr
    assert kept(project).endswith("the key is ***7Q, so")
    deltas = [event["delta"]["text"] for event in events(project) if isinstance(event, dict)]
    for everything in (
        "".join(deltas),
        *(path.read_text() for path in project.run_folder.iterdir()),
    ):
        assert KEY[4:] not in everything


@pytest.fixture
def hanging(project, plugins, environ):
    """Start a run whose reply hangs after a piece, and wait until this piece is kept."""

    def hanging(*arguments: str) -> subprocess.Popen[bytes]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.settimeout(60)
            environ.update(
                SCRIPT=json.dumps([["Half of ", "me", "HANG"]]), TOLD=str(listener.getsockname()[1])
            )
            process = project.start(
                "--ask", "--model", "streamer", *arguments, plugins=plugins, environ=environ
            )
            events = project.root / "logs" / listener.recv(1000).decode() / EVENTS
        # It waits for the file, and for what is added.
        tail = ["timeout", "60", "tail", "-s", "0.01", "-n", "+1", "-F", str(events)]
        with subprocess.Popen(tail, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as following:
            seen = b""
            while b'"me"' not in seen:
                seen += (piece := os.read(following.stdout.fileno(), 1000))
                assert piece, "it does not come"
            following.terminate()  # `timeout` passes it on
        return process

    return hanging


def test_what_had_arrived_is_kept_when_the_person_interrupts(hanging, project):
    with hanging("--quiet") as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert kept(project) == "ERROR\ninterrupted\nHalf of me"
    assert events(project) == pieces("Half of ", "me")


def test_a_killed_run_keeps_what_had_arrived_and_its_array_is_closed_later(hanging, project):
    with hanging("--quiet") as process:
        process.kill()
        process.communicate(timeout=60)
    assert kept(project) == "Half of me"
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(kept(project, EVENTS))
    assert project.command("undo", project.run_folder.name).exit_code == 3  # it changed nothing
    assert events(project) == pieces("Half of ", "me")


@pytest.mark.slow
def test_programs_get_progress_at_most_once_a_second(ask, project):
    words = ["one ", "two ", "^^^src/a.py\n", "text\n"]
    finished = ask([["thinking", "hm"], *words])
    progress = [event["data"] for event in finished.events if event["kind"] == "call.progress"]
    times = [event["seconds"] for event in progress]
    # One, if nothing stands still.
    assert all(later - earlier >= 1 for earlier, later in pairwise(times)), times
    assert progress[0]["number"] == 1
    assert progress[0].keys() == {
        "number",
        "tokens",
        "characters",
        "seconds",
        "thinking",
        "file",
        "printed",
    }


def test_the_words_of_a_reply_are_printed_as_they_come(hanging, project, plugins, environ):
    with hanging("--quiet", "--show") as process:
        assert os.read(process.stdout.fileno(), 100) in {b"Half of ", b"Half of me"}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_printed_reply_ends_its_line_and_shows_no_key(ask, environ, project):
    project.write({"agent-config/openai-key.txt": KEY})
    finished = ask(
        ["Hel", "lo \ud83d", "\ude42"],
        ["what comes after the block"],
        arguments=("--quiet", "--show"),
    )
    assert (finished.exit_code, finished.stdout) == (0, "Hello \U0001f642\n"), finished.stderr
    finished = ask([f"Hello {KEY[:10]}", f"{KEY[10:]} bye"], arguments=("--quiet", "--show"))
    assert (finished.exit_code, finished.stdout) == (5, "Hello ***7Q bye\n")


def test_a_reply_that_does_not_stream_is_printed_whole(ask):
    finished = ask(["WHOLE", "Hel", "lo"], arguments=("--quiet", "--show"))
    assert (finished.exit_code, finished.stdout) == (0, "Hello\n"), finished.stderr


def test_with_json_no_words_are_printed(ask):
    finished = ask(["Hel", "lo"], arguments=("--json", "--quiet", "--show"))
    assert finished.exit_code == 0
    assert [
        event["data"]["printed"] for event in finished.events if event["kind"] == "call.progress"
    ] == [False]


def test_an_event_that_is_not_bytes_is_a_fault_of_the_plugin(ask):
    finished = ask(["Hello", "TEXT"])
    assert finished.exit_code == 4
    assert (
        "the provider streamer of code-commit-streamer failed: TypeError"
        in finished.events[-1]["data"]["summary"]
    )


@pytest.mark.slow
def test_a_long_line_is_no_path(ask):
    finished = ask([f"^^^{'x' * 5000}\n", "text"])
    assert [
        event["data"]["file"] for event in finished.events if event["kind"] == "call.progress"
    ] == [None]
