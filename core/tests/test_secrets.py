"""The hook `code_commit_secrets`: hidden from processes, shown nowhere, given to the plugin that
declares them.
"""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from code_commit_testing import Finished, Project, install_plugin

TOKEN = "hook-canary-0123456789-7Q"

WEBHOOK = """
import urllib.request
from code_commit.plugin_api import hookimpl


@hookimpl
def code_commit_secrets():
    return ["HOOK_TOKEN"]


@hookimpl
def code_commit_log_sinks(secret):
    return [Webhook(secret)]


class Webhook:
    def __init__(self, secret):
        self.secret = secret

    def receive(self, record):
        if record.kind == "run.finished":
            url = open("agent-config/hook-url").read()
            request = urllib.request.Request(
                url, b"{}", {"Authorization": f"Bearer {self.secret('HOOK_TOKEN')}"}
            )
            urllib.request.urlopen(request).close()

    def close(self):
        pass
"""

CONFIG = """
[providers]
default_provider = "scripted.default"
[providers.scripted.default]
model = "scripted"
replies = ["^^^a.txt\\nnew\\n^^^end\\n"]
"""

WORKFLOW = """
import os
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "tell",
            "try it",
            (Flag(("--tell",), "try it", selects=True),),
            "thief_plugin:tell",
            roles=None,
        )
    ]


def tell(run):
    token = os.environ["HOOK_TOKEN"]
    run.say(token)
    run.keep("kept.txt", token)
    return Result(Outcome.REACHED, f"the token is {token}", {"token": token})
"""

OWNER = """
from code_commit.plugin_api import Flag, NotReady, Outcome, Result, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_secrets():
    return ["OWN_TOKEN", "UNSET_TOKEN"]


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "own",
            "use it",
            (Flag(("--own",), "use it", selects=True),),
            "owner_plugin:own",
            roles=None,
        )
    ]


def own(run):
    try:
        run.secret("HOOK_TOKEN")
    except NotReady as error:
        denied = f"{error.message}; {error.hint}"
    return Result(
        Outcome.REACHED, f"{len(run.secret('OWN_TOKEN'))} {run.secret('UNSET_TOKEN')} {denied}"
    )
"""


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, build='echo "token: $HOOK_TOKEN, $OTHER"\n')


@pytest.fixture
def plugins(tmp_path):
    folder = install_plugin(tmp_path / "plugins", "webhook", WEBHOOK)
    return install_plugin(
        folder,
        "scripted",
        "from code_commit_testing.scripted_provider import code_commit_providers",
    )


@contextmanager
def web_server():
    """A server on loopback that keeps the `Authorization` header of each request."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", seen
        server.shutdown()


def run(project: Project, plugins, *arguments: str, **environ: str) -> Finished:
    project.write({"agent-config/config.toml": CONFIG})
    return project.command(*arguments, environ={"HOOK_TOKEN": TOKEN, **environ}, plugins=[plugins])


def everything_of(project: Project, finished: Finished) -> str:
    files = [path.read_text("utf-8") for path in project.run_folder.iterdir() if path.is_file()]
    return "\n".join([finished.stdout, finished.stderr, *files])


def failures(finished: Finished) -> list[str]:
    return [
        f"{event['data']['plugin']}: {event['data']['stage']}: {event['data']['error']}"
        for event in finished.events
        if event["kind"] == "plugin.failed"
    ]


@pytest.mark.slow
def test_a_sink_gets_its_secret_and_the_build_does_not(project, plugins):
    with web_server() as (url, seen):
        project.write({"agent-config/hook-url": url})
        finished = run(project, plugins, "--json", OTHER="shown")
    assert finished.exit_code == 0, finished.stderr
    assert seen == [f"Bearer {TOKEN}"]
    assert "token: , shown" in (project.run_folder / "1-build.txt").read_text()
    assert failures(finished) == []
    assert TOKEN not in everything_of(project, finished)


def test_a_workflow_gets_its_own_secret_and_no_other(project, plugins):
    install_plugin(plugins, "owner", OWNER)
    finished = run(project, plugins, "--own", OWN_TOKEN="0123456789")
    assert finished.exit_code == 0, finished.stderr
    denied = "the plugin owner of code-commit-owner asked for the secret 'HOOK_TOKEN', which it does not declare"
    assert (
        f"10 None {denied}; this is a bug in its plugin: code_commit_secrets must declare it\n"
        in finished.stderr
    )


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("value", ["tiny", "two lines\nof a secret"])
def test_a_secret_that_cannot_be_censored_is_not_given(project, plugins, value):
    install_plugin(plugins, "owner", OWNER)
    finished = run(project, plugins, "--own", OWN_TOKEN=value)
    assert finished.exit_code == 3
    assert "variable OWN_TOKEN" in finished.stderr
    assert value not in finished.stderr


def test_a_secret_is_censored_wherever_text_leaves(project, plugins):
    odd = "from code_commit.plugin_api import hookimpl\n@hookimpl\ndef code_commit_secrets():\n    return [{}]\n"
    names = [42, "HOOK TOKEN", "", "HOOK=TOKEN", "4HOOK"]
    install_plugin(plugins, "odd", odd.format(", ".join(map(repr, names))))
    install_plugin(plugins, "broken", odd.format("1 / 0"))
    install_plugin(plugins, "thief", WORKFLOW)
    finished = run(project, plugins, "--tell", "--json")
    assert finished.exit_code == 0, finished.stderr
    failed = [failure.partition(": code_commit_secrets: ") for failure in failures(finished)]
    assert [text for plugin, _, text in failed if plugin == "odd"] == [
        f"a secret is the name of an environment variable, not {name!r}" for name in names
    ]
    assert [text.partition(":")[0] for plugin, _, text in failed if plugin == "broken"] == [
        "ZeroDivisionError"
    ]
    assert TOKEN not in everything_of(project, finished)
    end = finished.events[-1]["data"]
    assert (end["summary"], end["data"]) == ("the token is ***7Q", {"token": "***7Q"})
    assert (project.run_folder / "kept.txt").read_text() == "***7Q"


@pytest.mark.slow
def test_an_exported_run_reaches_a_sink_with_its_secret(project, plugins):
    with web_server() as (url, seen):
        project.write({"agent-config/hook-url": url})
        run(project, plugins)
        exported = project.command(
            "runs", "export", "--sink", "webhook", environ={"HOOK_TOKEN": TOKEN}, plugins=[plugins]
        )
    assert exported.exit_code == 0, exported.stderr
    assert seen == [f"Bearer {TOKEN}"] * 2


def doctor(project, plugins) -> Finished:
    return project.command("plugins", "doctor", "--json", plugins=[plugins])


@pytest.mark.slow
def test_the_doctor_finds_a_sink_with_a_secret_sound(project, plugins):
    (plugins / "webhook_plugin.py").write_text(
        WEBHOOK.replace("Webhook(secret)", 'Webhook(secret("HOOK_TOKEN"))')
    )
    finished = doctor(project, plugins)
    assert [
        problem for problem in finished.document["problems"] if problem["plugin"] == "webhook"
    ] == []


@pytest.mark.slow
def test_the_doctor_finds_a_name_that_no_variable_can_have(project, plugins):
    (plugins / "webhook_plugin.py").write_text(WEBHOOK.replace('"HOOK_TOKEN"]', '"HOOK TOKEN"]'))
    finished = doctor(project, plugins)
    assert finished.exit_code == 1
    [problem] = [
        problem for problem in finished.document["problems"] if problem["plugin"] == "webhook"
    ]
    assert problem["stage"] == "code_commit_secrets"
