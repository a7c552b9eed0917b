"""The end of a task: the final build, a restored project, a resumed run, invalid options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

WRITE = "await write_file('new.txt', 'new\\n'); return 'written';"


def exists(name: str) -> dict:
    return {"type": "callback", "function_name": "file_exists", "args": {"path": name}}


def write(name: str) -> str:
    return f"await write_file('{name}', '{name}'); return '{name} is written';"


# --- build.sh ------------------------------------------------------------------------------------------------------


def test_the_build_checks_the_result(work) -> None:
    work.project.write({"build.sh": "test -f new.txt\n"})
    work.server.script(work.code(WRITE))
    finished = work("--json")
    assert finished.exit_code == 0
    assert finished.events[-1]["data"]["summary"] == "the task is done, the build passes"
    assert finished.events[-1]["data"]["data"] == {
        "result": "written",
        "steps": 0,
        "files": [{"path": "new.txt", "added": 1, "removed": 0, "shared": False}],
    }


@pytest.mark.parametrize(
    ("build", "ending"),
    [
        ("exit 4\n", "ended with exit code 4"),
        ("kill -KILL $$\n", "was ended by signal 9 (SIGKILL)"),
    ],
)
def test_a_red_build_fails_the_task(work, build, ending) -> None:
    work.project.write({"build.sh": build})
    work.server.script(*[work.code(WRITE)] * 3)
    finished = work("--sandbox", "off")
    assert finished.exit_code == 1
    assert (
        f"the task failed after 3 attempts: the build is red: build.sh {ending}" in finished.stderr
    )


NEEDS_THREE = "test -f three.txt || { echo 'three is missing' >&2; exit 3; }\n"


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("listed", [False, True])
def test_a_red_build_is_a_failed_attempt_that_teaches(work, listed) -> None:
    work.project.write({"build.sh": NEEDS_THREE})
    first = (
        [work.listed(work.step("a")), work.returns("a is done")] if listed else [work.code(WRITE)]
    )
    work.server.script(*first, work.code(write("three.txt")))
    finished = work("--json")
    assert finished.exit_code == 0
    assert finished.events[-1]["data"]["summary"] == "the task is done, the build passes"
    prompt = work.prompts[-1]
    assert "Do it." in prompt
    assert "the build is red: build.sh ended with exit code 3" in prompt
    assert "ended with exit code 3\n--- output ---\nthree is missing" in prompt
    assert [
        row["passed"] for row in work.events_of(finished, "tasks.judged") if not row["step"]
    ] == [
        False,
        True,
    ]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("listed", [True, False])
def test_resume_goes_on_after_a_red_build(work, listed) -> None:
    work.configure(attempts=1)
    work.project.write({"build.sh": NEEDS_THREE})
    if listed:
        work.server.script(work.listed(work.step("a")), work.returns("a is done"))
    else:
        work.server.script(work.code(WRITE))
    assert work().exit_code == 1
    work.server.script(work.code(write("three.txt")))
    before = len(work.server.requests)
    finished = work("--resume", "latest")
    assert (finished.exit_code, len(work.server.requests)) == (0, before + 1)
    assert "three is missing" in work.prompts[-1]


def test_resume_makes_no_call_if_the_build_was_mended_by_hand(work) -> None:
    work.configure(attempts=1)
    work.project.write({"build.sh": NEEDS_THREE})
    work.server.script(work.code(WRITE))
    assert work().exit_code == 1
    work.project.write({"three.txt": "x"})
    finished = work("--resume", "latest")
    assert (finished.exit_code, len(work.server.requests)) == (0, 1)
    assert "written" in finished.stdout


@pytest.mark.parametrize("arguments", [("--no-build",), ()])
def test_a_task_succeeds_without_a_build(work, arguments) -> None:
    work.project.write({"build.sh": "exit 4\n"})
    if not arguments:
        (work.project.root / "build.sh").unlink()
    work.server.script(work.code(WRITE))
    finished = work("--json", *arguments)
    assert finished.exit_code == 0
    assert work.events_of(finished, "process.started") == []


def test_a_build_that_changes_itself_fails_the_task(work) -> None:
    work.project.write({"build.sh": "echo exit 0 > build.sh\n"})
    work.server.script(work.code(WRITE))
    finished = work("--json")
    assert finished.exit_code == 1
    assert finished.events[-1]["data"]["data"]["tampered"] == ["build.sh"]


# --- the restored project ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["restore", "keep"])
def test_the_changes_of_a_failed_task_can_be_restored(work, way: str) -> None:
    body = (
        "await write_file('README.md', 'other\\n'); await shell('echo x > by-command.txt; rm src/main.py'); "
        + WRITE
    )
    work.server.script(
        work.listed(work.step("one"), work.step("two", exists("never.txt"))),
        work.code(body),
        *[work.code("throw 1;")] * 3,
    )
    assert work("--on-failure", way).exit_code == 1
    status = work.project.git("status", "--porcelain")
    assert status == "" if way == "restore" else "by-command.txt" in status


def test_a_finished_task_is_not_said_to_continue(work) -> None:
    work.server.script(work.code("await write_file('a.txt', 'a'); return 'done';"))
    finished = work("--no-build")
    assert finished.exit_code == 0
    assert "--resume" not in finished.stderr
    assert "undo" in finished.stderr


def test_a_finished_task_lists_the_files_that_it_changed(work) -> None:
    work.project.write({"mine.txt": "of a person\n"})

    def while_a_person_writes(_request) -> str:
        work.project.write({"meanwhile.txt": "a\n", "README.md": "one\nthree\nfour\nmine\n"})
        return work.returns("two")

    work.server.script(
        work.listed(work.step("one"), work.step("two")),
        work.code(
            "await write_file('README.md', 'one\\nthree\\nfour\\n');"
            "await shell('echo x > by-command.txt; rm src/main.py'); return '';"
        ),
        while_a_person_writes,
    )
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    assert [tuple(row.values()) for row in finished.events[-1]["data"]["data"]["files"]] == [
        ("README.md", 2, 1, True),
        ("by-command.txt", 1, 0, False),
        ("src/main.py", 0, 1, False),
    ]
    lines = [line.partition("] ")[2] for line in finished.stderr.splitlines()]
    at = lines.index("changed README.md +2 -1 (you changed it, too)")
    assert lines[at + 1 : at + 3] == ["changed by-command.txt +1 -0", "changed src/main.py +0 -1"]


def test_a_task_can_be_undone(work) -> None:
    work.server.script(work.code(WRITE))
    assert work().exit_code == 0
    assert work.project.command("undo").exit_code == 0
    assert work.project.git("status", "--porcelain") == ""


# --- resuming ------------------------------------------------------------------------------------------------------


def test_resume_continues_after_the_last_step_that_passed(work) -> None:
    work.configure(attempts=1)
    work.server.script(
        work.listed(
            work.step("a", exists("a.txt")),
            work.step("b"),
            work.step("c", context={"previous_steps": [0, 1]}),
        ),
        work.code(write("a.txt")),
        work.listed(work.step("b one", exists("b.txt")), work.step("b two", exists("d.txt"))),
        work.code(write("b.txt")),
        work.returns("not yet"),
    )
    assert work().exit_code == 1
    before = len(work.server.requests)

    work.server.script(work.code(write("d.txt")), work.returns("all done"))
    finished = work("--resume", "latest", "--json")
    assert finished.exit_code == 0, finished.stderr
    again = work.prompts[before:]
    assert ["Title: b two" in again[0], "Title: c" in again[1], len(again)] == [True, True, 2]
    assert "a.txt is written" in again[1]
    assert "2.2 b two\nd.txt is written" in again[1]
    ended = [(event["step"], event["earlier"]) for event in work.events_of(finished, "tasks.ended")]
    assert ended == [
        ("1", True),
        ("2.1", True),
        ("2.2", False),
        ("2", False),
        ("3", False),
        ("", False),
    ]


def test_resume_repeats_a_step_that_no_longer_passes(work) -> None:
    work.configure(attempts=1)
    work.server.script(
        work.listed(work.step("a", exists("a.txt")), work.step("b", exists("b.txt"))),
        work.code(write("a.txt")),
        work.returns("nothing"),
    )
    assert work("--on-failure", "restore").exit_code == 1
    assert not (work.project.root / "a.txt").exists()
    work.server.script(work.code(write("a.txt")), work.code(write("b.txt")))
    finished = work("--resume", work.project.run_folder.name)
    assert finished.exit_code == 0, finished.stderr
    assert work.project.git("status", "--porcelain") == "?? a.txt\n?? b.txt\n"


def test_syntax_check_includes_the_files_of_the_earlier_run(work) -> None:
    work.configure(attempts=1)
    syntax = {"type": "validation", "validator": "syntax_check"}
    work.server.script(
        work.listed(work.step("a", exists("a.py")), work.step("b", syntax)),
        work.code("await write_file('a.py', 'x = (\\n'); return '';"),
        work.returns("looks fine"),
    )
    assert work().exit_code == 1
    work.server.script(work.returns("still fine"))
    finished = work("--resume", work.project.run_folder.name, "--json")
    assert finished.exit_code == 1
    assert "a.py:1:" in work.events_of(finished, "tasks.judged")[0]["reason"]


def test_resume_runs_only_the_build_if_all_steps_passed(work) -> None:
    work.configure(attempts=1)
    work.project.write({"build.sh": "test -f by-hand.txt\n"})
    work.server.script(work.listed(work.step("a")), work.returns("a is done"))
    assert work().exit_code == 1
    work.project.write({"by-hand.txt": "x"})
    before = len(work.server.requests)
    earlier = work.project.run_folder.name
    finished = work("--resume", earlier)
    assert (finished.exit_code, len(work.server.requests)) == (0, before)
    assert f"continuing {earlier}" in finished.stderr
    assert "a is done" in finished.stdout


def run_and_signal(work, number: int, *, step: str) -> tuple[int, list[dict]]:
    """Start a task and send it a signal while the code of `step` runs.

    Return its exit code and events.
    """
    command = [
        sys.executable,
        "-m",
        "code_commit",
        "--task",
        "Do it.",
        "--json",
        "--sandbox",
        "off",
    ]
    environ = work.project.environment(
        {
            "LOOPBACK_BASE_URL": work.server.url("openai"),
            "CODE_COMMIT_MODEL": "loopback-1",
            "PYTHONPATH": str(work.plugins),
        }
    )
    events = []
    with subprocess.Popen(
        command,
        cwd=work.project.root,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["kind"] == "tasks.code" and events[-1]["data"]["step"] == step:
                os.kill(process.pid, number)
    return process.returncode, events


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_task_has_the_outcome_interrupted(work, number: int) -> None:
    work.server.script(work.code("for (;;) {}"))
    exit_code, events = run_and_signal(work, number, step="")
    assert exit_code == 130
    assert events[-1]["data"]["outcome"] == "interrupted"
    assert "task-tree.txt" in {path.name for path in work.project.run_folder.iterdir()}


def test_a_killed_task_can_be_resumed(work) -> None:
    work.server.script(
        work.listed(work.step("a", exists("a.txt")), work.step("b")),
        work.code(write("a.txt")),
        work.code("for (;;) {}"),
    )
    exit_code, _ = run_and_signal(work, signal.SIGKILL, step="2")
    assert exit_code == -signal.SIGKILL
    work.server.script(work.returns("b is done"))
    finished = work("--resume", work.project.run_folder.name)
    assert (finished.exit_code, finished.stdout.strip().splitlines()[-1]) == (0, "b is done")


def test_a_task_that_was_killed_after_its_last_step_can_be_resumed(work) -> None:
    work.server.script(work.listed(work.step("a")), work.returns("a is done"))
    assert work().exit_code == 0
    [saved] = (work.project.root / "agent-config/.code-commit/state").rglob("*-task.json")
    saved.write_text(saved.read_text("utf-8").replace('"done":true', '"done":false'), "utf-8")
    before = len(work.server.requests)
    finished = work("--resume", "latest")
    assert (finished.exit_code, len(work.server.requests)) == (0, before)
    assert "a is done" in finished.stdout


def test_a_finished_task_cannot_be_resumed(work) -> None:
    work.server.script(work.returns("done"))
    assert work().exit_code == 0
    finished = work("--resume", "latest")
    assert (finished.exit_code, len(work.server.requests)) == (3, 1)
    assert "is done" in finished.stderr


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"previous_steps":[]', '"previous_steps":[3]'),
        ('"place":"1"', '"place":"7"'),
        ('"version":1', '"version":2'),
        ('"type":"pattern"', '"type":"other"'),
    ],
)
def test_an_invalid_saved_task_cannot_be_resumed(work, old: str, new: str) -> None:
    work.configure(attempts=1)
    work.server.script(
        work.listed(work.step("one", {"type": "pattern", "pattern": "ok"})), work.returns("no")
    )
    assert work().exit_code == 1
    [saved] = (work.project.root / "agent-config/.code-commit/state").rglob("*-task.json")
    text = saved.read_text("utf-8")
    assert old in text
    saved.write_text(text.replace(old, new), "utf-8")
    finished = work("--resume", "latest")
    assert (finished.exit_code, len(work.server.requests)) == (3, 2)
    assert "cannot read" in finished.stderr


def test_a_key_in_the_task_is_not_saved(work) -> None:
    key = "k-canary-0123456789-key7Q"
    work.server.script(work.returns("done"))
    assert work("--task", f"use {key}", environ={"LOOPBACK_API_KEY": key}).exit_code == 0
    written = [
        file
        for file in work.project.root.rglob("*")
        if file.is_file() and key.encode() in file.read_bytes()
    ]
    assert written == []


def test_latest_is_the_task_saved_last(work) -> None:
    work.configure(attempts=1)
    folder = work.project.root / "agent-config/.code-commit/state"
    files = []
    for name in ("first", "second"):
        work.server.script(
            work.listed(work.step(name, {"type": "pattern", "pattern": "ok"})), work.returns("no")
        )
        assert work().exit_code == 1
        files.append(max(folder.rglob("*-task*.json"), key=lambda file: file.stat().st_mtime_ns))
    # Names of two runs in one second: the second sorts before the first.
    files[0].rename(files[0].with_name("2026-01-01-00-00-00-task.json"))
    files[1].rename(files[1].with_name("2026-01-01-00-00-00-task-2.json"))
    work.server.script(work.returns("ok"))
    assert "second" in work("--resume", "latest").stderr


def test_the_steps_of_the_earlier_run_count(work) -> None:
    work.configure(attempts=1, max_steps=3)
    failing = work.step("two", {"type": "pattern", "pattern": "ok"})
    work.server.script(
        work.listed(work.step("one"), failing), work.returns("x"), work.returns("no")
    )
    assert work().exit_code == 1
    work.server.script(work.listed(work.step("three"), work.step("four")))
    assert work("--resume", "latest").exit_code == 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "nothing"),
        ("2001-01-01", "2001-01-01"),
        ("latest", "no task that can be resumed"),
    ],
)
def test_a_missing_run_cannot_be_resumed(work, name: str, message: str) -> None:
    finished = work("--resume", name)
    assert finished.exit_code == 3
    assert message in finished.stderr


def test_a_run_that_was_not_a_task_cannot_be_resumed(work) -> None:
    work.server.script("^^^a.txt\nx\n^^^end\n")
    environ = {"LOOPBACK_BASE_URL": work.server.url("openai"), "CODE_COMMIT_MODEL": "loopback-1"}
    assert work.project.command(environ=environ, plugins=[work.plugins]).exit_code == 0
    finished = work("--resume", work.project.run_folder.name)
    assert finished.exit_code == 3
    assert "not a task that can be resumed" in finished.stderr


# --- requirements --------------------------------------------------------------------------------------------------


def test_the_task_comes_from_a_file_or_from_stdin(work, tmp_path) -> None:
    task = tmp_path / "task.md"
    task.write_text("Paint it.\n")
    work.server.script(work.returns("a"), work.returns("b"))
    assert work("--task-file", str(task)).exit_code == 0
    assert work("--task-file", "-", stdin="Sand it.\n").exit_code == 0
    assert work.prompts == ["[task]\nPaint it.\n", "[task]\nSand it.\n"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--task", " "), 3, "the task is empty"),
        (("--task-file", "nowhere.txt"), 3, "cannot read the task file nowhere.txt"),
        (("--task-file", "latin.txt"), 3, "the task file latin.txt is not UTF-8: byte 3"),
        (
            ("--task-file", "link.txt"),
            3,
            "the task file link.txt leads out of the project through a link",
        ),
        (("--task", "x", "--task-file", "y"), 2, "cannot be used together"),
        (("--task", "x", "--resume", "y"), 2, "cannot be used together"),
        (("--task", "x", "--query", "y"), 2, "--query belongs to"),
    ],
)
def test_invalid_options_are_rejected(work, arguments, exit_code: int, message: str) -> None:
    (work.project.root / "latin.txt").write_bytes(b"caf\xe9")
    (work.project.root / "link.txt").symlink_to("/etc/hostname")
    finished = work(*arguments)
    assert finished.exit_code == exit_code
    assert message in finished.stderr
    assert work.server.requests == []


def test_the_help_lists_the_flags(work) -> None:
    text = work.project.command("--help").stdout
    for flag in ("--task TEXT", "--task-file FILE", "--resume RUN", "--no-build"):
        assert flag in text


def test_an_invalid_setting_is_rejected(work) -> None:
    work.configure(attempts=0)
    finished = work()
    assert finished.exit_code == 3
    assert "attempts" in finished.stderr
