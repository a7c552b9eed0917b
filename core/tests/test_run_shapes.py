"""What a workflow of a plugin does with its `Run` beyond one question: steps in threads, commands,
undo.
"""

from __future__ import annotations

import json

import pytest

from code_commit.models.resolution import find_model
from code_commit.plugin_api import UsageError
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_testing import Finished, Project, install_plugin

KEY = "k-canary-0123456789-key7Q"
PLUGIN = """
from contextvars import copy_context
from concurrent.futures import ThreadPoolExecutor
from pydantic import BaseModel
from code_commit.plugin_api import (
    Change,
    Completion,
    Finish,
    Flag,
    Message,
    Outcome,
    ProviderDefinition,
    ProviderError,
    ProviderFailed,
    Request,
    Opaque,
    Result,
    Text,
    ToolCall,
    Usage,
    WorkflowDefinition,
    hookimpl,
    hookspec,
    run_concurrently,
)


class Options(BaseModel):
    shape: str


class Config(BaseModel):
    model: str = "echo-1"


class Specs:
    @hookspec
    def code_commit_shapes(self, settings):
        "Names of checks."


@hookimpl
def code_commit_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Specs)


@hookimpl
def code_commit_workflows():
    flag = Flag(("--shape",), "which one", metavar="NAME", selects=True)
    return [
        WorkflowDefinition(
            "shapes",
            "try the run",
            (flag,),
            "shapes_plugin:shape",
            options="shapes_plugin:Options",
            interactive=True,
        )
    ]


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "echo",
            {"echo-1": ()},
            "",
            None,
            "ECHO_API_KEY",
            ("authorization", "{key}"),
            "shapes_plugin:Config",
            "shapes_plugin:Echo",
        )
    ]


class Echo:
    def __init__(self, config):
        self.failed = False

    def complete(self, call):
        prompt = call.request.messages[-1].parts[0].text
        if prompt == "fail once" and not self.failed:
            self.failed = True
            raise ProviderError("boom", kind="server")
        if prompt == "unknown key":
            raise ProviderError("no", kind="auth")
        if prompt == "sign":
            signed = ToolCall(
                "c1", "read_file", {"path": "a.txt"}, echo=Opaque("echo", {"signature": "c2ln"})
            )
            return Completion(
                Message("assistant", (signed,)),
                Finish.TOOL_CALLS,
                "calls",
                Usage(1, 1),
                "echo-1",
                {},
            )
        return Completion(
            Message("assistant", (Text(f"{prompt}!"),)),
            Finish.STOP,
            "stop",
            Usage(1, 1),
            "echo-1",
            {},
        )

    def close(self):
        pass


def shape(run):
    return Result(Outcome.REACHED, "done", {"got": globals()[run.options.shape](run)})


def completion(run, prompt, label="ask"):
    return run.model().complete(Request((Message("user", (Text(prompt),)),)), label=label)


def asked(run, prompt, label="ask"):
    return completion(run, prompt, label).text


def signed(run):
    (call,) = completion(run, "sign").tool_calls
    return [call.echo.provider, dict(call.echo.data)]


def in_threads(run):
    with ThreadPoolExecutor(4) as pool:
        return [
            job.result()
            for job in [pool.submit(copy_context().run, step, run, name) for name in "abcdef"]
        ]


def one_fails(run):
    def step(name):
        return asked(run, name, name)

    told = run_concurrently([lambda name=name: step(name) for name in ("a", "unknown key", "b")])
    return [each if isinstance(each, str) else type(each).__name__ for each in told]


def step(run, name):
    run.apply([Change(f"{name}.txt", asked(run, name, name).encode())])
    ran = run.execute(
        ["bash", "-c", f"cat {name}.txt > {name}.side"], timeout=60, label=f"copy-{name}"
    )
    return [ran.log.name, ran.exit_code, list(ran.tampered)]


def command_alone(run):
    return run.execute(["bash", "-c", "echo x > made.txt"], timeout=60).exit_code


def applied_alone(run):
    run.apply([Change("made.txt", b"x")])


def applied_often(run):
    for text in (b"1", b"2", b"3"):
        run.apply([Change("made.txt", text)])
    run.execute(["bash", "-c", "cat made.txt"], timeout=60)


def failures(run):
    told = []
    for prompt in ("fail once", "fail once", "unknown key"):
        try:
            told.append(asked(run, prompt))
        except ProviderFailed as error:
            told.append([error.kind, error.may_pass, error.message])
    return told


def kept(run):
    return [
        run.keep("notes.txt", "the key is KEY_HERE").name,
        run.keep("notes.txt", b"KEY_HERE").name,
    ]


def answers(run):
    told = []
    while not told or told[-1] is not None:
        told.append(run.ask("what now?", choices=("on", "quit")))
    return told


def checks(run):
    return sorted(run.collect("code_commit_shapes"))
""".replace("KEY_HERE", KEY)


@pytest.fixture
def plugins(tmp_path):
    return install_plugin(tmp_path / "plugins", "shapes", PLUGIN)


def run(
    project: Project, plugins, shape: str, *arguments: str, model: str = "echo-1", **options
) -> Finished:
    environ = {"ECHO_API_KEY": KEY, "CODE_COMMIT_HTTP__RETRIES": "0"}
    command = ("--model", model, "--sandbox", "off", "--json", "--shape", shape, *arguments)
    return project.command(*command, plugins=[plugins], environ=environ, **options)


def got(finished: Finished):
    assert finished.exit_code == 0, finished.stderr
    return finished.events[-1]["data"]["data"]["got"]


def files_of(project: Project) -> dict[str, bytes]:
    folders = (".git", "agent-config", "logs")
    return {
        path.name: path.read_bytes() for path in project.root.iterdir() if path.name not in folders
    }


def test_steps_in_threads_do_not_disturb_each_other(project, plugins):
    finished = run(project, plugins, "in_threads")
    numbers = {
        e["data"]["label"]: e["data"]["number"]
        for e in finished.events
        if e["kind"] == "call.started"
    }
    assert sorted(numbers.values()) == [1, 2, 3, 4, 5, 6]
    assert got(finished) == [[f"{numbers[name]}-copy-{name}.txt", 0, []] for name in "abcdef"]
    assert {name: project.read(f"{name}.side") for name in "abcdef"} == {
        name: f"{name}!" for name in "abcdef"
    }


@pytest.mark.slow
def test_a_replay_gives_each_thread_the_answer_to_its_own_question(project, plugins):
    before = files_of(project)
    assert run(project, plugins, "in_threads").exit_code == 0
    after, name = files_of(project), project.run_folder.name
    assert project.command("undo").exit_code == 0
    assert files_of(project) == before
    for _ in range(2):
        replayed = run(project, plugins, "in_threads", model=f"replay/{name}")
        assert replayed.exit_code == 0
        assert [event for event in replayed.events if event["kind"] == "message"] == []
        assert files_of(project) == after


@pytest.mark.slow
def test_what_a_service_wants_back_is_recorded_with_its_owner(project, plugins):
    expected = ["echo", {"signature": "c2ln"}]
    assert got(run(project, plugins, "signed")) == expected
    assert (
        got(run(project, plugins, "signed", model=f"replay/{project.run_folder.name}")) == expected
    )


@pytest.mark.slow
def test_steps_run_concurrently_give_what_each_gave_or_raised(project, plugins):
    assert got(run(project, plugins, "one_fails")) == ["a!", "ProviderFailed", "b!"]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("shape", ["applied_often", "applied_alone", "command_alone"])
def test_whatever_changed_the_tree_can_be_undone(project, plugins, shape):
    before = files_of(project)
    assert run(project, plugins, shape).exit_code == 0
    assert files_of(project) != before
    undone = project.command("undo")
    assert (undone.exit_code, files_of(project)) == (0, before), undone.stderr


@pytest.mark.slow
def test_each_change_set_and_command_is_logged(project, plugins):
    assert run(project, plugins, "applied_often").exit_code == 0
    [log] = (project.root / "agent-config/.code-commit/runs").iterdir()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["by"] for entry in entries] == [
        *("start", "response", "response", "response", "running", "command"),
    ]
    private = "--git-dir=agent-config/.code-commit/store.git"
    blobs = [entry["paths"]["made.txt"][1][1] for entry in entries if "paths" in entry]
    assert [project.git(private, "cat-file", "blob", blob) for blob in blobs] == ["1", "2", "3"]


@pytest.mark.slow
def test_a_workflow_learns_whether_to_ask_again_and_so_does_its_replay(project, plugins):
    answers = got(run(project, plugins, "failures"))
    assert [answers[0][:2], answers[1], answers[2][:2]] == [
        ["server", True],
        "fail once!",
        ["auth", False],
    ]
    replayed = run(project, plugins, "failures", model=f"replay/{project.run_folder.name}")
    assert got(replayed) == answers


@pytest.mark.slow
def test_a_kept_file_stands_in_the_run_folder_without_keys(project, plugins):
    assert got(run(project, plugins, "kept")) == ["notes.txt", "notes-2.txt"]
    texts = [(project.run_folder / name).read_text() for name in ("notes.txt", "notes-2.txt")]
    assert texts == ["the key is ***7Q", "***7Q"]


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [("", [None]), ("\n quit\r\nlast", ["", " quit", "last", None])],
    ids=["nothing", "lines"],
)
def test_each_line_answers_one_question_and_the_end_is_told(project, plugins, stdin, expected):
    finished = run(project, plugins, "answers", stdin=stdin)
    assert got(finished) == expected
    questions = [event["data"] for event in finished.events if event["kind"] == "question.asked"]
    assert questions == [{"question": "what now?", "choices": ["on", "quit"]}] * len(expected)
    answers = [
        event["data"]["answer"] for event in finished.events if event["kind"] == "question.answered"
    ]
    assert answers == expected


def test_who_implements_a_declared_hook_wrongly_fails_alone(project, tmp_path, plugins):
    implementing = "from code_commit.plugin_api import hookimpl\n@hookimpl\ndef code_commit_shapes({0}):\n    yield '{1}'"
    install_plugin(plugins, "aright", implementing.format("settings", "right"))
    install_plugin(plugins, "awrong", implementing.format("run", "wrong"))
    finished = run(project, plugins, "checks")
    assert got(finished) == [["code-commit-aright", "right"]]
    failures = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert [failure["distribution"] for failure in failures] == ["code-commit-awrong"]
    assert "'run'" in failures[0]["error"]


@pytest.mark.slow
def test_a_hook_that_may_be_missing_is_no_failure(project, tmp_path):
    code = "from code_commit.plugin_api import hookimpl\n@hookimpl{0}\ndef code_commit_shapes(settings):\n    return []"
    folder = install_plugin(tmp_path / "two", "optional", code.format("(optionalhook=True)"))
    install_plugin(folder, "strict", code.format(""))
    listed = project.command("plugins", "--json", plugins=[folder]).document
    assert [failure["plugin"] for failure in listed["failures"]] == ["strict"]


def test_the_latest_run_is_never_the_replay_itself(project, plugins):
    expected = got(run(project, plugins, "signed"))
    name = project.run_folder.name
    replayed = run(project, plugins, "signed", model="replay/latest")
    assert got(replayed) == expected
    started = [event["data"] for event in replayed.events if event["kind"] == "call.started"]
    assert [(call["provider"], call["model"]) for call in started] == [("replay", f"replay/{name}")]


def test_a_replay_without_its_plugin_says_what_to_install():
    with pytest.raises(UsageError, match="there is no model 'replay/latest'") as caught:
        find_model("replay/latest", Registry(PluginHost([])), {})
    assert 'pip install ".[history]"' in caught.value.hint
