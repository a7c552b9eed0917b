"""The hook `code_commit_after_run`: called when the files are final, whatever the workflow did."""

from __future__ import annotations

import json
import signal
import time

import pytest

from code_commit_testing import Finished, Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers"

CONFIG = """
[providers]
default_provider = "scripted.default"
[providers.scripted.default]
model = "scripted"
replies = ["^^^a.txt\\nnew\\n^^^end\\n", "^^^a.txt\\nnewer\\n^^^end\\n"]
[plugins.commit]
repairs = 0
"""

NOTE = """
import json
from pydantic import BaseModel
from code_commit.plugin_api import Change, CodeCommitError, hookimpl, read_records

class Section(BaseModel):
    word: str = "said"

@hookimpl
def code_commit_settings():
    return "note_plugin:Section"

@hookimpl
def code_commit_secrets():
    return ["NOTE_TOKEN"]

def refused(step, *arguments):
    try:
        step(*arguments)
    except CodeCommitError as error:
        return type(error).__name__
    return "allowed"

@hookimpl
def code_commit_after_run(settings, run, ending):
    kinds = [record.kind for record in read_records(run.folder / "events.jsonl")]
    seen = {
        "ending": [ending.outcome, ending.exit_code, ending.summary, dict(ending.data)],
        "finished": "run.finished" in kinds,
        "a.txt": path.read_text() if (path := run.root / "a.txt").is_file() else None,
        "settings": [settings.word, run.settings.word],
        "secret": run.secret("NOTE_TOKEN"),
        "state": run.state.name,
        "apply": refused(run.apply, [Change("a.txt", b"late")]),
        "execute": refused(lambda: run.execute(["true"], timeout=9)),
        "git": run.git("diff", "--name-only").decode(),
    }
    (run.root / "agent-config/seen.json").write_text(json.dumps(seen))
    return f"noted: {settings.word}"
"""

SLEEPS = """
import time
from code_commit.plugin_api import MessageLogged, hookimpl

@hookimpl
def code_commit_after_run(run):
    run.emit(MessageLogged("asleep"))
    time.sleep(600)
"""

RAISES = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "raises",
            "a bug",
            (Flag(("--raises",), "a bug", selects=True),),
            "raises_plugin:run",
            roles=None,
            writes=False,
        )
    ]


def run(run):
    raise ValueError("a bug")
"""


@pytest.fixture
def project(tmp_path):
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": CONFIG})
    return project


@pytest.fixture
def plugins(tmp_path):
    folder = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    return install_plugin(folder, "note", NOTE)


def run(project: Project, plugins, *arguments: str, **environ: str) -> Finished:
    environ = {"NOTE_TOKEN": "note-canary-0123456789", **environ}
    return project.command(*arguments, environ=environ, plugins=[plugins])


def seen(project: Project) -> dict:
    return json.loads(project.read("agent-config/seen.json"))


def failures(finished: Finished) -> list[str]:
    return [
        f"{event['data']['plugin']}: {event['data']['stage']}: {event['data']['error']}"
        for event in finished.events
        if event["kind"] == "plugin.failed"
    ]


@pytest.mark.slow
def test_a_plugin_acts_when_the_files_are_final(project, plugins):
    finished = run(project, plugins)
    assert finished.exit_code == 0, finished.stderr
    note = seen(project)
    last = json.loads((project.run_folder / "events.jsonl").read_text().splitlines()[-1])["data"]
    assert note["ending"] == [last["outcome"], last["exit_code"], last["summary"], last["data"]]
    assert not note["finished"]
    assert (note["a.txt"], note["git"]) == ("new\n", "a.txt\n")
    assert note["settings"] == ["said", "said"]
    assert (note["secret"], note["state"]) == ("note-canary-0123456789", "note")
    assert (note["apply"], note["execute"]) == ("NotReady", "Interrupted")


@pytest.mark.slow
def test_its_line_is_shown_and_logged(project, plugins):
    finished = run(project, plugins)
    assert "] noted: said\n" in finished.stderr
    (project.root / "a.txt").write_text("old\n")
    events = run(project, plugins, "--json", "--quiet").events
    assert [event["kind"] for event in events][-2:] == ["message", "run.finished"]
    assert events[-2]["data"]["text"] == "noted: said"


def test_it_is_called_after_a_failed_run_with_the_restored_files(project, plugins):
    project.write({"build.sh": "exit 1\n"})
    finished = run(project, plugins, "--on-failure", "restore")
    assert finished.exit_code == 1
    note = seen(project)
    last = json.loads((project.run_folder / "events.jsonl").read_text().splitlines()[-1])["data"]
    assert note["ending"] == ["not_reached", 1, last["summary"], last["data"]]
    assert (note["a.txt"], note["apply"], note["execute"]) == ("old\n", "NotReady", "Interrupted")
    assert (note["settings"], note["secret"], note["state"]) == (
        ["said"] * 2,
        "note-canary-0123456789",
        "note",
    )
    assert (note["finished"], note["git"]) == (False, "build.sh\n")
    assert "] noted: said\n" in finished.stderr


@pytest.mark.slow
def test_it_is_called_where_files_cannot_be_restored(project, plugins):
    project.write(
        {
            ".gitignore": "agent-config\nlogs\n*.tmp\n",
            "build.sh": "rm a.txt; mkdir a.txt; touch a.txt/x.tmp; exit 1\n",
        }
    )
    finished = run(project, plugins, "--on-failure", "restore")
    assert finished.exit_code == 3
    assert "error: a.txt cannot be changed: it is a folder that contains x.tmp\n" in finished.stderr
    assert seen(project)["ending"][:2] == ["not_ready", 3]


RETURNS = """
from code_commit.plugin_api import NotReady, hookimpl

@hookimpl
def code_commit_after_run(run):
    BODY
"""


# What each plugin does, and what is told of it.
WRONG = {
    "a-number": (
        "return 7",
        "code_commit_after_run: TypeError: it must return a string or None, not int",
    ),
    "a-list": ("return [7]", "code_commit_after_run: it must return a string or None, not int"),
    "an-object": (
        "return object()",
        "code_commit_after_run: TypeError: it must return a string or None, not object",
    ),
    "an-empty-text": ("return ''", None),
    "exits": ("raise SystemExit('broken')", "code_commit_after_run: SystemExit: broken"),
    "not-ready": (
        "raise NotReady('nope', hint='try later')",
        "code_commit_after_run: NotReady: nope (hint: try later)",
    ),
    "async": (
        "async def later(): pass\n    return later()",
        "code_commit_after_run: TypeError: it is async; use a plain function",
    ),
    "a-record": ("run.emit(7)", "emit: AttributeError: 'int' object has no attribute 'kind'"),
}


def test_errors_name_the_plugin_and_change_no_outcome(project, plugins):
    for name, (body, _) in WRONG.items():
        install_plugin(plugins, name, RETURNS.replace("BODY", body))
    finished = run(project, plugins, "--json")
    assert finished.exit_code == 0
    assert sorted(failures(finished)) == sorted(
        f"{name}: {said_by_it}" for name, (_, said_by_it) in WRONG.items() if said_by_it
    )
    messages = [event["data"]["text"] for event in finished.events if event["kind"] == "message"]
    assert messages == ["noted: said"]
    assert finished.events[-1]["data"]["outcome"] == "reached"
    assert "never awaited" not in finished.stderr


FAILING_SINK = """
from code_commit.plugin_api import hookimpl

class Sink:
    def receive(self, record):
        raise KeyError("on purpose")
    def close(self):
        pass

@hookimpl
def code_commit_log_sinks():
    return [Sink()]
"""


@pytest.mark.slow
def test_debug_shows_where_plugins_failed(project, plugins):
    install_plugin(plugins, "returns", RETURNS.replace("BODY", "return 1 / 0"))
    install_plugin(plugins, "gone", "import nowhere_to_be_found")
    install_plugin(plugins, "sink", FAILING_SINK)
    finished = run(project, plugins, "--debug")
    assert finished.exit_code == 0
    assert "Traceback" not in run(project, plugins).stderr
    assert 'returns_plugin.py", line' in finished.stderr
    assert 'gone_plugin.py", line 1' in finished.stderr
    assert 'sink_plugin.py", line' in finished.stderr
    assert finished.stderr.count("Traceback") == 3


def test_it_is_called_when_the_workflow_raised(project, plugins):
    install_plugin(plugins, "raises", RAISES)
    finished = run(project, plugins, "--raises", "--json")
    assert finished.exit_code == 70
    assert seen(project)["ending"][:2] == ["internal", 70]
    assert "ValueError: a bug" in seen(project)["ending"][2]


def test_what_takes_too_long_is_reported_and_left_behind(project, tmp_path):
    # No other one, which could be late, too.
    plugins = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    install_plugin(plugins, "asleep", SLEEPS)
    project.write({"agent-config/config.toml": "after_run_timeout_seconds = 0.5\n" + CONFIG})
    finished = run(project, plugins, "--json")
    assert finished.exit_code == 0
    assert failures(finished) == ["asleep: code_commit_after_run: it did not end within 0.5 s"]
    assert finished.events[-1]["data"]["outcome"] == "reached"


@pytest.mark.slow
def test_after_ctrl_c_a_plugin_gets_little_time(project, plugins):
    install_plugin(plugins, "raises", RAISES.replace('ValueError("a bug")', "KeyboardInterrupt"))
    install_plugin(plugins, "asleep", SLEEPS)
    finished = run(project, plugins, "--raises", "--json")
    assert finished.exit_code == 130, finished.stderr
    assert failures(finished) == ["asleep: code_commit_after_run: it did not end within 5 s"]


def test_ctrl_c_ends_it_and_changes_no_outcome(project, plugins):
    install_plugin(plugins, "asleep", SLEEPS)
    with project.start("--json", plugins=[plugins]) as process:
        while b'"asleep"' not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        # Far from the 600 s that the plugin would take.
        stdout, stderr = process.communicate(timeout=60)
    finished = Finished(process.returncode, stdout.decode(), stderr.decode())
    assert failures(finished) == ["asleep: code_commit_after_run: interrupted before it ended"]
    assert (finished.exit_code, finished.events[-1]["data"]["outcome"]) == (0, "reached")
    assert not (project.root / "agent-config/seen.json").exists()  # what is left is not called


DATA = (
    RAISES.replace(
        'raise ValueError("a bug")', 'return Result(Outcome.REACHED, "x", {"got": run.secret("T")})'
    ).replace("import Flag", "import Flag, Outcome, Result")
    + "\n@hookimpl\ndef code_commit_secrets():\n    return ['T']\n"
)


def test_the_data_of_the_ending_holds_no_key(project, plugins):
    install_plugin(plugins, "raises", DATA)
    finished = run(project, plugins, "--raises", T="raised-canary-0123456789")
    assert finished.exit_code == 0, finished.stderr
    assert seen(project)["ending"] == ["reached", 0, "x", {"got": "***89"}]


CLOSES_SLOWLY = """
import time
from code_commit.plugin_api import hookimpl

class Slow:
    def receive(self, record):
        pass

    def close(self):
        open("agent-config/closing", "w").close()
        time.sleep(600)

class Next(Slow):
    def close(self):
        open("agent-config/next-closed", "w").close()

@hookimpl
def code_commit_log_sinks():
    return [Slow(), Next()]
"""


def test_ctrl_c_while_a_sink_closes_adds_no_second_ending(project, plugins):
    install_plugin(plugins, "slow", CLOSES_SLOWLY)
    with project.start("--json", plugins=[plugins]) as process:
        while not (project.root / "agent-config/closing").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # Less than the 600 s that the sink would take.
        stdout, stderr = process.communicate(timeout=60)
    finished = Finished(process.returncode, stdout.decode(), stderr.decode())
    assert [
        event["data"]["outcome"] for event in finished.events if event["kind"] == "run.finished"
    ] == ["reached"]
    assert finished.exit_code == 0
    assert (project.root / "agent-config/next-closed").exists()
