"""A secret that is made during a run and hidden with `ModelCall.hide` appears nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Project, install_plugin

TOKENS = [f"minted-{name}-0123456789abcdef" for name in ("one", "two")]

# The first reply streams a token in two pieces. The second one fails and shows it.
PLUGIN = f"""
import threading
from pydantic import BaseModel
from code_commit.plugin_api import (
    Completion, Delta, Finish, Flag, Message, ProviderDefinition, StreamEvent, Text, Usage,
    WorkflowDefinition, hookimpl,
)

TOKENS = {TOKENS!r}

class Config(BaseModel):
    model: str

class Minting:
    def __init__(self, config):
        self.calls = 0

    def complete(self, call):
        threads = [threading.Thread(target=call.hide, args=(token,)) for token in TOKENS]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.calls += 1
        call.warn(f"minted {{TOKENS}}")
        if self.calls > 1:
            raise RuntimeError(f"failed with {{TOKENS}}")
        for piece in (TOKENS[0][:9], TOKENS[0][9:]):
            call.progress(StreamEvent("", b'{{"piece": "%s"}}' % piece.encode()))
            call.progress(Delta("thinking", piece))
        call.progress(Delta("text", "done"))
        message = Message("assistant", (Text("done"),))
        return Completion(message, Finish.STOP, TOKENS[1], Usage(), "m", {{"token": TOKENS}})

    def close(self):
        pass

def run(run):
    from code_commit.plugin_api import Request
    model = run.model()
    request = Request((Message("user", (Text("hi"),)),))
    model.complete(request, label="first")
    run.say(f"said {{TOKENS}}")
    request = Request((Message("user", (Text(f"sent {{TOKENS}}"),)),))
    model.complete(request, label="second")

@hookimpl
def code_commit_providers():
    return [ProviderDefinition(
        name="minting", models={{"minting-1": ()}}, base_url="", base_url_variable=None,
        key_variable=None, key_header=("", "{{key}}"),
        config=f"{{__name__}}:Config", factory=f"{{__name__}}:Minting",
    )]

@hookimpl
def code_commit_workflows():
    flag = Flag(("--mint",), "mint", selects=True)
    code = f"{{__name__}}:run"
    return [WorkflowDefinition("mint", "Mint.", (flag,), code, writes=False)]
"""


@pytest.mark.parametrize("stream", ["always", "never"])
def test_a_secret_of_a_run_appears_nowhere(tmp_path: Path, stream: str) -> None:
    project = Project.create(tmp_path)
    plugin = install_plugin(tmp_path / "plugins", "minting", PLUGIN)
    environ = {"CODE_COMMIT_STREAM": stream}
    flags = ("--mint", "--model", "minting-1", "--debug")
    finished = project.command(*flags, environ=environ, plugins=[plugin])
    assert finished.exit_code == 4, finished.stderr
    assert "said" in finished.stdout
    assert "failed with" in finished.stderr
    files = [file for file in (project.root / "logs").rglob("*") if file.is_file()]
    texts = [finished.stdout, finished.stderr, *(file.read_text("utf-8") for file in files)]
    joined = ["".join(text.split()) for text in texts]
    pieces = [piece for token in TOKENS for piece in (token, token[:9], token[9:])]
    assert not [piece for piece in pieces for text in joined if piece in text]
    [sent] = [text for text in texts if text.startswith("sent")]
    assert sent.count("***") == len(TOKENS)
