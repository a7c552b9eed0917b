"""The commit workflow compares the files with the manifest of the rollup."""

from __future__ import annotations

import pytest

from code_commit_commit.query_file import SAMPLE_QUERY
from code_commit_testing import install_plugin

CHANGE = "^^^b.py\nprint(3)\n^^^end\n"


def test_a_run_with_a_current_rollup_starts(project, plugins, answered):
    project.command("rollup")
    assert answered(project, CHANGE).exit_code == 0
    assert project.read("b.py") == "print(3)\n"


STOP = '[plugins.commit]\nchanged_since_rollup = "stop"\n'


@pytest.mark.parametrize(("path", "text"), [("b.py", "mine\n"), ("a/x.txt", "mine\n")])
def test_a_file_that_changed_since_the_rollup_ends_the_run_before_a_call(
    project, path, text, answered
):
    project.command("rollup")
    project.write({path: text})
    finished = answered(project, CHANGE, settings=STOP)
    assert finished.exit_code == 3
    assert path in finished.stderr
    assert "code-commit rollup" in finished.stderr
    assert not list(project.root.glob("logs/*/"))
    assert (project.read("b.py") == "mine\n") is (path == "b.py")


def test_a_run_after_a_run_gets_the_code_as_it_is_now(project, answered):
    project.write({"left-out.txt": "x\n", "c.py": "c\n"})
    project.command("rollup", "--include", "*.py", "--exclude", "c.py")
    assert answered(project, CHANGE).exit_code == 0
    finished = answered(project, "^^^b.py\nprint(4)\n^^^end\n", arguments=["--query", "Print 4."])
    assert (finished.exit_code, project.read("b.py")) == (0, "print(4)\n")
    assert (
        "1 file changed since the rollup: collected the code again, 1 file, about 10 tokens"
        in finished.stderr
    )
    prompt = (project.run_folder / "1-initial-query.txt").read_text()
    assert "--- b.py ---\nprint(3)\n" in prompt
    assert "--- c.py ---" not in prompt


@pytest.mark.parametrize("arguments", [["--query", "Print 3."], ["--query-file", "b.py"], []])
def test_a_run_without_a_rollup_collects_the_code_as_doctor_says(
    project, plugins, arguments, answered
):
    project.write({"package-lock.json": "{}\n", "binary": "\0"})
    lines = project.command("doctor", "--no-build", plugins=plugins).stdout
    assert "ok       rollup       none yet; a run collects 4 files\n" in lines
    finished = answered(project, CHANGE, arguments=arguments)
    assert (finished.exit_code, project.read("b.py")) == (0, "print(3)\n")
    assert "there is no agent-config/codeRollup.txt: collected 4 files, about " in finished.stderr
    prompt = (project.run_folder / "1-initial-query.txt").read_text()
    assert "--- a/x.txt ---\nno newline\n--- b.py ---\nprint(2)\n" in prompt
    assert not (project.root / "agent-config/codeRollup.txt").exists()
    project.write({"agent-config/codeRollup.txt": "\n"})
    finished = answered(project, CHANGE)
    assert (finished.exit_code, "codeRollup.txt is empty" in finished.stderr) == (3, True)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (None, "ok       query        none in agent-config/query.txt, so a run needs --query or"),
        (SAMPLE_QUERY, "ok       query        the sample text in agent-config/query.txt, so a run"),
        ("Print 3 now.", "ok       query        3 words in agent-config/query.txt"),
        (b"\xff", "warning  query        agent-config/query.txt is not UTF-8: line 1"),
    ],
)
def test_doctor_says_whether_a_run_needs_a_query(project, query, said):
    path = project.root / "agent-config/query.txt"
    path.unlink()
    if query is not None:
        path.write_bytes(query if isinstance(query, bytes) else query.encode())
    assert said in project.command("doctor", "--no-build").stdout


PROTECT = '[plugins.commit]\nchanged_since_rollup = "protect"\n'


def test_protect_calls_the_model_and_overwrites_no_changed_file(project, answered):
    project.command("rollup")
    project.write({"b.py": "mine\n"})
    finished = answered(project, CHANGE, CHANGE, settings=PROTECT)
    assert finished.exit_code == 0, finished.stderr
    assert "b.py: Somebody changed this file after the model saw it.\n" in finished.stderr
    assert "code-commit rollup" in finished.stderr
    prompt = (project.run_folder / "2-repair-query.txt").read_text()
    assert "The text of b.py, as it is now:\n\n--- b.py ---\nmine\n" in prompt


def test_a_file_created_since_the_rollup_is_not_overwritten(project, answered):
    project.write({"left-out.txt": "known\n"})
    project.command("rollup", "--exclude", "left-out.txt")
    project.write({"newer.txt": "mine\n"})
    arguments = ("--repairs", "0")
    finished = answered(
        project, "^^^newer.txt\ntheirs\n^^^end\n", settings=PROTECT, arguments=arguments
    )
    assert (finished.exit_code, project.read("newer.txt")) == (5, "mine\n")
    assert "warning: new since the rollup: newer.txt; update the rollup" in finished.stderr
    assert "newer.txt: Somebody changed this file after the model saw it.\n" in finished.stderr
    finished = answered(project, "^^^newer.txt\ntheirs\n^^^end\n", settings=STOP)
    assert (finished.exit_code, project.read("newer.txt")) == (3, "mine\n")
    assert "error: new since the rollup: newer.txt\n" in finished.stderr


def test_a_file_created_since_the_rollup_is_in_the_next_prompt(project, answered):
    project.write({"left-out.txt": "known\n"})
    project.command("rollup", "--exclude", "left-*")
    project.write(
        {"tests/test_new.py": "new\n", "left-over.txt": "x\n", "image": "\0", "b.py": "print(1)\n"}
    )
    finished = answered(project, "^^^tests/test_new.py\nnewer\n^^^end\n")
    assert (finished.exit_code, project.read("tests/test_new.py")) == (0, "newer\n")
    told = "1 file changed and 1 file is new since the rollup: collected the code again, 5 files, "
    assert told in finished.stderr
    prompt = (project.run_folder / "1-initial-query.txt").read_text()
    assert "--- tests/test_new.py ---\nnew\n" in prompt
    assert "left-" not in prompt


def test_a_file_created_while_the_model_works_is_not_overwritten(
    project, plugins, answered, tmp_path
):
    project.command("rollup")
    plugins[:] = [
        install_plugin(tmp_path / "editing", "scripted", MEANWHILE.format({"newer.txt": "mine\n"}))
    ]
    finished = answered(project, "^^^newer.txt\ntheirs\n^^^end\n", arguments=("--repairs", "0"))
    assert (finished.exit_code, project.read("newer.txt")) == (5, "mine\n")
    assert "newer.txt: " in finished.stderr


MEANWHILE = """
from pathlib import Path

from code_commit_testing.scripted_provider import ScriptedProvider, code_commit_providers

complete = ScriptedProvider.complete

def meanwhile(self, call):
    if call.number == 1:
        for path, text in {!r}.items():
            (call.root / path).write_text(text)
    return complete(self, call)

ScriptedProvider.complete = meanwhile
"""


def test_what_a_person_writes_before_a_red_build_is_not_overwritten_after_it(
    project, plugins, answered, tmp_path
):
    project.write({"build.sh": "grep -q 4 b.py\n"})
    project.command("rollup")
    plugins[:] = [
        install_plugin(tmp_path / "editing", "scripted", MEANWHILE.format({"a/x.txt": "mine\n"}))
    ]
    second = "^^^b.py\nprint(4)\n^^^end\n^^^a/x.txt\ntheirs\n^^^end\n"
    finished = answered(project, CHANGE, second, arguments=("--repairs", "1"))
    assert (finished.exit_code, project.read("a/x.txt")) == (1, "mine\n")
    assert "a/x.txt: Somebody changed this file after the model saw it.\n" in finished.stderr


def test_protect_holds_after_a_red_build(project, answered):
    project.write({"build.sh": "grep -q 4 b.py\n"})
    project.command("rollup")
    project.write({"a/x.txt": "mine\n"})
    second = "^^^b.py\nprint(4)\n^^^end\n^^^a/x.txt\ntheirs\n^^^end\n"
    finished = answered(project, CHANGE, second, settings=PROTECT, arguments=("--repairs", "1"))
    assert (finished.exit_code, project.read("a/x.txt")) == (1, "mine\n")


def test_a_repair_may_change_files_that_the_run_or_its_build_created(project, answered):
    project.write({"build.sh": "echo built >> built.txt\ngrep -q 4 b.py\n"})
    project.command("rollup")
    first, second = (
        f"^^^b.py\nprint({number})\n^^^end\n^^^new.txt\n{number}\n^^^end\n" for number in (3, 4)
    )
    second += "^^^built.txt\nx\n^^^end\n"
    finished = answered(project, first, second, second)  # what the build wrote comes back once
    assert (finished.exit_code, project.read("new.txt"), project.read("built.txt")) == (
        0,
        "4\n",
        "x\nbuilt\n",
    )


def test_protect_lets_other_files_change(project, answered):
    project.command("rollup")
    project.write({"a/x.txt": "mine\n"})
    finished = answered(project, CHANGE, settings=PROTECT)
    assert (finished.exit_code, project.read("b.py"), project.read("a/x.txt")) == (
        0,
        "print(3)\n",
        "mine\n",
    )


def test_a_rollup_without_a_manifest_is_not_compared(project, answered):
    project.command("rollup")
    project.write({"agent-config/codeRollup.txt": "mine\n", "b.py": "mine\n"})
    assert answered(project, CHANGE).exit_code == 0
    assert project.read("b.py") == "print(3)\n"


def test_ignore_turns_the_comparison_off(project, plugins, answered):
    project.command("rollup")
    project.write({"b.py": "mine\n"})
    finished = answered(
        project, CHANGE, settings='[plugins.commit]\nchanged_since_rollup = "ignore"\n'
    )
    assert finished.exit_code == 0


def test_a_repair_may_change_files_that_the_build_rewrote(project, answered):
    project.write({"build.sh": "echo built >> a/x.txt\ngrep -q 4 b.py\n"})
    project.command("rollup")
    second = "^^^b.py\nprint(4)\n^^^end\n^^^a/x.txt\nmended\n^^^end\n"
    # A person may have written it while the build ran: its text comes back first.
    finished = answered(project, CHANGE, second, second)
    assert (finished.exit_code, project.read("a/x.txt")) == (0, "mended\nbuilt\n")
