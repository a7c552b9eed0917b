"""What arrives of streamed replies of real protocols is kept: also when they break off, or a person
interrupts.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, RecordedRequest, Reply, ScriptedServer
from code_commit_testing.scripted_replies import Stream

KEY = "sk-canary-0123456789-key7Q"
MODELS = {"gemini": "gemini-2.5-pro", "openai": "gpt-5", "anthropic": "claude-sonnet-4-5"}
ALWAYS = {"CODE_COMMIT_STREAM": "always", "CODE_COMMIT_SANDBOX": "off"}
TEXT = "I write a file.\n^^^a.txt\nnew\n^^^end\n"
RESPONSE, EVENTS = "1-initial-query-response.txt", "1-initial-query-response.json"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path)


def environment(server: ScriptedServer, **more: str) -> dict[str, str]:
    keys = {f"{name}_API_KEY": KEY for name in ("GEMINI", "OPENAI", "ANTHROPIC")}
    return {**keys, **server.environment(), **ALWAYS, **more}


def strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for element in value:
            yield from strings(element, name)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from strings(element, key)


def put_together(folder: Path) -> Iterator[str]:
    """Yield what somebody can put together from the files of a run."""
    for file in folder.iterdir():
        yield file.read_text("utf-8", "replace")
        if file.name.endswith("-response.json"):
            by_name = defaultdict(list)
            for name, text in strings(json.loads(file.read_bytes())):
                by_name[name].append(text)
            yield from ("".join(texts) for texts in by_name.values())


@pytest.mark.parametrize("protocol", MODELS)
def test_the_events_of_each_service_are_kept(project, protocol):
    with ScriptedServer([Reply(TEXT, thinking="hm, well", stream=Stream())]) as server:
        finished = project.command("--model", MODELS[protocol], environ=environment(server))
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    folder = project.run_folder
    assert (folder / RESPONSE).read_text() == TEXT
    events = json.loads((folder / EVENTS).read_bytes())
    assert isinstance(events, list)
    member = "content" if protocol == "openai" else "text"
    texts = [text for name, text in strings(events) if name == member]
    assert "".join(texts).endswith(TEXT)
    replayed = project.command("replay", "latest")
    assert replayed.exit_code == 0, replayed.stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("protocol", MODELS)
@pytest.mark.parametrize("size", [1, 5, 20])
def test_no_key_can_be_put_together(project, protocol, size):
    text = f"the key is {KEY}, so there"
    with ScriptedServer([Reply(text, thinking=f"{KEY}?", stream=Stream(piece=size))]) as server:
        finished = project.command("--model", MODELS[protocol], environ=environment(server))
    assert finished.exit_code == 5, finished.stderr
    assert (project.run_folder / RESPONSE).read_text() == "the key is ***7Q, so there"
    assert not [piece for piece in put_together(project.run_folder) if KEY[3:] in piece]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("protocol", MODELS)
def test_what_arrived_of_a_lost_try_and_of_the_last_one_is_kept(project, protocol):
    broken = Reply(TEXT, stream=Stream(after=4))
    with ScriptedServer([broken, broken]) as server:
        environ = environment(server, CODE_COMMIT_HTTP__RETRIES="1")
        finished = project.command("--model", MODELS[protocol], environ=environ, timeout=60)
    assert finished.exit_code == 4, finished.stderr
    first, reason, reply = (project.run_folder / RESPONSE).read_text().split("\n", 2)
    assert (first, "gave up after 2 tries" in reason) == ("ERROR", True)
    assert reply
    assert TEXT.startswith(reply)
    assert (project.run_folder / "1-initial-query-response-try-1.txt").read_text() == reply
    for name in (EVENTS, "1-initial-query-response-try-1.json"):
        assert len(json.loads((project.run_folder / name).read_bytes())) == 4


def wait_until_kept(process: subprocess.Popen[bytes], project: Project, events: int) -> None:
    """Wait until the call has begun and the run folder has so many events of it.

    `process` prints its events.
    """
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["kind"] == "call.started":
            break
    # It waits for the file, and for each line.
    command = [
        "timeout",
        "60",
        "tail",
        "-s",
        "0.01",
        "-n",
        "+1",
        "-F",
        str(project.run_folder / EVENTS),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tail:
        assert tail.stdout is not None
        assert all(tail.stdout.readline() for _ in range(events))
        tail.terminate()  # `timeout` passes it on


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("after", [0, 7, 1, 3])
def test_ctrl_c_keeps_what_arrived(project, after):
    gate = threading.Semaphore(0)
    requested = threading.Event()

    def answer(_: RecordedRequest) -> Reply:
        requested.set()
        return Reply(TEXT, stream=Stream(gate=gate, piece=3))

    with ScriptedServer([answer]) as server:
        process = project.start("--model", "gpt-5", "--json", environ=environment(server))
        for _ in range(after):
            gate.release()
        wait_until_kept(process, project, after)
        assert requested.wait(60)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)  # the server would wait for ever
    assert (process.returncode, b"Traceback" in stderr) == (130, False), stderr
    header, text = "ERROR\ninterrupted\n", (project.run_folder / RESPONSE).read_text()
    assert text.startswith(header)
    assert TEXT.startswith(text.removeprefix(header))
    if after:
        assert len(json.loads((project.run_folder / EVENTS).read_bytes())) == after


def test_a_run_that_was_killed_in_mid_stream_is_shown(project):
    gate = threading.Semaphore(5)
    with ScriptedServer([Reply(TEXT, stream=Stream(gate=gate, piece=3))]) as server:
        process = project.start("--model", "gpt-5", "--json", environ=environment(server))
        wait_until_kept(process, project, 5)
        process.kill()
        process.communicate(timeout=60)
    shown = project.command("runs", "show")
    assert (shown.exit_code, "killed" in shown.stdout) == (0, True), shown.stderr
    assert len(json.loads((project.run_folder / EVENTS).read_bytes())) == 5
