"""A run whose plugin hangs names the part that hangs, and its distribution."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

# Each part waits until the log names it: the test hangs, up to a limit, where it does not.
PLUGIN = """
import threading, time
from pathlib import Path
import code_commit.run.session as session
from code_commit.plugin_api import *
from pydantic import BaseModel

session._HANGS_SECONDS = 0.05
PAUSE = threading.Event()


def hang(part):
    warning = f"no progress for 0.05 s in {part} of code-commit-odd"
    end = time.monotonic() + 20
    while not PAUSE.wait(0.02) and time.monotonic() < end:
        if any(warning in log.read_text() for log in Path("logs").glob("*/events.jsonl")):
            return
    raise TimeoutError(f"the log does not name {part}")


def layer(call, next):
    hang("the model layer layer")
    return next(call)


@hookimpl
def code_commit_model_layers(settings):
    hang("the hook code_commit_model_layers")
    return [layer]


class Sink:
    name = "odd"
    seen = False

    def receive(self, record):
        if not Sink.seen:
            Sink.seen = True
            hang("the log sink odd")

    def close(self):
        pass


@hookimpl
def code_commit_log_sinks(settings):
    return [Sink()]


class Config(BaseModel):
    model: str = "odd"


class Answering:
    def complete(self, call):
        return Completion(Message("assistant", (Text("x"),)), Finish.STOP, "", Usage(), "odd", {})

    def close(self):
        pass


def provider(config):
    return Answering()


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "odd",
            {"odd": ()},
            "",
            None,
            None,
            ("a", "{key}"),
            "odd_plugin:Config",
            "odd_plugin:provider",
        )
    ]


class Check:
    name = "gate"

    def accept(self, run, submission):
        hang("the acceptance check gate")
        return Verdict(accepted=True)


@hookimpl
def code_commit_acceptance(settings):
    return [Check()]


class Rule:
    name = "odd"

    def judge(self, changes, tree):
        hang("the path rule odd")
        yield from ()


@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "odd", "odd", (Flag(("--odd",), "odd", selects=True),), "odd_plugin:run", writes=True
        )
    ]


def run(run):
    hang("the workflow odd")
    run.model().complete(Request((Message("user", (Text("x"),)),)), label="query")
    changes = [Change("a.txt", b"a")]
    run.check(changes)
    run.apply(changes)
    run.accept(Submission(changes=changes, query="q", build=run.build()))
    return Result(Outcome.REACHED, "done")
"""


def test_the_log_names_what_hangs(tmp_path):
    project = Project.create(tmp_path)
    plugins = install_plugin(tmp_path / "plugins", "odd", PLUGIN, group="code_commit.path_rules")
    finished = project.command("--odd", "--json", "--quiet", "--model", "odd", plugins=[plugins])
    assert finished.exit_code == 0, (finished.stderr, finished.stdout)
    for part in ("hook code_commit_model_layers", "log sink odd", "workflow odd"):
        assert f"no progress for 0.05 s in the {part} of code-commit-odd" in finished.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hangs", "words", "part"),
    [
        ("code_commit_providers", ["plugins"], "hook code_commit_providers"),
        ("make", ["--model", "odd"], "factory of the provider odd"),
    ],
)
def test_code_that_hangs_before_a_run_is_named_on_stderr(tmp_path, hangs, words, part):
    project = Project.create(tmp_path)
    code = """
import io, sys, time
from code_commit.plugin_api import ProviderDefinition, hookimpl

class Seen(io.TextIOBase):
    text = ""
    def write(self, text):
        Seen.text += text
        return sys.__stderr__.write(text)
    def flush(self):
        sys.__stderr__.flush()

def hang(name):
    if name == HANGS:
        sys.stderr = Seen()
        end = time.monotonic() + 20
        while "odd" not in Seen.text and time.monotonic() < end:
            pass

@hookimpl
def code_commit_providers():
    hang("code_commit_providers")
    names = {"config": "code_commit_testing.scripted_provider:ScriptedConfig"}
    return [ProviderDefinition("odd", {"odd": ()}, "", factory="odd_plugin:make", **names)]

def make(config):
    hang("make")
"""
    plugins = install_plugin(tmp_path / "plugins", "odd", f"HANGS = {hangs!r}\n{code}")
    finished = project.command(*words, plugins=[plugins])
    assert f"no progress for 5 s in the {part} of code-commit-odd" in finished.stderr
