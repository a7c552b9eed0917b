"""Several calls at once: their order, and what becomes of a call that is cancelled."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import (
    Finished,
    Project,
    RecordedRequest,
    Reply,
    ScriptedServer,
    Stream,
    install_plugin,
)

PATIENCE = 60.0  # seconds, for what takes no time
# Asks $ASKS prompts at once, takes $TAKES of the answers, and asks $THEN once more.
RACE = """
import os, threading
from pydantic import BaseModel
from code_commit.plugin_api import *

def request(text):
    return Request((Message("user", (Text(text),)),))

def race(run):
    taken = []
    for asks, takes in ((os.environ["ASKS"], os.environ["TAKES"]), (os.environ["THEN"], 9)):
        with run.calls_at_once() as calls:
            for prompt in asks.split():
                name = "deaf/any" if prompt == "deaf" else None
                calls.start(run.model(name=name), request(prompt), label="ask")
            for arrival in calls:
                if len(taken) == int(takes):
                    break
                try:
                    text = arrival.result().text
                    arrival.context.run(run.build)
                except (LimitReached, ProviderFailed) as error:
                    text = type(error).__name__
                taken.append([arrival.number, text])
                if len(taken) == int(takes):
                    break
    return Result(Outcome.REACHED, "over", {"taken": taken})

class Deaf:
    "A provider that waits until it is told to end."
    def __init__(self, config):
        pass
    def complete(self, call):
        told = threading.Event()
        with call.scope.child(told.set):
            told.wait(60)
        raise ProviderError("nobody is there", kind="rejected")
    def close(self):
        pass

@hookimpl
def code_commit_workflows():
    flag = Flag(("--race",), "race", selects=True)
    return [WorkflowDefinition("race", "race", (flag,), "race_plugin:race")]

class Config(BaseModel):
    model: str

@hookimpl
def code_commit_providers():
    code = ("race_plugin:Config", "race_plugin:Deaf")
    return [ProviderDefinition("deaf", {}, "", None, None, ("", "{key}"), *code)]
"""


@pytest.fixture
def race(project: Project, tmp_path: Path) -> Callable[..., Finished]:
    folder = install_plugin(tmp_path / "plugins", "race", RACE)

    def race(
        answer: Callable[[RecordedRequest], Reply],
        asks: str,
        *arguments: str,
        takes: int = 9,
        then: str = "",
        **environ: str,
    ) -> Finished:
        with ScriptedServer([answer] * 9) as server:
            return project.command(
                *("--race", "--model", "gpt-4o", *arguments),
                plugins=[folder],
                environ={
                    "OPENAI_API_KEY": "sk-0123456789-k",
                    "CODE_COMMIT_SANDBOX": "off",
                    "ASKS": asks,
                    "TAKES": str(takes),
                    "THEN": then,
                    **server.environment(),
                    **environ,
                },
            )

    return race


def events(project: Project, kind: str) -> list[dict[str, Any]]:
    """Return the events of a kind so far."""
    found = []
    for file in project.root.glob("logs/*/events.jsonl"):
        for line in file.read_bytes().splitlines():
            with suppress(ValueError):  # the last one may be unfinished
                record = json.loads(line)
                if record["kind"] == kind:
                    found.append(record["data"])
    return found


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def taken(project: Project) -> list[list[Any]]:
    document = json.loads((project.run_folder / "run.json").read_bytes())
    answers: list[list[Any]] = document["data"]["taken"]
    return answers


def test_calls_are_taken_in_the_order_of_arrival_and_numbered_in_that_of_their_start(project, race):
    order = ["c", "a", "b"]

    def answer(request: RecordedRequest) -> Reply:
        place = order.index(request.prompt)
        wait_until(lambda: len(events(project, "call.arrived")) >= place)
        return Reply(request.prompt.upper())

    assert race(answer, "a b c").exit_code == 0
    assert taken(project) == [[3, "C"], [1, "A"], [2, "B"]]
    assert [one["number"] for one in events(project, "call.arrived")] == [3, 1, 2]
    names = sorted(path.name for path in project.run_folder.glob("*-build.txt"))
    assert names == ["1-build.txt", "2-build.txt", "3-build.txt"]


def test_a_cancelled_call_counts_in_full(project, race):
    """Each call may cost $0.32 and costs nothing; the limit allows two that may cost that."""

    def answer(request: RecordedRequest) -> Reply:
        if request.prompt == "a":
            wait_until(lambda: len(events(project, "call.started")) > 1)
        elif request.prompt in {"c", "d"}:  # until the other one is stopped
            wait_until(lambda: len(events(project, "call.finished")) > 2)
        return Reply(request.prompt, fault="hang" if request.prompt == "never" else None)

    finished = race(answer, "a never", "--max-cost", "0.8", takes=1, then="c d")
    assert finished.exit_code == 0, finished.stderr
    texts = {text for _, text in taken(project)}
    assert texts in ({"LimitReached", "a", "c"}, {"LimitReached", "a", "d"})
    assert "cancelled after" in finished.stderr


def test_what_arrived_of_a_cancelled_call_is_kept(project, race):
    gate = threading.Semaphore(3)

    def answer(request: RecordedRequest) -> Reply:
        if request.prompt == "a":
            wait_until(lambda: list(project.root.glob("logs/*/2-ask-response.txt")))
            return Reply("A")
        return Reply("some words of a long reply", stream=Stream(gate=gate))

    assert race(answer, "a b", takes=1, CODE_COMMIT_STREAM="always").exit_code == 0
    kept = (project.run_folder / "2-ask-response.txt").read_text()
    assert kept.startswith("ERROR\ncancelled\nsome")
    assert not kept.endswith("reply")


def test_a_call_that_waits_for_its_next_try_is_cancelled(project, race):
    def answer(request: RecordedRequest) -> Reply:
        if request.prompt == "b":
            return Reply.error(500, retry_after="50")
        wait_until(lambda: events(project, "call.retried"))
        return Reply("A")

    assert race(answer, "a b", takes=1).exit_code == 0
    [failed] = [call for call in events(project, "call.finished") if call["error"]]
    assert (failed["number"], failed["error"]) == (2, "cancelled")
    assert failed["seconds"] < 50


def test_a_provider_with_its_own_connections_is_told_of_the_end_of_a_call(project, race):
    def answer(request: RecordedRequest) -> Reply:
        wait_until(lambda: len(events(project, "call.started")) > 1)
        return Reply("A")

    assert race(answer, "a deaf", takes=1).exit_code == 0
    [failed] = [call for call in events(project, "call.finished") if call["error"]]
    assert (failed["model"], failed["error"]) == ("any", "cancelled")
    assert failed["seconds"] < 50
