"""How far it is from a workflow to httpx."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from code_commit_testing import Reply, install_plugin

FRAMES = """
import json, os, sys, threading, traceback
from code_commit_testing.loopback_provider import LOOPBACK, LoopbackWire
from code_commit.plugin_api import hookimpl
from dataclasses import replace

def frames(frame):
    return [each.filename for each in traceback.extract_stack(frame)]

def watched(config):
    import httpx

    post = httpx.HTTPTransport.handle_request

    def handle_request(self, request):
        waits = frames(sys._current_frames()[threading.main_thread().ident])
        sends = frames(sys._getframe(1))
        with open(os.environ["FRAMES"], "w") as file:
            json.dump(waits + sends, file)
        return post(self, request)

    httpx.HTTPTransport.handle_request = handle_request
    return Streaming(config.model)

class Streaming(LoopbackWire):
    def encode_stream(self, request):
        return self.encode(request)

    def stream(self):
        raise AssertionError("the server answers with whole replies")

@hookimpl
def code_commit_providers():
    return [replace(LOOPBACK, name="watched", factory="watched_plugin:watched")]
"""


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["always", "never"])
def test_from_the_workflow_to_httpx_are_few_frames_and_no_module_twice(project, asking, server, tmp_path, stream):
    install_plugin(asking, "watched", FRAMES)
    server.script(Reply("1"), Reply("2"))
    seen = tmp_path / "frames.json"
    environ = {"LOOPBACK_BASE_URL": server.url("openai"), "FRAMES": str(seen), "CODE_COMMIT_STREAM": stream}
    command = ("--ask", "--model", "watched/gpt-5", "--max-cost", "5")
    finished = project.command(*command, plugins=[asking], environ=environ)
    assert finished.exit_code == 0, finished.stderr
    stack = json.loads(seen.read_text())
    loop = max(index for index, name in enumerate(stack) if name.endswith("asking_plugin.py"))
    ours = [Path(name) for name in stack[loop + 1 :] if "code_commit/" in name]
    assert len(ours) <= 8, ours
    entered = [one for one, before in zip(ours, [None, *ours], strict=False) if one != before]
    assert len(entered) == len(set(entered)), entered
    assert [path.stem for path in entered] == [
        "chain", "call_log", "limits", "plugin_code", "provider", "connection",
    ]  # fmt: skip
