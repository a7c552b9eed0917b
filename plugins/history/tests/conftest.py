"""A project with earlier runs."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project, install_plugin

PROVIDER = """
import json, os, time
from pydantic import BaseModel
from code_commit.plugin_api import Completion, Finish, Message, ProviderDefinition, ProviderError, Text, Usage, hookimpl

class Config(BaseModel):
    model: str = "gemini-2.5-flash"

class Scripted:
    def __init__(self, config):
        self.model = config.model
        self.replies = json.loads(os.environ["REPLIES"])
    def complete(self, call):
        reply = self.replies.pop(0)
        if reply == "hang":
            time.sleep(600)
        if reply == "down":
            raise ProviderError("it is down", kind="rejected")
        return Completion(Message("assistant", (Text(reply),)), Finish.STOP, "stop", Usage(1000, 100), self.model, {})
    def close(self):
        pass

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("scripted", {}, "", None, "SCRIPTED_API_KEY",
                               ("authorization", "{key}"), "scripted_plugin:Config", "scripted_plugin:Scripted")]
"""

LEDGER = """
from pathlib import Path
from code_commit.plugin_api import hookimpl

class Ledger:
    def __init__(self):
        self.rows = []
    def receive(self, record):
        if record.kind == "run.started":
            self.folder = Path(record.data["root"], record.data["folder"])
        if record.kind == "changes.applied":
            self.rows.append((self.folder / record.data["diff"]).read_text())
        if self.folder.parent.parent.name == "break":
            raise RuntimeError("on purpose")
    def close(self):
        (self.folder / "ledger.txt").write_text("".join(self.rows))

@hookimpl
def code_commit_log_sinks(settings):
    return [Ledger()]
"""


class Runs:
    """A project with a provider that returns the replies of the test."""

    repaired = failed = unknown = ""  # the runs of the fixture `past_runs`
    sandbox = "off"  # most of these tests are not about it, and it takes time
    baseline = "never"  # likewise

    def __init__(self, folder, name="work"):
        self.plugins = [install_plugin(folder / "plugins", "scripted", PROVIDER)]
        self.project = Project.create(
            folder / name, build="echo built >> built.txt\ngrep -q good a.txt\n"
        )
        self.temporary = folder / name / "temporary"
        self.temporary.mkdir()

    def run(self, *replies, model="scripted/gemini-2.5-flash", arguments=(), plugins=None):
        environ = {
            "REPLIES": json.dumps(replies),
            "NO_COLOR": "1",
            "CODE_COMMIT_SANDBOX": self.sandbox,
            "CODE_COMMIT_BUILD__BASELINE": self.baseline,
        }
        plugins = self.plugins if plugins is None else plugins
        finished = self.project.command(
            "--model", model, *arguments, environ=environ, plugins=plugins
        )
        return finished, self.project.run_folder.name

    def command(self, *arguments, plugins=None):
        environ = {
            "TMPDIR": str(self.temporary),
            "CODE_COMMIT_SANDBOX": self.sandbox,
            "CODE_COMMIT_BUILD__BASELINE": self.baseline,
        }
        return self.project.command(
            *arguments, environ=environ, plugins=self.plugins if plugins is None else plugins
        )

    @staticmethod
    def replaced(path, content):
        return f"^^^{path}\n{content}^^^end\n"

    @property
    def scratch_copies(self):
        return list(self.temporary.glob("code-commit-replay-*"))


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


@pytest.fixture(scope="module")
def past_runs(tmp_path_factory):
    """Three runs: one with a repair, one that fails, and one of a model with an unknown price."""
    runs = Runs(tmp_path_factory.mktemp("past-runs"))
    bad, good = (runs.replaced("a.txt", text) for text in ("bad\n", "good\n"))
    runs.repaired = runs.run(bad, "no file replacement", good)[1]
    runs.failed = runs.run("down", model="scripted/unpriced")[1]
    runs.unknown = runs.run(runs.replaced("a.txt", "good too\n"), model="scripted/unpriced")[1]
    return runs


@pytest.fixture
def ledger(runs, tmp_path):
    """Install a log sink that writes the diffs of a run to `ledger.txt`; it fails in a project
    named "break".
    """
    return [*runs.plugins, install_plugin(tmp_path / "ledger", "ledger", LEDGER)]
