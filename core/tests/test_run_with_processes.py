"""Processes and changes of a workflow: what they may write, what is taken back, what is refused."""

from __future__ import annotations

import signal
from textwrap import dedent, indent

import pytest

from code_commit_testing import Project, install_plugin

PLUGIN = """
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import (
    Change, CodeCommitError, Flag, Outcome, Refusal, Result, WorkflowDefinition, hookimpl,
)

@hookimpl
def code_commit_workflows():
    work = Flag(("--work",), "a test", selects=True)
    reads = Flag(("--reads",), "a test", selects=True)
    return [
        WorkflowDefinition("work", "a test", (work,), "work_plugin:work"),
        WorkflowDefinition("reads", "a test", (reads,), "work_plugin:work", writes=False),
    ]

def tried(step, *arguments, **options):
    try:
        return step(*arguments, **options)
    except CodeCommitError as error:
        return [type(error).__name__, error.message, error.hint]
    except TypeError as error:
        return str(error)

def work(run):
    {code}
    return Result(Outcome.REACHED, "done", {{"given": given}})
"""


@pytest.fixture
def run(tmp_path):
    project = Project.create(tmp_path)

    def run(code: str, *arguments: str, **options):
        body = indent(dedent(code), "    ").strip()
        folder = install_plugin(tmp_path / "plugins", "work", PLUGIN.format(code=body))
        arguments = (
            "--model",
            "scripted",
            "--json",
            *(arguments or ("--work", "--sandbox", "off")),
        )
        finished = project.command(*arguments, plugins=[folder], **options)
        assert finished.exit_code == 0, finished.stderr
        return project, finished, finished.events[-1]["data"]["data"]["given"]

    return run


def test_what_a_command_writes_elsewhere_is_put_back_and_told(run):
    command = "['sh', '-c', 'echo new > a.txt; echo mine > mine.txt; echo stray > stray.txt']"
    project, finished, answers = run(f"""
        with run.limit_writes(["mine.txt"]) as undone:
            run.execute({command}, timeout=60)
        with run.limit_writes(["mine.txt"]) as nothing:
            pass
        given = [sorted(undone), list(nothing)]
    """)
    assert answers == [["a.txt", "stray.txt"], []]
    assert (project.read("a.txt"), project.read("mine.txt")) == ("old\n", "mine\n")
    assert not (project.root / "stray.txt").exists()
    undone = [event["data"] for event in finished.events if event["kind"] == "changes.undone"]
    reason = "the command may write only mine.txt; `code-commit redo` brings the rest back"
    assert undone == [{"paths": ["a.txt", "stray.txt"], "reason": reason, "replaced": []}]
    assert project.command("redo").stdout == "a.txt\nstray.txt\n"
    assert (project.read("a.txt"), project.read("stray.txt")) == ("new\n", "stray\n")


LATE = """
import threading, time
from pathlib import Path
from code_commit_testing.scripted_provider import SCRIPTED
from code_commit.plugin_api import *

class Deaf:
    def __init__(self, config):
        pass

    def complete(self, call):
        told = threading.Event()
        with call.scope.child(told.set):
            Path("logs/asked").touch()
            told.wait(60)
        raise ProviderError("nobody is there", kind="rejected")

    def close(self):
        Path("logs/closed").touch()

@hookimpl
def code_commit_workflows():
    flag = Flag(("--late",), "a test", selects=True)
    return [WorkflowDefinition("late", "a test", (flag,), "late_plugin:late", writes=False)]

@hookimpl
def code_commit_providers():
    code = (SCRIPTED.config, "late_plugin:Deaf")
    return [ProviderDefinition("deaf", {}, "", None, None, ("", "{key}"), *code)]

def late(run):
    request = Request((Message("user", (Text("hi"),)),))
    command = ["sh", "-c", "echo > logs/ran; exec sleep 60"]
    model = run.model()
    for step in (
        lambda: model.complete(request, label="late"),
        lambda: run.execute(command, timeout=60),
    ):
        threading.Thread(target=step, daemon=True).start()
    while not (Path("logs/asked").exists() and Path("logs/ran").exists()):
        time.sleep(0.01)
    return Result(Outcome.REACHED, "done")
"""


def test_a_run_that_ends_ends_the_calls_and_processes_of_its_threads(tmp_path):
    project = Project.create(tmp_path / "made")
    folder = install_plugin(tmp_path / "plugins", "late", LATE)
    finished = project.command(
        *("--late", "--model", "deaf/any", "--json", "--sandbox", "off"), plugins=[folder]
    )
    assert finished.exit_code == 0, finished.stderr
    ended = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    assert [call["error"] for call in ended] == ["the run ended before the call did"]
    [log] = project.run_folder.glob("*command.txt")
    assert "interrupted (Interrupted)" in log.read_text()
    assert (project.root / "logs/closed").exists()


@pytest.mark.slow
def test_a_provider_that_does_not_close_cannot_keep_an_interrupted_run(tmp_path):
    project = Project.create(tmp_path / "made")
    code = LATE.replace('Path("logs/closed").touch()', "time.sleep(600)")
    code = code.replace(
        "    while not", '    model.complete(request, label="asked")\n    while not'
    )
    folder = install_plugin(tmp_path / "plugins", "late", code)
    arguments = ("--late", "--model", "deaf/any", "--json", "--sandbox", "off")
    with project.start(*arguments, plugins=[folder]) as process:
        while not (project.root / "logs/asked").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_what_is_told_of_a_process(run):
    _, finished, answers = run("""
        results = [
            run.execute(["sh", "-c", "cat; exit 3"], timeout=60, stdin=b"words", label="cat"),
            run.execute(["sleep", "60"], timeout=0.1),
            run.execute(["sh", "-c", "kill -9 $$"], timeout=60),
        ]
        given = [[result.output.decode(), result.exit_code, result.timed_out] for result in results]
    """)
    assert answers == [["words", 3, False], ["", None, True], ["", None, False]]
    begun, ended = (
        [event["data"] for event in finished.events if event["kind"] == f"process.{step}"]
        for step in ("started", "finished")
    )
    cat = {"argv": ["sh", "-c", "cat; exit 3"], "log": "cat.txt"}
    assert begun[0] == cat | {"sandbox": "off"}
    seconds = ended[0].pop("seconds")
    assert 0 < seconds == round(seconds, 3)
    assert ended[0] == cat | {
        "exit_code": 3,
        "timed_out": False,
        "ending": "ended with exit code 3",
        "tampered": [],
        "last_lines": "",
    }
    assert [(event["exit_code"], event["timed_out"], event["log"]) for event in ended[1:]] == [
        (None, True, "command.txt"),
        (None, False, "command-2.txt"),
    ]
    spans = {event["span"] for event in finished.events if event["kind"].startswith("process.")}
    assert len(spans) == 3
    assert {event["parent"] for event in finished.events if event["span"] in spans} == {1}


def test_what_a_workflow_finds_on_its_run(run):
    project, finished, (run_facts, refusals, beside) = run(r"""
        facts = [
            str(run.root),
            str(run.folder),
            run.state.name,
            run.token,
            run.build_timeout,
            repr(run.settings),
            repr(run.options),
            run.redacted("x"),
            run.writes,
            run.git("rev-parse", "HEAD").decode().strip(),
        ]
        refusals = [
            tried(run.execute, "make test", timeout=9),
            tried(run.start_process, "make test"),
            tried(run.ask, "which?"),
        ]
        process = run.start_process(
            ["sh", "-c", "read line; echo $MORE $line"],
            env={"MORE": "more"},
            isolation_required=False,
        )
        process.stdin.write(b"words\n")
        process.stdin.flush()
        given = facts, refusals, [process.stdout.readline().decode(), process.wait(60)]
    """)
    started = finished.events[0]["data"]
    token = started["token"]
    assert (len(token), int(token, 16) > 0) == (16, True)
    commit = project.git("rev-parse", "HEAD").strip()
    folder = f"{project.root}/{started['folder']}"
    assert run_facts == [
        str(project.root),
        folder,
        "work",
        token,
        3600,
        "None",
        "None",
        "x",
        True,
        commit,
    ]
    assert started["argv"] == ["--model", "scripted", "--json", "--work", "--sandbox", "off"]
    assert started["commit"] == commit
    assert {"code-commit", "code-commit-work"} <= started["versions"].keys()
    words = "a command is a list of words, such as ['make', 'test'], not 'make test'"
    question = "a workflow that is not interactive asked a question"
    assert refusals == [words, words, ["NotReady", question, "this is a bug in its plugin"]]
    assert beside == ["more words\n", 0]


@pytest.mark.slow
def test_what_is_said_ends_its_line_once_and_is_not_said_beside_events(run):
    code = "run.say('one'); run.say('two\\n'); given = None"
    project, finished, _ = run(code)
    assert all(line.startswith("{") for line in finished.stdout.splitlines())
    plugins = [project.root.parent / "plugins"]
    finished = project.command("--model", "scripted", "--work", "--sandbox", "off", plugins=plugins)
    assert finished.stdout == "one\ntwo\n"


def test_a_path_that_is_not_allowed_refuses_all(run):
    project, _, answers = run("""
        (run.root / "logs/.gitignore").write_text("!*")
        refused = run.check([Change("a.txt", b""), Change("logs/x", b"")])
        given = [
            tried(run.apply, [Change("a.txt", b"new"), Change("build.sh", b"x")]),
            str(run.may_read("agent-config/x")),
            run.may_read("a.txt"),
            [str(refusal) for refusal in refused],
        ]
    """)
    (name, message, _hint), unreadable, readable, (refused,) = answers
    assert name == "ResponseRefused"
    assert "build.sh" in message
    assert "agent-config" in unreadable
    assert (readable, "anything in the logs folder" in refused) == (None, True)
    assert project.read("a.txt") == "old\n"


def test_a_workflow_that_only_reads_changes_nothing(run):
    code = """
        given = [
            tried(run.limit_writes([]).__enter__),
            tried(run.apply, [Change("a.txt", b"new")]),
        ]
    """
    project, finished, answers = run(code, "--reads", "--sandbox", "off")
    message = "only a workflow that writes can change the project, and only while it runs"
    assert answers == [["NotReady", message, "this is a bug in the plugin that tried"]] * 2
    assert project.read("a.txt") == "old\n"
    assert finished.events[0]["data"]["commit"] is None


def test_what_two_runs_changed_is_told_apart_from_what_people_changed(run, tmp_path):
    body = """
        import json
        mine = run.root / "mine.txt"
        saved = run.state / "moments.json"
        began = json.loads(saved.read_text()) if saved.exists() else []
        if not began:
            (run.root / "link").write_text("text\\n")
            (run.root / "build.sh").write_text("touch built.txt")
        began.append(run.moment())
        saved.write_text(json.dumps(began))
        if len(began) == 1:
            run.apply([Change("a.txt", b"newer\\n"), Change("ü b.txt", b"1\\n2\\n")])
            mine.write_text("mine\\n")
            run.execute(["sh", "-c", "ln -sf a.txt link; printf '\\\\000' > made"], timeout=60)
            given = 0
        else:
            run.apply([Change("a.txt", b"newest\\n")])
            run.execute(["sh", "-c", "echo 1 > a-made"], timeout=60)
            run.build()
            mine.write_text("mine, too\\n")
            (run.root / "ü b.txt").write_text("1\\n")
            done = run.changes_since(*began)
            diffs = done.diffs([*done.written, *done.by_commands, "mine.txt"], most=10**6)
            rows = [[diff.path, diff.added, diff.removed, diff.text] for diff in diffs]
            least = [diff.text for diff in done.diffs(["a.txt"], most=10)]
            own = run.changes_since(began[1])
            given = [
                sorted(done.written), sorted(done.by_commands), sorted(done.by_people), rows, least,
                sorted(own.written), tried(run.changes_since, "gone:0"),
            ]
    """
    project, _, _ = run(body)
    flags = ("--model", "scripted", "--json", "--work", "--sandbox", "off")
    finished = project.command(*flags, plugins=[tmp_path / "plugins"])
    given = finished.events[-1]["data"]["data"]["given"]
    [written, by_commands, by_people, rows, least, own, gone] = given
    assert written == ["a.txt", "ü b.txt"]
    assert by_commands == ["a-made", "link", "made"]
    assert by_people == ["mine.txt", "ü b.txt"]
    assert [row[:3] for row in rows] == [
        ["a-made", 1, 0],
        ["a.txt", 1, 1],
        ["link", 1, 1],
        ["made", None, None],
        ["ü b.txt", 2, 0],
    ]
    texts = [row[3] for row in rows]
    assert texts[1].endswith("@@ -1 +1 @@\n-old\n+newest\n")
    assert ("-text\n" in texts[2], "+a.txt\n" in texts[2]) == (True, True)
    assert "Binary files" in texts[3]
    assert texts[4].endswith("\n+1\n+2\n"), "what a person took out is not the run's"
    assert least == [""]
    assert own == ["a.txt"]
    assert gone[:2] == ["NotReady", "the logs of the work are gone"]
