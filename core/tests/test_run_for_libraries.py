"""What `Run` offers to plugins that other plugins stand on, in whole runs of the command."""

from __future__ import annotations

import json
import os
import shutil
from textwrap import dedent, indent

import pytest

from code_commit.plugin_api import (
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    parts_from_json,
    parts_to_json,
)
from code_commit_testing import Project, install_plugin

PLUGIN = """
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "library",
            "a test",
            (Flag(("--library",), "a test", selects=True),),
            "library_plugin:work",
        )
    ]


def work(run):
    {code}
    return Result(Outcome.REACHED, "done", {{"given": given}})
"""
READING = PLUGIN.replace('"library_plugin:work"', '"library_plugin:work", writes=False')
COMMAND = ("--library", "--model", "scripted", "--json")


def program(code: str, plugin: str = PLUGIN) -> str:
    """Return the plugin whose workflow runs this code."""
    return plugin.format(code=indent(dedent(code), "    ").strip())


@pytest.fixture
def run(tmp_path):
    project = Project.create(tmp_path)

    def run(code: str, *arguments: str, command=COMMAND, files=None, **options):
        project.write(files or {})
        folder = install_plugin(tmp_path / "plugins", "library", program(code))
        finished = project.command(*command, *arguments, plugins=[folder], **options)
        return project, finished

    return run


def given(finished):
    assert finished.exit_code == 0, finished.stderr
    return finished.events[-1]["data"]["data"]["given"]


def test_a_file_is_read_up_to_a_limit_and_a_kept_one_can_be_added_to_without_keys(run):
    key = "sk-canary-0123456789-key7Q"
    project, finished = run(
        rf"""
        file = run.keep("notes.jsonl", "one\n")
        second = run.keep("notes.jsonl", "k")
        run.append(file, "two\n")
        run.append(second, "ey={key}")
        run.append(second, b"{key}")
        read = [run.tree.read("a.txt", 2), run.tree.read("a.txt", 99), run.tree.read("no", 1)]
        given = run.say(f"the key is {key}, {{file.name}} {{second.name}} {{read}}", "bold")
        """,
        command=COMMAND[:-1],
        files={"agent-config/config.toml": f'[providers.scripted.default]\napi_key = "{key}"\n'},
    )
    printed = "the key is ***7Q, notes.jsonl notes-2.jsonl [b'ol', b'old\\n', None]\n"
    assert (finished.exit_code, finished.stdout) == (0, printed), finished.stderr
    assert (project.run_folder / "notes.jsonl").read_text() == "one\ntwo\n"
    assert (project.run_folder / "notes-2.jsonl").read_text() == "key=***7Q***7Q"


def test_nothing_else_is_added_to(run):
    project, finished = run("""
        given = []
        for name in ("events.jsonl", "run.json", "../../a.txt"):
            try:
                run.append(run.folder / name, "forged")
            except Exception as error:
                given.append(str(error))
    """)
    events, document, outside = given(finished)
    assert (events, document) == (
        "events.jsonl is the run log's own file",
        "run.json is the run log's own file",
    )
    # The name alone counts, and there is no such file in the run folder.
    assert outside.startswith("cannot write ")
    assert project.read("a.txt") == "old\n"


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("sandbox", "exit_code"), [("auto", 3), ("off", 0)])
@pytest.mark.parametrize(
    "step", ["execute(['true'], timeout=60).exit_code", "start_process(['true']).wait(60)"]
)
def test_a_command_of_the_model_runs_in_the_sandbox_or_by_consent(
    run, no_sandbox, step, sandbox, exit_code
):
    _, finished = run(f"run.build(); given = run.{step}", "--sandbox", sandbox, environ=no_sandbox)
    assert finished.exit_code == exit_code
    built = next(event["data"] for event in finished.events if event["kind"] == "process.finished")
    # The project's own build needs no consent.
    assert (built["log"], built["exit_code"]) == ("build.txt", 0)
    says = "commands that a model chooses only run in the sandbox: "
    assert (says in finished.stderr) == (exit_code == 3)


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_a_command_of_the_model_sees_no_settings_and_writes_no_logs(run, tmp_path):
    settings = tmp_path / "home/.config/code-commit/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('on_failure = "keep"\n')
    script = "env; cat $HOME/.config/code-commit/config.toml; touch logs/x || echo read-only"
    code = f"given = run.execute(['bash', '-c', {script!r}], timeout=60).output.decode()"
    _, finished = run(code, "--sandbox", "require", environ={"CODE_COMMIT_ON_FAILURE": "keep"})
    shown = given(finished)
    assert shown.endswith("read-only\n")
    assert "HOME=" in shown
    assert "on_failure" not in shown
    assert "CODE_COMMIT_" not in shown


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("outcome", "content"), [("NOT_REACHED", "old\n"), ("REACHED", "new\n")])
def test_only_a_run_that_did_not_reach_its_goal_restores_the_files(run, outcome, content):
    code = rf"""
        from code_commit.plugin_api import Change

        run.apply([Change("a.txt", b"new\n")])
        return Result(Outcome.{outcome}, "done")
    """
    assert run(code, "--on-failure", "restore")[0].read("a.txt") == content


CLOSING = """
from code_commit.plugin_api import Event, RunFinished

class Sink:
    def receive(self, record):
        pass
    def close(self):
        raise KeyError("end")

@hookimpl
def code_commit_log_sinks():
    return [Sink()]
"""


def test_what_a_plugin_may_not_emit_and_a_sink_that_fails_at_the_end_name_it_and_the_stage(
    tmp_path,
):
    code = """
        for kind in ("planner.told", "library.told", "library-two.told"):
            event_class = type("Told", (Event,), {"kind": kind, "__module__": __name__})
            run.emit(event_class())
        run.emit(RunFinished("reached", 0, "forged"))
        given = {1}
    """
    plugin = program(code, READING) + CLOSING
    plugins = [install_plugin(tmp_path / "plugins", "library", plugin)]
    finished = Project.create(tmp_path).command(*COMMAND, plugins=plugins)
    assert finished.exit_code == 0
    assert [event["kind"] for event in finished.events if event["kind"].endswith(".told")] == [
        "library.told"
    ]
    assert [event["data"] for event in finished.events if event["kind"] == "plugin.failed"] == [
        {"plugin": "library", "distribution": "code-commit-library", "stage": stage, "error": error}
        for stage, error in (
            (
                "emit",
                "ValueError: the kind planner.told does not begin with 'library', the name of the plugin",
            ),
            (
                "emit",
                "ValueError: the kind library-two.told does not begin with 'library', the name of the plugin",
            ),
            ("emit", "ValueError: only the host emits run.finished"),
            ("result", "TypeError: set is not JSON"),
        )
    ]
    for failed in ("(result): TypeError: set is not JSON", "(log sink: close): KeyError: 'end'"):
        assert f"library of code-commit-library failed {failed}" in finished.stderr
    assert finished.events[-1]["data"] == {
        "outcome": "reached",
        "exit_code": 0,
        "summary": "done",
        "data": {},
        "files": [],
        "input_tokens": None,
        "output_tokens": None,
        "cost_usd": 0.0,
        "call_costs": {},
    }


@pytest.mark.slow
@pytest.mark.parametrize(("path", "code"), [(b"\xff.txt", 0), (b"agent-config/\xff.txt", 3)])
def test_a_tracked_path_that_is_not_utf_8_is_read_as_git_names_it(run, tmp_path, path, code):
    project, _ = run("given = None")
    (project.root / os.fsdecode(path)).write_text("x")
    project.git("add", "-f", os.fsdecode(path))
    finished = project.command(*COMMAND, plugins=[tmp_path / "plugins"])
    assert finished.exit_code == code, finished.stderr
    assert ("git tracks agent-config/\\udcff.txt" in finished.stderr) == (code == 3)


SINK = """
from code_commit.plugin_api import hookimpl

class Sink:
    def receive(self, record):
        pass
    def close(self):
        pass

@hookimpl
def code_commit_log_sinks(settings):
    return [Sink()]
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("prepare", "size", "diff"),
    [
        ("(run.folder / 'changes.diff').mkdir()", 1, None),  # it cannot be written
        ("pass", 1, "changes.diff"),
    ],
)
def test_a_diff_is_kept_for_sinks(run, tmp_path, prepare, size, diff):
    install_plugin(tmp_path / "plugins", "sink", SINK)
    project, finished = run(
        f"""
        from code_commit.plugin_api import Change

        {prepare}
        given = run.apply([Change("made.txt", b"x" * {size})])
        run.execute(["sh", "-c", "echo later > late.txt"], timeout=60)
        """,
        *("--sandbox", "off"),
    )
    assert finished.exit_code == 0, finished.stderr
    assert [
        event["data"]["diff"] for event in finished.events if event["kind"] == "changes.applied"
    ] == [diff]
    if diff:
        assert (
            (project.run_folder / diff).read_text().endswith("+x\n\\ No newline at end of file\n")
        )
    whole = (project.run_folder / "all-changes.diff").read_text()  # with what processes left
    assert "+++ b/late.txt" in whole
    assert "+++ b/made.txt" in whole


SHELL = "run.execute(['sh', '-c', '{}'], timeout=60)"


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        # Lines of two bytes; three in a diff.
        (SHELL.format("yes | head -c 7000000 > late.txt"), ["all-changes.diff"]),
        (
            "(run.root / 'late.txt').write_bytes(b'x' * 2**23); run.apply([Change('late.txt', None)])",
            ["changes.diff", "all-changes.diff"],  # all of the old file
        ),
    ],
)
def test_a_warning_tells_of_a_diff_that_is_too_large_for_the_log(run, tmp_path, code, left_out):
    install_plugin(tmp_path / "plugins", "sink", SINK)
    project, finished = run(
        f"from code_commit.plugin_api import Change; given = None; {code}", *("--sandbox", "off")
    )
    assert finished.exit_code == 0, finished.stderr
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert [text for text in warnings if "the log" in text] == [
        f"{name} is not in the log: the diff is larger than 8 MiB" for name in left_out
    ]
    assert not list(project.run_folder.glob("*.diff"))


def test_a_diff_that_git_cannot_make_costs_a_warning_and_not_the_change(run, tmp_path):
    install_plugin(tmp_path / "plugins", "sink", SINK)
    git = shutil.which("git")
    broken = tmp_path / "bin" / "git"
    broken.parent.mkdir()
    broken.write_text(
        "#!/bin/sh\n"
        'for word; do if [ "$word" = --no-ext-diff ] && ! [ -e "$0.once" ]; then\n'
        'touch "$0.once"; echo no >&2; exit 128; fi; done\n'
        f'exec {git} "$@"\n'
    )
    broken.chmod(0o755)
    code = (
        "from code_commit.plugin_api import Change; given = run.apply([Change('made.txt', b'x')])"
    )
    project, finished = run(
        code, "--sandbox", "off", environ={"PATH": f"{broken.parent}:{os.environ['PATH']}"}
    )
    assert (finished.exit_code, project.read("made.txt")) == (0, "x"), finished.stderr
    [applied] = [event["data"] for event in finished.events if event["kind"] == "changes.applied"]
    assert (applied["written"], applied["diff"]) == (["made.txt"], None)
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert warnings == ["changes.diff is not in the log: `git diff-tree` failed: no"]
    assert (project.run_folder / "all-changes.diff").exists(), "git works again"


@pytest.mark.slow  # the text has a quick test in the workspace
def test_a_look_that_takes_long_is_announced(run, tmp_path):
    with (tmp_path / "project/large.bin").open("wb") as file:
        file.truncate(128 * 2**20)
    project, first = run(
        "from code_commit.plugin_api import Change; given = run.apply([Change('made.txt', b'x')])",
        "--sandbox",
        "off",
    )
    project.git("add", "large.bin")
    second = project.command(*COMMAND, "--sandbox", "off", plugins=[tmp_path / "plugins"])
    expected = "saving 0.1 GB for `undo`; the largest file that git does not ignore is large.bin"
    for finished, times in ((first, 1), (second, 0)):  # git knows the file by then
        assert finished.exit_code == 0, finished.stderr
        assert [event["data"].get("text") for event in finished.events].count(expected) == times


def test_the_password_of_a_proxy_is_in_no_file(run):
    proxy = {"https_proxy": "http://me:pass-word-1@127.0.0.1:9"}
    project, _ = run(
        "given = None; run.keep('n.txt', 'uses pass-word-1 to connect')", environ=proxy
    )
    assert (project.run_folder / "n.txt").read_text() == "uses ***-1 to connect"


def test_parts_come_back_from_json_as_they_were():
    parts = (
        Text("words"),
        ToolCall("1", "tool", {"a": [1]}, '{"a": [1]}', Opaque("somebody", {"sign": "x"})),
        ToolCall("2", "tool", None, '{"a'),
        ToolResult("1", "tool", "text", is_error=True),
        Opaque("somebody", {"thinking": "hm"}),
    )
    marked = (Text("words", cache_here=True), *parts[1:])
    # Without the hint of a cache.
    assert parts_from_json(json.loads(json.dumps(parts_to_json(marked)))) == parts


def test_parts_of_an_unknown_kind_are_an_error():
    with pytest.raises(TypeError, match="no part of type 'image'"):
        parts_from_json([{"type": "image"}])


def test_a_workflow_that_does_not_write_runs_no_git_command_that_does(tmp_path):
    writing = [
        ("-C", ".", "reset", "--hard"),
        ("commit", "--allow-empty", "-m", "x"),
        ("reset", "--hard"),
        ("-c", "alias.log=reset", "log"),
        ("branch", "new"),
        ("diff", "--output=made.txt"),
        ("log", "--outp=made.txt", "--", "a.txt"),
        ("grep", "-Otouch", "old"),
        ("grep", "--open-files-in-pager=touch", "old"),
        (),
    ]
    reading = {
        ("log", "--format=%s"): "start\n",
        ("log", "--format=%s", "--", "--output=x"): "",
        ("grep", "--name-only", "-e", "old"): "a.txt\n",
        ("status", "--porcelain", "-uno"): "",
    }
    code = f"""
        given = [run.git(*words).decode() for words in {[*reading]}]
        for words in {writing}:
            try:
                given.append(run.git(*words).decode())
            except Exception as error:
                given.append(str(error).partition("`")[0])
    """
    project = Project.create(tmp_path)
    plugins = [install_plugin(tmp_path / "plugins", "library", program(code, READING))]
    answers = given(project.command(*COMMAND, plugins=plugins))
    assert answers == [*reading.values(), *["a workflow that does not write ran "] * len(writing)]
    assert not (project.root / "made.txt").exists()
    assert project.git("log", "--format=%s", "--all") == "start\n"
