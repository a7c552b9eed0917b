"""A workflow of a plugin watches its replies, and the provider of a plugin streams them."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import install_plugin

PLUGIN = """
import json, os
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
    StopReading,
    Text,
    Usage,
    WorkflowDefinition,
    hookimpl,
)


class Config(BaseModel):
    model: str = "streamer"


class Streamer:
    tries = 0

    def __init__(self, config):
        pass

    def complete(self, call):
        self.tries += 1
        said = []
        try:
            for piece in json.loads(os.environ["PIECES"]):
                if piece == "DROP" and self.tries == 1:
                    raise ProviderError("it broke off", kind="network", retry_after=0)
                said.append(piece)
                call.progress(Delta("text", piece))
        except StopReading as stopped:
            stopped.usage = Usage(input=123) if "123" in said else None
            raise
        return Completion(
            Message("assistant", (Text("".join(said)),)),
            Finish.STOP,
            "stop",
            Usage(1, 2),
            "streamer",
            {},
        )

    def close(self):
        pass


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "streamer",
            {"streamer": ()},
            "",
            None,
            None,
            ("", "{key}"),
            "streamer_plugin:Config",
            "streamer_plugin:Streamer",
        )
    ]


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--ask",), "ask", selects=True),)
    return [WorkflowDefinition("asking", "ask", flags, "streamer_plugin:ask", writes=False)]


def two_sentences():
    seen = []

    def read(piece):
        seen.append(piece)
        sentences = "".join(seen).split(".")
        return len(".".join(sentences[:2])) + 1 if len(sentences) > 2 else None

    return read


def twice(call, next):
    next(call)
    return next(call)


@hookimpl
def code_commit_model_layers():
    return [twice] if "TWICE" in os.environ else []


def ask(run):
    request = Request((Message("user", (Text("hi"),)),))
    completion = run.model().complete(request, label="ask", watch=two_sentences)
    return Result(
        Outcome.REACHED, "done", {"text": completion.text, "finish": completion.finish.value}
    )
"""


@pytest.fixture
def ask(project, tmp_path):
    """Return a function that returns the text and the finish that a workflow gets, and the data of
    its call.
    """
    plugins = [install_plugin(tmp_path / "plugins", "streamer", PLUGIN)]

    def ask(*pieces: str, early: bool, **more: str):
        environ = {
            "PIECES": json.dumps(pieces),
            "CODE_COMMIT_STOP_EARLY": str(early).lower(),
            **more,
        }
        finished = project.command(
            "--ask", "--json", "--model", "streamer", plugins=plugins, environ=environ
        )
        assert finished.exit_code == 0, finished.stderr
        call = next(event["data"] for event in finished.events if event["kind"] == "call.finished")
        answer = finished.events[-1]["data"]["data"]
        return answer["text"], answer["finish"], call

    return ask


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("early", [True, False])
def test_a_workflow_gets_the_text_that_decides(ask, project, early):
    text, finish, call = ask("One.", " Two. Th", "ree.", early=early)
    assert (text, finish) == ("One. Two.", "stopped_early")
    assert call["finish"] == ("stopped_early" if early else "stop")
    response = "One. Two. Th" if early else "One. Two. Three."
    assert (project.run_folder / "1-ask-response.txt").read_text() == response


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
def test_a_reply_that_does_not_decide_is_whole(ask, early):
    assert ask("One.", " Two", early=early)[:2] == ("One. Two", "stop")


@pytest.mark.slow
def test_the_tokens_are_those_of_the_service_or_an_estimate(ask):
    assert ask("123", " and. Some words.", "more", early=True)[2]["input_tokens"] == 123
    call = ask("One. Some words.", "more", early=True)[2]
    assert 1 <= call["input_tokens"] <= 3
    assert 3 <= call["output_tokens"] <= 8


def test_each_try_is_watched_from_its_start(ask):
    assert ask("One.", "DROP", " Two.", "more", early=True)[:2] == (
        "One.DROP Two.",
        "stopped_early",
    )


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [(["One.", " Two"], "One. Two"), (["One.", " Two. Th", "ree."], "One. Two. Th")],
)
def test_what_a_layer_asks_for_again_is_watched_and_kept_from_its_start(ask, project, pieces, kept):
    text, _, call = ask(*pieces, early=True, TWICE="")
    decided = len(pieces) > 2
    assert text == ("One. Two." if decided else "One. Two")
    assert call["finish"] == ("stopped_early" if decided else "stop")
    for name in ("1-ask-response-try-1.txt", "1-ask-response.txt"):
        assert (project.run_folder / name).read_text() == kept
