"""A person works in the project while a run does: whatever they write stays, or comes back with
`redo`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from code_commit_testing import Finished, Project, install_plugin

MEANWHILE = """
import json, os, subprocess
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_model_layers():
    return [layer]

def layer(call, next):
    # What a person does during a call, by its number.
    command = json.loads(os.environ["MEANWHILE"]).get(str(call.number), "")
    subprocess.run(["sh", "-c", command], cwd=call.root, check=True)
    return next(call)
"""
SETTINGS = (
    '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\nreplies = '
)
KILL = r"""kill -9 $(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' logs/*/events.jsonl)"""
PROSE = "I cannot do that."


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


@pytest.fixture
def project(tmp_path) -> Project:
    files = {"a.txt": "old\n", "b.txt": "old\n", "c.txt": "old\n"}
    return Project.create(tmp_path, files=files, build="false\n", rollup=None)


@pytest.fixture
def run(project, tmp_path) -> Callable[..., Finished]:
    """Return a function that runs the workflow with replies, and with what a person does during a
    call.
    """
    folder = install_plugin(tmp_path / "plugins", "meanwhile", MEANWHILE)

    def run(
        *replies: str, meanwhile: Mapping[int, str] | None = None, arguments=(), **environ
    ) -> Finished:
        project.write({"agent-config/config.toml": SETTINGS + json.dumps(replies)})
        environ = {
            "CODE_COMMIT_SANDBOX": "off",
            "MEANWHILE": json.dumps(meanwhile or {}),
            **environ,
        }
        query = arguments or ("--query", "Change it.")
        words = ("--repairs", str(len(replies) - 1), *query)
        return project.command(*words, plugins=[folder], environ=environ)

    return run


def texts(project: Project, *paths: str) -> list[str | None]:
    return [project.read(path) if (project.root / path).exists() else None for path in paths]


def logs(project: Project) -> list[str]:
    return sorted(path.name for path in project.run_folder.glob("*build.txt"))


def test_what_a_person_writes_during_a_call_stays(project, run):
    finished = run(
        block("a.txt", "new\n"), PROSE, meanwhile={2: "echo mine >>b.txt; echo mine >own.txt"}
    )
    assert finished.exit_code == 1
    assert texts(project, "a.txt", "b.txt", "own.txt") == ["new\n", "old\nmine\n", "mine\n"]
    assert logs(project) == ["1-build.txt"], "the original files are not built"
    assert (
        "whether it was red before the run is not known: files were changed during the run: b.txt, own.txt"
        in (finished.stderr)
    )
    assert "files stay changed:\n    a.txt +1 -1\nhint: " in finished.stderr
    assert project.command("undo").stdout == "a.txt\n"
    assert texts(project, "a.txt", "b.txt", "own.txt") == ["old\n", "old\nmine\n", "mine\n"]


@pytest.mark.parametrize("on_failure", ["keep", "restore"])
def test_a_file_that_a_response_and_then_a_person_wrote_stays_and_is_named(
    project, run, on_failure
):
    answers = block("a.txt", "new\n") + block("c.txt", "new\n"), PROSE
    finished = run(
        *answers,
        meanwhile={2: "echo mine >>a.txt"},
        arguments=("--query", "x", "--on-failure", on_failure),
    )
    assert finished.exit_code == 1
    assert texts(project, "a.txt", "c.txt") == [
        "new\nmine\n",
        "new\n" if on_failure == "keep" else "old\n",
    ]
    said = finished.stderr
    if on_failure == "keep":
        undone = project.command("undo")
        assert (undone.exit_code, undone.stdout) == (0, "c.txt\n")
        said = undone.stderr
    assert "not restored, because somebody changed them after the run wrote them: a.txt\n" in said
    assert texts(project, "a.txt", "c.txt") == ["new\nmine\n", "old\n"]
    assert project.command("undo", project.run_folder.name, "--force").exit_code == 0
    assert texts(project, "a.txt", "c.txt") == ["old\n", "old\n"]
    assert project.command("redo").exit_code == 0
    assert project.read("a.txt") == "new\nmine\n"


def test_what_a_person_wrote_before_a_response_overwrote_it_comes_back(project, run):
    """With a rollup made by hand, nobody sees that the file changed."""
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n--- b.txt ---\nold\n"})
    arguments = ("--model", "scripted")
    project.write({"agent-config/query.txt": "Change it.\n"})
    answers = block("a.txt", "new\n"), block("b.txt", "new\n")
    finished = run(*answers, meanwhile={2: "echo mine >>b.txt"}, arguments=arguments)
    assert finished.exit_code == 1
    assert project.command("undo").exit_code == 0
    assert project.read("b.txt") == "old\nmine\n"


@pytest.mark.parametrize("by", ["undo", "restore"])
def test_what_appears_during_a_build_is_put_back_and_named(project, run, by):
    project.write({"build.sh": "echo mine >own.txt; echo mine >>b.txt; exit 1\n"})
    arguments = ("--query", "x", "--on-failure", "restore") if by == "restore" else ()
    finished = run(block("a.txt", "new\n"), arguments=arguments)
    assert finished.exit_code == 1
    said = finished.stderr if by == "restore" else project.command("undo").stderr
    line = "changed while a process ran, so it may be your work: b.txt, own.txt; `code-commit redo` brings it back\n"
    assert line in said
    assert texts(project, "a.txt", "b.txt", "own.txt") == ["old\n", "old\n", None]
    assert project.command("redo").stdout == "a.txt\nb.txt\nown.txt\n"
    assert project.read("own.txt") == "mine\n"
    assert project.read("b.txt").startswith("old\nmine\n")
    assert project.read("a.txt") == "new\n"
    assert project.command("undo").stdout == "a.txt\nb.txt\nown.txt\n"


def test_what_appears_while_the_original_files_are_built_comes_back(project, run):
    build = "grep -q new a.txt && exit 1; echo mine >own.txt; echo mine >>a.txt; exit 0\n"
    project.write({"build.sh": build})
    finished = run(block("a.txt", "new\n"))
    assert (
        "it may be your work: a.txt, own.txt; `code-commit redo` brings it back\n"
        in finished.stderr
    )
    assert texts(project, "a.txt", "own.txt") == ["new\n", None]
    assert project.command("redo").stdout == "a.txt\nown.txt\n"
    assert texts(project, "a.txt", "own.txt") == ["old\nmine\n", "mine\n"]


def test_a_run_that_is_killed_while_the_original_files_are_built_loses_nothing(project, run):
    project.write({"build.sh": f"grep -q new a.txt && exit 1; {KILL}; sleep 60\n"})
    assert run(block("a.txt", "new\n")).exit_code == -9
    assert project.read("a.txt") == "old\n"
    told = f"the run {project.run_folder.name} was killed while files from before it were built"
    assert told in project.command("undo").stderr
    assert project.command("redo").stdout == "a.txt\n"
    assert project.read("a.txt") == "new\n"
    undone = project.command("undo")
    assert "was killed" not in undone.stderr
    assert (undone.exit_code, project.read("a.txt")) == (0, "old\n")


def test_original_files_that_are_known_to_be_green_are_not_built(project, run):
    project.write({"build.sh": "! grep -q bad a.txt\n"})
    assert run(block("a.txt", "good\n")).exit_code == 0
    assert run(block("a.txt", "bad\n")).exit_code == 1
    assert logs(project) == ["1-build.txt"]
    assert run(block("a.txt", "very bad\n")).exit_code == 1
    assert logs(project) == ["1-build.txt", "1-untouched-build.txt"], "these were red"


@pytest.mark.parametrize("command", ["init", "doctor"])
def test_what_init_and_doctor_saw_green_is_not_built_again(project, run, command):
    project.write({"build.sh": "! grep -q bad a.txt\n"})
    project.command(command, environ={"CODE_COMMIT_SANDBOX": "off"})
    assert run(block("a.txt", "bad\n")).exit_code == 1
    assert logs(project) == ["1-build.txt"]


def test_redo_takes_back_one_undo_after_the_other(project, run):
    project.write({"build.sh": "true\n"})
    assert run(block("a.txt", "1\n")).exit_code == 0
    first = project.run_folder.name
    assert run(block("a.txt", "2\n") + block("b.txt", "2\n")).exit_code == 0
    second = project.run_folder.name
    undone = project.command("undo", "~2", "--json").document
    assert (undone["runs"], undone["restored"]) == ([second, first], ["a.txt", "b.txt"])
    assert texts(project, "a.txt", "b.txt") == ["old\n", "old\n"]
    assert project.command("redo", "--json").document == {"run": first, "restored": ["a.txt"]}
    assert texts(project, "a.txt", "b.txt") == ["1\n", "old\n"]
    assert project.command("redo").stderr == f"brought back 2 files of {second}\n"
    assert texts(project, "a.txt", "b.txt") == ["2\n", "2\n"]
    again = project.command("redo")
    assert (again.exit_code, again.stdout) == (3, "")
    assert "no undo can be taken back, so there is nothing to redo" in again.stderr


def test_redo_touches_nothing_where_files_were_changed_since(project, run):
    project.write({"build.sh": "true\n"})
    assert (
        run(block("a.txt", "1\n") + block("b.txt", "1\n") + block("new.txt", "1\n")).exit_code == 0
    )
    assert project.command("undo").exit_code == 0
    project.write({"b.txt": "mine\n", "new.txt": "mine\n"})
    refused = project.command("redo")
    assert refused.exit_code == 3
    assert "files were changed since they were put back: b.txt, new.txt\n" in refused.stderr
    assert texts(project, "a.txt", "b.txt", "new.txt") == ["old\n", "mine\n", "mine\n"]


def test_several_runs_and_paths_exclude_each_other(project):
    refused = project.command("undo", "~2", "a.txt")
    assert refused.exit_code == 2
    assert "~2 takes back whole runs" in refused.stderr


def test_what_a_person_writes_during_a_red_build_is_shown_before_it_is_replaced(project, run):
    project.write({"build.sh": "grep -q mine b.txt || echo mine >>b.txt; false\n"})
    finished = run(block("a.txt", "new\n"), block("b.txt", "new\n"), block("b.txt", "newer\n"))
    assert "b.txt: " in finished.stderr
    prompt = (project.run_folder / "3-repair-query.txt").read_text()
    assert "--- b.txt ---\nold\nmine\n" in prompt
    assert project.read("b.txt").startswith("newer\n")
    assert project.command("undo").exit_code == 0
    assert texts(project, "a.txt", "b.txt") == ["old\n", "old\nmine\n"]


def test_what_a_person_writes_during_a_green_build_is_named_in_the_commit(project, run):
    project.write({"build.sh": "echo mine >>a.txt\n"})
    project.git("config", "user.name", "A")
    project.git("config", "user.email", "a@b.c")
    project.git("commit", "-qam", "build")
    finished = run(block("a.txt", "new\n"), arguments=("--query", "x", "--commit"))
    assert finished.exit_code == 0
    assert (
        "committed as they are on disk, which is not what the responses wrote: a.txt\n"
        in finished.stderr
    )


def test_after_a_build_of_the_original_files_it_is_still_named(project, run):
    project.write({".gitignore": "/agent-config\nlogs\ndone\n"})
    project.write(
        {
            "build.sh": "test -e done || { touch done; echo mine >own.txt; echo mine >>b.txt; }; false\n"
        }
    )
    assert run(block("a.txt", "new\n")).exit_code == 1
    assert logs(project) == ["1-build.txt", "1-untouched-build.txt"]
    assert (
        "it may be your work: b.txt, own.txt; `code-commit redo`" in project.command("undo").stderr
    )


def test_what_is_in_the_way_stays_and_the_rest_is_restored(project, run):
    project.write({"d/x": "x\n"})
    answers = block("a.txt", "new\n") + "^^^d/x\n^^^delete\n", PROSE
    finished = run(
        *answers,
        meanwhile={2: "echo mine >d"},
        arguments=("--query", "x", "--on-failure", "restore"),
    )
    assert finished.exit_code == 1
    assert (
        "not restored, because somebody changed them after the run wrote them: d/x\n"
        in finished.stderr
    )
    assert texts(project, "a.txt", "d") == ["old\n", "mine\n"]


def test_an_undo_that_fails_leaves_nothing_to_redo(project, run):
    project.write({"d/x": "x\n", "build.sh": "true\n"})
    assert run(block("a.txt", "new\n") + "^^^d/x\n^^^delete\n").exit_code == 0
    project.write({"d": "mine\n"})
    assert project.command("undo").exit_code == 3
    assert project.command("redo").exit_code == 3
    assert texts(project, "a.txt", "d") == ["new\n", "mine\n"]


def test_a_file_that_a_build_no_longer_ignored_is_no_obstacle_to_redo(project, run):
    project.write({".gitignore": "/agent-config\nlogs\n*.env\n", "my.env": "mine\n"})
    project.write({"build.sh": "sed -i '/env/d' .gitignore; true\n"})
    assert run(block("a.txt", "new\n")).exit_code == 1
    assert project.command("undo").exit_code == 0
    assert texts(project, "a.txt", "my.env") == ["old\n", "mine\n"]
    assert project.command("redo").exit_code == 0
    assert texts(project, "a.txt", "my.env") == ["new\n", "mine\n"]


def test_a_file_that_a_person_put_back_does_not_stay_changed(project, run):
    finished = run(
        block("a.txt", "new\n") + block("c.txt", "new\n"), PROSE, meanwhile={2: "echo old >a.txt"}
    )
    assert "files stay changed:\n    c.txt +1 -1\nhint: " in finished.stderr


def test_what_a_build_left_and_a_person_changed_since_is_left_alone(project, run):
    project.write({"build.sh": "echo made >made.txt; true\n"})
    assert run(block("a.txt", "new\n")).exit_code == 0
    project.write({"made.txt": "mine\n"})
    undone = project.command("undo")
    assert (undone.exit_code, undone.stdout) == (0, "a.txt\n")
    assert texts(project, "a.txt", "made.txt") == ["old\n", "mine\n"]
