"""A person works in the project while a run does, also in the same files: whatever they write
stays, or comes back with `redo`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from code_commit_testing import Finished, Project, install_plugin

MEANWHILE = """
import json, os, subprocess, time
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_model_layers():
    return [layer]

def layer(call, next):
    # A run looks at the files at the beginning of its first call.
    while not list(call.root.glob("agent-config/.code-commit/runs/*")):
        time.sleep(0.001)
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
AUTHOR = {
    f"GIT_{role}_{part}": f"a@{part.lower()}"
    for role in ("AUTHOR", "COMMITTER")
    for part in ("NAME", "EMAIL")
}


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
    assert "somebody" not in finished.stderr
    assert "files stay changed:\n    a.txt +1 -1\nhint: " in finished.stderr
    assert project.command("undo").stdout == "a.txt\n"
    assert texts(project, "a.txt", "b.txt", "own.txt") == ["old\n", "old\nmine\n", "mine\n"]


LINES = "".join(f"line {number}\n" for number in range(10))
RESPONSE = LINES.replace("line 1\n", "line one\n")
MINE = "sed -i s/8/eight/ long.txt"  # what a person does in the same file
MERGED = RESPONSE.replace("8", "eight")


@pytest.fixture
def long(project, run):
    """Run with one response, which changes the second of ten lines, and then with others."""
    project.write({"long.txt": LINES, "build.sh": "true\n"})

    def change(*more: str, meanwhile: Mapping[int, str] | None = None, **environ) -> Finished:
        return run(block("long.txt", RESPONSE), *more, meanwhile=meanwhile, **environ)

    return change


def test_a_response_is_merged_with_what_a_person_wrote_during_the_call(project, long):
    finished = long(meanwhile={1: MINE})
    assert finished.exit_code == 0, finished.stderr
    assert "merged with your changes: long.txt\n" in finished.stderr
    assert "  long.txt +1 -1\n" in finished.stderr, "without the line of the person"
    assert project.read("long.txt") == MERGED
    assert project.command("undo").exit_code == 0
    assert project.read("long.txt") == LINES.replace("8", "eight")
    assert project.command("redo").exit_code == 0
    assert project.read("long.txt") == MERGED


def test_a_response_without_an_effect_is_not_credited_with_what_a_person_wrote(project, run):
    project.write({"long.txt": LINES, "build.sh": "true\n"})
    project.git("add", "-A")
    project.git("commit", "-qm", "lines")
    words = ("--query", "Change it.", "--commit")
    finished = run(block("long.txt", LINES), meanwhile={1: MINE}, arguments=words, **AUTHOR)
    assert finished.exit_code == 0, finished.stderr
    assert (
        "nothing to change: every file already has the content of the response" in finished.stderr
    )
    assert "written" not in finished.stderr
    assert project.git("status", "--short") == " M long.txt\n", "it is not committed"


def test_what_a_person_wrote_at_the_same_place_is_shown_to_the_model(project, long):
    better = RESPONSE.replace("line one\n", "my line one\n")
    finished = long(block("long.txt", better), meanwhile={1: "sed -i s/1/mine/ long.txt"})
    assert finished.exit_code == 0, finished.stderr
    assert "long.txt: Somebody changed this file after the model saw it.\n" in finished.stderr
    prompt = (project.run_folder / "2-repair-query.txt").read_text()
    assert "The text of long.txt, as it is now:\n\n--- long.txt ---\nline 0\nline mine\n" in prompt
    assert project.read("long.txt") == better
    assert project.command("undo").exit_code == 0
    assert project.read("long.txt") == LINES.replace("1", "mine")


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_and_a_mark_at_the_start_stay(project, long, ending):
    project.root.joinpath("long.txt").write_bytes(
        b"\xef\xbb\xbf" + LINES.replace("\n", ending).encode()
    )
    assert long(meanwhile={1: MINE}).exit_code == 0
    expected = b"\xef\xbb\xbf" + MERGED.replace("\n", ending).encode()
    assert project.root.joinpath("long.txt").read_bytes() == expected


@pytest.mark.parametrize("by", ["undo", "restore"])
def test_what_a_person_writes_during_a_build_stays(project, long, by):
    ends = "true" if by == "undo" else "false"
    project.write({"build.sh": f"{MINE}; echo mine >>b.txt; echo mine >own.txt; {ends}\n"})
    arguments = ("--query", "x", "--on-failure", "restore") if by == "restore" else ()
    finished = long(arguments=arguments)
    assert finished.exit_code == (0 if by == "undo" else 1)
    assert "changed:\n" not in finished.stderr or by == "undo"
    said = finished.stderr if by == "restore" else project.command("undo").stderr
    assert "left, because no response wrote them: b.txt, own.txt\n" in said
    assert texts(project, "long.txt", "b.txt", "own.txt") == [
        LINES.replace("8", "eight"),
        "old\nmine\n",
        "mine\n",
    ]
    assert project.command("redo").exit_code == 0
    assert project.read("long.txt") == MERGED


def test_a_run_counts_and_commits_only_what_it_wrote(project, long):
    project.write({"build.sh": f"{MINE}; echo mine >>b.txt; true\n"})
    project.git("config", "user.name", "A")
    project.git("config", "user.email", "a@b.c")
    project.git("add", "-A")
    project.git("commit", "-qm", "start")
    finished = long(arguments=("--query", "x", "--commit"))
    assert finished.exit_code == 0, finished.stderr
    assert "1 file changed, the build passes" in finished.stderr
    assert "not what the responses wrote: long.txt\n" in finished.stderr
    assert project.git("show", "--name-only", "--format=") == "long.txt\n"
    assert project.git("status", "--porcelain") == " M b.txt\n"


@pytest.mark.parametrize("on_failure", ["keep", "restore"])
def test_what_a_person_changes_at_the_same_place_is_named_and_comes_back(project, run, on_failure):
    answers = block("a.txt", "new\n") + block("c.txt", "new\n"), PROSE
    finished = run(
        *answers,
        meanwhile={2: "echo mine >>a.txt"},
        arguments=("--query", "x", "--on-failure", on_failure),
    )
    assert finished.exit_code == 1
    if on_failure == "keep":
        undone = project.command("undo")
        assert (undone.exit_code, undone.stdout) == (3, "")
        assert "wrote them, at the same places: a.txt\n" in undone.stderr
        assert texts(project, "a.txt", "c.txt") == ["new\nmine\n", "new\n"]
        assert project.command("undo", project.run_folder.name, "--force").exit_code == 0
    else:
        assert "moved back all the same: a.txt; `code-commit redo` brings" in finished.stderr
    assert texts(project, "a.txt", "c.txt") == ["old\n", "old\n"]
    assert project.command("redo").exit_code == 0
    assert texts(project, "a.txt", "c.txt") == ["new\nmine\n", "new\n"]


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


@pytest.mark.parametrize("moment", ["trial", "build"])
def test_a_run_that_is_killed_loses_nothing(project, long, moment):
    project.write({"build.sh": f"{MINE}; {KILL}; sleep 60\n"})
    arguments = ("--query", "x", "--candidates", "2") if moment == "trial" else ()
    assert long(block("long.txt", RESPONSE), arguments=arguments).exit_code == -9
    assert project.read("long.txt") == MERGED
    undone = project.command("undo")
    if moment == "trial":
        assert f"the run {project.run_folder.name} was killed: " in undone.stderr
    else:
        assert undone.exit_code == 0
    assert project.read("long.txt") == LINES.replace("8", "eight")


BASELINE = {"CODE_COMMIT_BUILD__BASELINE": "while-waiting"}


def test_original_files_that_are_known_to_be_green_are_not_built(project, run):
    project.write({"build.sh": "! grep -q bad a.txt\n"})
    assert run(block("a.txt", "good\n")).exit_code == 0
    assert run(block("a.txt", "bad\n"), **BASELINE).exit_code == 1
    assert logs(project) == ["1-build.txt"]
    assert run(block("a.txt", "very bad\n"), **BASELINE).exit_code == 1
    assert logs(project) == ["1-build.txt", "baseline-build.txt"], "these were red"


@pytest.mark.parametrize("command", ["init", "doctor"])
def test_what_init_and_doctor_saw_green_is_not_built_again(project, run, command):
    project.write({"build.sh": "! grep -q bad a.txt\n"})
    project.command(command, environ={"CODE_COMMIT_SANDBOX": "off"})
    assert run(block("a.txt", "bad\n"), **BASELINE).exit_code == 1
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
    expected = {"run": first, "restored": ["a.txt"], "merged": []}
    assert project.command("redo", "--json").document == expected
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
    assert "since they were moved back, at the same places: b.txt, new.txt\n" in refused.stderr
    assert texts(project, "a.txt", "b.txt", "new.txt") == ["old\n", "mine\n", "mine\n"]


def test_several_runs_and_paths_exclude_each_other(project):
    refused = project.command("undo", "~2", "a.txt")
    assert refused.exit_code == 2
    assert "~2 takes back whole runs" in refused.stderr


def test_what_a_person_writes_during_a_red_build_is_shown_before_it_is_replaced(project, run):
    project.write({"build.sh": "grep -q mine b.txt || echo mine >>b.txt; false\n"})
    finished = run(block("a.txt", "new\n"), block("b.txt", "new\n"), block("b.txt", "newer\n"))
    assert "b.txt: Somebody changed this file" in finished.stderr
    prompt = (project.run_folder / "3-repair-query.txt").read_text()
    assert "--- b.txt ---\nold\nmine\n" in prompt
    assert project.read("b.txt").startswith("newer\n")
    assert project.command("undo", "--force").exit_code == 0
    assert texts(project, "a.txt", "b.txt") == ["old\n", "old\nmine\n"]


def test_the_model_sees_what_a_person_added_to_its_file_during_a_red_build(project, long):
    project.write({"build.sh": f"{MINE}; false\n"})
    long(block("long.txt", MERGED.replace("5", "five")))
    prompt = (project.run_folder / "2-repair-query.txt").read_text()
    assert "line eight\n" in prompt
    assert project.read("long.txt") == MERGED.replace("5", "five")
    assert project.command("undo").exit_code == 0
    assert project.read("long.txt") == LINES.replace("8", "eight")


def test_what_is_in_the_way_stays_and_is_named(project, run):
    project.write({"d/x": "x\n"})
    answers = block("a.txt", "new\n") + "^^^d/x\n^^^delete\n", PROSE
    finished = run(*answers, meanwhile={2: "echo mine >d"})
    assert finished.exit_code == 1
    refused = project.command("undo", "--force")
    assert refused.exit_code == 3
    assert "d/x cannot be changed: d is a file\n" in refused.stderr
    assert texts(project, "a.txt", "d") == ["new\n", "mine\n"]


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


def test_what_a_build_left_and_a_person_changed_since_is_left_alone(project, run):
    project.write({"build.sh": "echo made >made.txt; true\n"})
    assert run(block("a.txt", "new\n")).exit_code == 0
    project.write({"made.txt": "mine\n"})
    undone = project.command("undo")
    assert (undone.exit_code, undone.stdout) == (0, "a.txt\n")
    assert texts(project, "a.txt", "made.txt") == ["old\n", "mine\n"]


def test_a_run_that_changed_nothing_hides_no_older_one(project, run):
    project.write({"build.sh": "true\n"})
    assert run(block("a.txt", "new\n")).exit_code == 0
    older = project.run_folder.name
    assert run(PROSE).exit_code == 5
    refused = project.command("undo")
    assert (refused.exit_code, project.read("a.txt")) == (3, "new\n")
    assert f"the latest run, {project.run_folder.name}, changed nothing" in refused.stderr
    assert project.command("undo", older).exit_code == 0
    assert project.read("a.txt") == "old\n"


def test_committed_work_is_not_undone_by_the_way(project, run):
    project.write({"build.sh": "true\n"})
    assert run(block("a.txt", "new\n")).exit_code == 0
    project.git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "work")
    refused = project.command("undo")
    assert (refused.exit_code, project.read("a.txt")) == (3, "new\n")
    run_name = project.run_folder.name
    assert f"the changes of the latest run, {run_name}, are in the last commit\n" in refused.stderr
    assert project.command("undo", run_name).exit_code == 0
    assert project.read("a.txt") == "old\n"


def test_a_line_in_a_file_that_the_run_made_is_named(project, run):
    project.write({"build.sh": "true\n"})
    assert run(block("new.txt", "new\n")).exit_code == 0
    project.write({"new.txt": "new\nmine\n"})
    refused = project.command("undo")
    assert (refused.exit_code, project.read("new.txt")) == (3, "new\nmine\n")
    assert "wrote them, at the same places: new.txt\n" in refused.stderr
