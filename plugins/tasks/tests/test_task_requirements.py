"""Exit requirements through the command: each can be met, and each can fail."""

from __future__ import annotations

import json
import shutil

import pytest

from code_commit_tasks.patterns import SearchFailed, search
from code_commit_tasks.requirements import words_of
from code_commit_tasks.workers.asking import WorkerFailed, WorkerTooSlow, ask_worker
from code_commit_testing import install_plugin

PATTERN = {"type": "pattern", "pattern": r"^Success: .*$"}
SYNTAX = {"type": "validation", "validator": "syntax_check"}


def callback(name: str, **args) -> dict:
    return {"type": "callback", "function_name": name, "args": args}


MET = {
    "a file is there": (callback("file_exists", path="README.md"), "x"),
    "a folder is there": (callback("file_exists", path="src/"), "x"),
    "a file that git ignores is there": (callback("file_exists", path="made/out.bin"), "x"),
    "a text is there": (callback("file_contains", path="README.md", pattern="one\ntwo"), "x"),
    "a text is there, literally": (callback("file_contains", path="odd.txt", pattern="a(b"), "x"),
    "a text is there, by a pattern": (
        callback("file_contains", path="./README.md", pattern="(?m)^t.o$"),
        "x",
    ),
    "a command succeeds": (callback("command_succeeds", cmd="test -f README.md"), "x"),
    "a command with a shell succeeds": (
        callback("command_succeeds", cmd="cd src && test -f main.py | cat"),
        "x",
    ),
    "a result is JSON": (callback("json_valid"), '{"a": [1, 2.5e3, null]}'),
    "a long number is JSON": (callback("json_valid"), "9" * 5000),
    "a text is JSON": (callback("json_valid", content="[]"), "not JSON"),
    "a result tells of no error": (callback("no_errors_in"), "0 errors, no failed tests"),
    "a text tells of no error": (callback("no_errors_in", output="fine"), "error: x"),
    "a pattern is found": (PATTERN, "Success: it works"),
    "a pattern of JavaScript is found": (
        {"type": "pattern", "pattern": r"^(?<year>\d{4})/\k<year>$"},
        "2026/2026",
    ),
    "a pattern with flags is found": (
        {"type": "pattern", "pattern": "(?im)^DONE.$"},
        "one\ndone.\u2028two",
    ),
}
UNMET = {
    "no such file": (
        callback("file_exists", path="gone.md"),
        "x",
        "There is no file or folder gone.md",
    ),
    "a link": (
        callback("file_exists", path="link.md"),
        "x",
        "link.md is neither a file nor a folder",
    ),
    "behind a link": (
        callback("file_exists", path="there/main.py"),
        "x",
        "not a path of the project",
    ),
    "outside": (callback("file_exists", path="../../etc/passwd"), "x", "not a path of the project"),
    "a key": (callback("file_exists", path="agent-config/query.txt"), "x", "cannot check whether"),
    "what is in a key": (
        callback("file_contains", path="agent-config/query.txt", pattern="."),
        "x",
        "cannot be read",
    ),
    "no such text": (
        callback("file_contains", path="README.md", pattern="thr[e]+"),
        "x",
        "contains neither",
    ),
    "no such text, no pattern": (
        callback("file_contains", path="README.md", pattern="("),
        "x",
        "is not a regular expression",
    ),
    "a pattern that takes forever": (
        callback("file_contains", path="slow.txt", pattern="(a+)+$"),
        "x",
        "pattern took longer than 0.3 s",
    ),
    "a command fails": (
        callback("command_succeeds", cmd="grep -c three README.md"),
        "x",
        "exit code 1",
    ),
    "a command is not there": (
        callback("command_succeeds", cmd="no-such-command"),
        "x",
        "exit code 127",
    ),
    "no JSON": (callback("json_valid"), "{'a': 1}", "not valid JSON"),
    "NaN is no JSON": (callback("json_valid"), "[NaN]", "NaN is not valid"),
    "deep JSON": (callback("json_valid"), "[" * 200_000, "JSON"),
    "an error": (callback("no_errors_in"), "ok\nERROR: bad\n", "contains an error message"),
    "a failed": (callback("no_errors_in", output="Failed: 1"), "x", "contains an error message"),
    "no such pattern": (PATTERN, "No success", "is not found"),
    "a search that takes forever": (
        {"type": "pattern", "pattern": "(a+)+$"},
        "a" * 50 + "b",
        "pattern took longer than 0.3 s",
    ),
}


@pytest.fixture
def ready(work):
    work.configure(attempts=1, pattern_seconds=60)
    work.project.write(
        {
            ".gitignore": "/agent-config\n/made\n",
            "made/out.bin": "x",
            "odd.txt": "a(b\n",
            "slow.txt": "a" * 50 + "b",
        }
    )
    work.project.root.joinpath("link.md").symlink_to("README.md")
    work.project.root.joinpath("there").symlink_to("src")
    return work


def test_a_met_requirement_passes(ready) -> None:
    steps = [ready.step(title, requirement) for title, (requirement, _) in MET.items()]
    ready.server.script(
        ready.listed(*steps), *[ready.returns(result) for _, result in MET.values()]
    )
    finished = ready("--json")
    assert [
        (event["title"], event["passed"]) for event in ready.events_of(finished, "tasks.ended")
    ] == [
        *((title, True) for title in MET),
        ("task", True),
    ]


@pytest.mark.parametrize("case", UNMET)
def test_an_unmet_requirement_fails(ready, case: str) -> None:
    requirement, result, reason = UNMET[case]
    if "longer than" in reason:
        ready.configure(attempts=1, pattern_seconds=0.3)
    ready.server.script(ready.listed(ready.step("one", requirement)), ready.returns(result))
    finished = ready("--json")
    assert finished.exit_code == 1
    assert reason in ready.events_of(finished, "tasks.judged")[0]["reason"]


@pytest.mark.parametrize("word", ["error:", "panic:", "fatal:", "exception:", "failed:"])
@pytest.mark.parametrize("change", [str.upper, str.title, str.lower])
def test_error_words_count_in_any_case(ready, word: str, change) -> None:
    from code_commit_tasks.requirements import _no_errors_in

    assert _no_errors_in(f"all well\nthread main {change(word)} x") != ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -l 'a b'", ["ls", "-l", "a b"]),
        ("ls | cat", ["bash", "-c", "ls | cat"]),
        ("A=1 ls", ["bash", "-c", "A=1 ls"]),
        ("cd src", ["bash", "-c", "cd src"]),
        ("ls *.py", ["bash", "-c", "ls *.py"]),
        ("ls 'a", ["bash", "-c", "ls 'a"]),
        ("/bin/ls -l", ["bash", "-c", "/bin/ls -l"]),
        ("", ["bash", "-c", ""]),
    ],
)
def test_a_command_runs_in_a_shell_if_it_needs_one(command: str, words: list[str]) -> None:
    assert words_of(command) == words


def test_a_check_that_changes_the_build_ends_the_task(ready) -> None:
    requirement = callback("command_succeeds", cmd="echo 'exit 3' > build.sh")
    ready.server.script(ready.listed(ready.step("one", requirement)), ready.returns("x"))
    finished = ready("--json")
    assert finished.exit_code == 1
    assert finished.events[-1]["data"]["data"]["tampered"] == ["build.sh"]


def test_a_tool_that_changes_the_build_ends_the_task(ready) -> None:
    ready.server.script(ready.code("await shell(\"echo 'exit 3' > build.sh\"); return 'x';"))
    finished = ready("--json")
    assert finished.exit_code == 1
    assert finished.events[-1]["data"]["data"]["tampered"] == ["build.sh"]


def test_tools_are_subject_to_the_path_rules(ready) -> None:
    ready.server.script(
        ready.code(
            "const said = [];"
            "for (const f of [() => show('agent-config/query.txt'), () => list('agent-config'),"
            " () => write_file('build.sh', 'exit 0'), () => write_file('../x', 'y'), () => show('../x')])"
            " { try { said.push(await f()); } catch (e) { said.push('refused'); } } return said.join();"
        )
    )
    finished = ready()
    assert finished.stdout == "refused,refused,refused,refused,refused\n"


# --- syntax_check --------------------------------------------------------------------------------------------------


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    ("path", "good", "bad", "place"),
    [
        ("a.py", "def f():\n    return 1\n", "def f(:\n    return 1\n", "a.py:1:"),
        (
            "src/lib.rs",
            "fn main() { let x = 1; }\n",
            "fn main() { let x = 1 }\n",
            "src/lib.rs:1:22: ; is missing",
        ),
        ("a.json", '{"a": 1}\n', '{"a": }\n', "a.json:1:"),
        ("a.ts", "const a: number = 1;\n", "const a: = 1;\n", "a.ts:1:"),
        ("a.go", "package m\n\nfunc f() {}\n", "package m\n\nfunc f() {\n", "a.go:"),
        ("a.sh", "if true; then echo; fi\n", "if true; then echo\n", "a.sh:"),
    ],
)
def test_syntax_check_parses_the_changed_files(
    work, path: str, good: str, bad: str, place: str
) -> None:
    work.project.write({"src/broken_before.py": "def f(:\n"})
    work.server.script(
        work.listed(work.step("one", SYNTAX)),
        work.code(f"await write_file({json.dumps(path)}, {json.dumps(bad)}); return 'bad';"),
        work.code(f"await write_file({json.dumps(path)}, {json.dumps(good)}); return 'good';"),
    )
    finished = work("--json", "--no-build")
    assert finished.exit_code == 0, finished.stderr
    first, second = [
        event for event in work.events_of(finished, "tasks.judged") if event["step"] == "1"
    ]
    assert place in first["reason"]
    assert "broken_before" not in first["reason"]
    assert second["passed"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return 'nothing';", "The task has changed no file"),
        ("await write_file('notes.txt', 'x'); return 'notes';", "in a supported language"),
        (
            "await shell('printf \"def f(:\" > made.py; touch -d 2001-01-01 made.py'); return 'by a command';",
            "made.py:1:",
        ),
        ("await shell(\"printf '\\\\377' > made.py\"); return 'x';", "not UTF-8"),
    ],
    ids=["nothing", "prose", "by a command", "bytes"],
)
def test_syntax_check_fails_if_it_checks_nothing(work, body: str, reason: str) -> None:
    work.configure(attempts=1)
    work.server.script(work.listed(work.step("one", SYNTAX)), work.code(body))
    finished = work("--json")
    assert finished.exit_code == 1
    assert reason in work.events_of(finished, "tasks.judged")[0]["reason"]


@pytest.mark.parametrize(
    ("worker", "seconds", "expected"),
    [("syntax_search", 0.0, WorkerTooSlow), ("no_worker", 60.0, WorkerFailed)],
)
def test_a_worker_without_an_answer_is_an_error(
    worker: str, seconds: float, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        ask_worker(worker, [], seconds=seconds)


def test_a_search_that_needs_too_much_memory_fails() -> None:
    with pytest.raises(SearchFailed, match="The search for the pattern failed: "):
        search(["a"], "x" * 10_000_000, seconds=60, memory=8 << 20)


# --- validators of plugins -----------------------------------------------------------------------------------------

VALIDATORS = """
import sys
import threading

from code_commit.plugin_api import NotReady, hookimpl


@hookimpl(optionalhook=True)
def code_commit_validators(settings):
    from code_commit_tasks.validators import Validator

    def polite(validation):
        return "" if "please" in validation.result else "say please"

    def broken(validation):
        raise OSError("no network")

    yield Validator("polite", "Results say please.", polite)
    yield Validator("changes", "Something has changed.", lambda each: "" if each.changed == ("a.txt",) else str(each.changed))
    yield Validator("broken", "Fails.", broken)
    def unready(validation):
        raise NotReady("the checker is not installed")

    yield Validator("unready", "Cannot work.", unready)
    yield Validator("odd", "Gives no text.", lambda each: None)
    yield Validator("leaves", "Ends the program.", lambda each: sys.exit(0))
    yield Validator("stuck", "Never ends.", lambda each: threading.Event().wait())
    yield Validator("half", "Gives half of a character.", lambda each: "half \\ud800")
    yield Validator(7, "Has no name.", lambda each: "")
    yield Validator("syntax_check", "Always content.", lambda each: "")
    yield "no validator"
"""


@pytest.fixture
def polite(work, tmp_path):
    return install_plugin(tmp_path / "polite", "polite", VALIDATORS)


def test_plugins_add_validators(work, polite) -> None:
    work.server.script(
        work.listed(
            work.step("one", {"type": "validation", "validator": "polite"}),
            work.step("two", {"type": "validation", "validator": "changes"}),
        ),
        work.returns("now"),
        work.returns("now, please"),
        work.code("await write_file('a.txt', 'x'); return '';"),
    )
    finished = work("--json", more_plugins=[polite])
    assert finished.exit_code == 0, finished.stderr
    assert "say please" in work.events_of(finished, "tasks.judged")[0]["reason"]
    errors = [event["error"] for event in work.events_of(finished, "plugin.failed")]
    assert any("syntax_check" in error for error in errors)
    assert any("not a str" in error for error in errors)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken", "OSError: no network"),
        ("odd", "returned NoneType"),
        ("stuck", "took longer than 0.1 s"),
        ("half", "half ?"),
        ("leaves", "failed with SystemExit"),
    ],
)
def test_a_broken_validator_does_not_pass(work, polite, name: str, reason: str) -> None:
    work.configure(attempts=1, validator_seconds=0.1 if name == "stuck" else 60)
    requirement = {"type": "validation", "validator": name}
    work.server.script(work.listed(work.step("one", requirement)), work.returns("x"))
    finished = work("--json", more_plugins=[polite])
    assert finished.exit_code == 1
    assert reason in work.events_of(finished, "tasks.judged")[0]["reason"]


def test_a_validator_that_cannot_work_ends_the_run(work, polite) -> None:
    work.server.script(
        work.listed(work.step("one", {"type": "validation", "validator": "unready"})),
        work.returns("x"),
    )
    finished = work(more_plugins=[polite])
    assert finished.exit_code == 3
    assert "the checker is not installed" in finished.stderr


def test_a_validator_that_is_gone_does_not_pass(work, polite) -> None:
    work.configure(attempts=1)
    requirement = {"type": "validation", "validator": "polite"}
    work.server.script(
        work.listed(work.step("one", requirement), work.step("two", PATTERN)),
        work.returns("please"),
        work.returns("x"),
    )
    assert work(more_plugins=[polite]).exit_code == 1
    work.server.script(work.returns("please"))
    finished = work("--resume", "latest", "--json")
    assert finished.exit_code == 1
    [judged, *_] = work.events_of(finished, "tasks.judged")
    assert "There is no validator 'polite'; there are: syntax_check." in judged["reason"]


# --- isolation -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bubblewrap")
def test_commands_run_in_the_sandbox_of_builds(work) -> None:
    hidden = callback("command_succeeds", cmd="test ! -e agent-config/query.txt")
    work.server.script(
        work.listed(work.step("one", hidden)),
        work.code("return await shell('cat agent-config/query.txt || echo nothing there');"),
    )
    finished = work("--sandbox", "require")
    assert finished.exit_code == 0, finished.stderr
    assert "nothing there" in finished.stdout


def test_no_command_runs_without_a_sandbox(work, tmp_path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("bash", "git"):
        (bare / name).symlink_to(shutil.which(name))
    check = callback("command_succeeds", cmd="touch proof.txt")
    work.server.script(
        work.listed(work.step("one", check)),
        work.code("return await shell('touch proof.txt').catch((e) => 'refused');"),
    )
    finished = work("--sandbox", "auto", environ={"PATH": str(bare)})
    assert finished.exit_code == 3
    assert "--sandbox off" in finished.stderr
    assert not (work.project.root / "proof.txt").exists()
