"""`code-commit undo`: which run and which files it takes back, and what it says of a commit that
stays.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from code_commit_testing import Finished, install_plugin
from code_commit_workspace import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write

PLUGIN = """
import json
from pydantic import BaseModel
from code_commit.plugin_api import Change, Flag, Outcome, Result, WorkflowDefinition, hookimpl


class Options(BaseModel):
    change: str


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--change",), "change files", "JSON", selects=True),)
    return [
        WorkflowDefinition(
            "changing",
            "change files",
            flags,
            "changing_plugin:change",
            roles=None,
            options="changing_plugin:Options",
        )
    ]


def change(run):
    paths, data = json.loads(run.options.change)
    if paths:
        run.apply([Change(path, data.get("text", "new").encode()) for path in paths])
    if "build" in data:
        run.build()
    return Result(Outcome.NOT_REACHED if "missed" in data else Outcome.REACHED, "done", data)
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOTHING_KEPT = {"merged": [], "replaced": [], "left": []}
REVERTS = "`git commit` revert it, too (next time, use `git revert` instead of `undo`)"


@pytest.fixture
def change(project, tmp_path):
    """Return a function that runs a workflow which changes files; it returns the run's name."""
    plugins = [install_plugin(tmp_path / "plugins", "changing", PLUGIN)]

    def change(*paths: str, **data: object) -> str:
        command = ("--quiet", "--on-failure", "restore", "--change", json.dumps([paths, data]))
        assert (finished := project.command(*command, plugins=plugins)).exit_code == (
            "missed" in data
        ), finished.stderr
        return str(project.run_folder.name)

    return change


def ended(finished: Finished) -> tuple[int, str, str]:
    return finished.exit_code, finished.stdout, finished.stderr


@pytest.mark.slow
def test_the_latest_run_that_changed_files_is_undone(project, change) -> None:
    first = change("a.txt", "b.txt")
    second = change("c.txt")
    third = change()
    assert ended(project.command("undo")) == (
        0,
        "c.txt\n",
        f"restored 1 file from before {second}\n",
    )
    assert (
        project.command("undo", "latest").stderr
        == f"error: nothing to undo: {third} changed no files\n"
    )
    assert project.command("undo", first).stderr == f"restored 2 files from before {first}\n"
    assert project.read("a.txt") == "old\n"
    assert not (project.root / "b.txt").exists()


def test_runs_that_were_undone_are_passed_over(project, change) -> None:
    first = change("a.txt")
    second = change("b.txt", "c.txt")
    for words in (["c.txt"], []):
        assert ended(project.command("undo", *words)) == (
            0,
            f"{words[0] if words else 'b.txt'}\n",
            f"restored 1 file from before {second}\n",
        )
    undone = {"run": first, "runs": [first], "restored": ["a.txt"], **NOTHING_KEPT}
    assert project.command("undo", "--json").document == undone
    assert ended(project.command("undo")) == (
        3,
        "",
        "error: nothing to undo: no run has left changes here\n",
    )


def test_what_somebody_restored_or_brought_back_is_said(project, change) -> None:
    run = change("a.txt", "b.txt")
    project.write({"a.txt": "old\n"})
    (project.root / "b.txt").unlink()
    assert ended(project.command("undo")) == (
        0,
        "",
        f"the files of {run} are already as they were before it\n",
    )
    assert json.loads((project.root / "logs" / run / "run.json").read_text())["undone"] == [
        "a.txt",
        "b.txt",
    ]
    assert ended(project.command("redo"))[0] == 3
    run = change("a.txt")
    project.command("undo")
    project.write({"a.txt": "new"})
    assert ended(project.command("redo")) == (
        0,
        "",
        f"the files of {run} are already back\n",
    )


def test_a_latest_run_without_changes_is_named_and_no_earlier_one_undone(project, change) -> None:
    first = change("a.txt")
    restored = change("b.txt", missed=True)
    nothing = f"error: nothing to undo: the latest run, {restored}, changed nothing that is there\n"
    hint = "hint: `code-commit undo RUN` takes back an earlier one\n"
    for words in ([], ["~2"]):
        assert ended(project.command("undo", *words)) == (3, "", nothing + hint)
    assert project.read("a.txt") == "new"
    assert ended(project.command("undo", first)) == (
        0,
        "a.txt\n",
        f"restored 1 file from before {first}\n",
    )
    assert ended(project.command("redo", restored))[:2] == (0, "b.txt\n"), "it put this back itself"


def test_committed_work_is_taken_back_only_by_name(project, change) -> None:
    run = change("a.txt")
    project.git("add", "a.txt")
    project.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "new")
    error = f"error: the changes of the latest run, {run}, are in the last commit\n"
    hint = (
        "hint: `git revert` reverts that commit; "
        f"`code-commit undo {run}` takes them back in the files\n"
    )
    assert ended(project.command("undo")) == (
        3,
        "",
        error + hint,
    )
    assert project.read("a.txt") == "new"
    assert project.command("undo", run).exit_code == 0
    assert project.read("a.txt") == "old\n"


def test_the_last_runs_are_undone_in_order_and_each_comes_back(project, change) -> None:
    runs = [change("a.txt", text=text) for text in ("new", "newer", "newest")]
    undone = {"run": runs[1], "runs": [runs[2], runs[1]], "restored": ["a.txt"], **NOTHING_KEPT}
    assert project.command("undo", "~2", "--json").document == undone
    assert project.read("a.txt") == "new"
    for words, run, content in ((["--json"], runs[1], "newer"), ([runs[2]], runs[2], "newest")):
        finished = project.command("redo", *words)
        assert (finished.exit_code, run in finished.stdout + finished.stderr) == (0, True)
        assert project.read("a.txt") == content
    assert project.command("redo").stderr.startswith("error: no undo can be taken back")


LINES = "".join(f"{number}\n" for number in range(9))


def test_what_a_person_changed_elsewhere_in_the_files_stays(project, change) -> None:
    project.write({"a.txt": LINES})
    run = change("a.txt", text=LINES.replace("1\n", "new\n"))
    mine = LINES.replace("7\n", "mine\n")
    project.write({"a.txt": mine.replace("1\n", "new\n")})
    merged = "merged with your changes: a.txt\n"
    restored = f"restored 1 file from before {run}\n"
    assert ended(project.command("undo")) == (0, "a.txt\n", restored + merged)
    assert project.read("a.txt") == mine
    more = mine.replace("5\n", "more\n")
    project.write({"a.txt": more})
    brought = f"brought back 1 file of {run}\n"
    assert ended(project.command("redo")) == (0, "a.txt\n", brought + merged)
    assert project.read("a.txt") == more.replace("1\n", "new\n")
    project.write({"a.txt": mine.replace("1\n", "my own\n")})
    assert ended(project.command("undo"))[0] == 3
    assert project.read("a.txt") == mine.replace("1\n", "my own\n")
    replaced = "your changes are replaced, and `code-commit redo` brings them back: a.txt\n"
    assert ended(project.command("undo", "--force")) == (0, "a.txt\n", restored + replaced)
    assert project.read("a.txt") == LINES
    assert project.command("redo").exit_code == 0
    assert project.read("a.txt") == mine.replace("1\n", "my own\n")


def test_what_appeared_while_a_build_ran_stays_and_is_named(project, change) -> None:
    project.write({"build.sh": "echo built > made.txt\n"})
    run = change("a.txt", build=True)
    assert ended(project.command("undo")) == (
        0,
        "a.txt\n",
        f"restored 1 file from before {run}\nleft, because no response wrote them: made.txt\n",
    )
    assert project.read("made.txt") == "built\n"


@pytest.mark.slow
def test_one_file_is_taken_back_through_several_runs(project, change) -> None:
    runs = [change("a.txt", text=text) for text in ("new", "newer", "newest")]
    for run, content in zip(reversed(runs), ("newer", "new", "old\n"), strict=True):
        assert ended(project.command("undo")) == (
            0,
            "a.txt\n",
            f"restored 1 file from before {run}\n",
        )
        assert project.read("a.txt") == content
    assert (
        project.command("undo").stderr == "error: nothing to undo: no run has left changes here\n"
    )


def test_a_run_may_be_a_prefix_and_paths_choose_files(project, change) -> None:
    run = change("a.txt", "b.txt", "c/d.txt", "c/e.txt")
    assert "changed nothing at nowhere" in project.command("undo", "nowhere").stderr
    project.write({"b.txt": "newer"})
    assert "you or a build changed files since" in project.command("undo", "b.txt").stderr
    for words, restored in (
        (["b.txt", "--force"], ["b.txt"]),
        ([run[:-1], "c"], ["c/d.txt", "c/e.txt"]),
        (["latest"], ["a.txt"]),
    ):
        finished = project.command("undo", *words, "--json")
        undone = {"run": run, "runs": [run], "restored": restored, **NOTHING_KEPT}
        undone["replaced"] = ["b.txt"] if "--force" in words else []
        assert (finished.document, finished.stderr) == (undone, "")


def killed_while_it_applies(root) -> None:
    def stop(what: str) -> None:
        if what == "rename b.txt":
            os._exit(9)

    if not (child := os.fork()):
        writes = [Write("a.txt", b"new"), Write("b.txt", b"new")]
        with ProjectTree(root) as tree:
            replace(tree, root / "agent-config/.code-commit", writes, step=stop)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert (root / "a.txt").read_text() == "new"


@pytest.mark.parametrize("command", [["undo"], ["check", "a.txt"]], ids=" ".join)
def test_a_command_says_that_it_restored_the_files_of_a_killed_run(project, command) -> None:
    killed_while_it_applies(project.root)
    finished = project.command(*command)
    restored = (
        "warning: an earlier run was interrupted while it changed 2 files: the project is restored"
    )
    assert restored in finished.stderr.splitlines()
    assert project.read("a.txt") == "old\n"


@pytest.mark.slow
def test_files_that_were_changed_since_are_kept_without_force(project, change) -> None:
    change("a.txt", COMMITTED=COMMIT)
    project.write({"a.txt": "newer"})
    assert project.command("undo").exit_code == 3
    assert project.read("a.txt") == "newer"
    assert project.command("undo", "--force").exit_code == 0
    assert project.read("a.txt") == "old\n"


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("paths", "add"),
    [
        (["a b.txt", "c.txt"], "git add -A -- 'a b.txt' c.txt"),
        (
            [f"{number}.txt" for number in range(10)],
            "git add -A -- " + " ".join(f"{number}.txt" for number in range(10)),
        ),
        ([f"{number}.txt" for number in range(10, 21)], "git add"),
    ],
    ids=["2", "10", "11"],
)
def test_a_commit_of_the_run_stays(project, change, paths, add) -> None:
    run = change(*paths, committed=COMMIT)
    finished = project.command("undo")
    assert finished.stdout.splitlines() == paths
    assert finished.stderr.splitlines() == [
        f"restored {len(paths)} files from before {run}",
        f"hint: the commit 0123456789ab stays; `{add}` and {REVERTS}",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", [None, "{", "[]", '{"data": 3}', '{"data": {"committed": ""}}']
)
def test_without_a_known_commit_none_is_named(project, change, document) -> None:
    run = change("a.txt", committed=COMMIT)
    file = project.run_folder / "run.json"
    file.unlink()
    file.with_name("events.jsonl").write_text("")  # it would tell the commit
    if document is not None:
        file.write_text(document)
    assert ended(project.command("undo")) == (0, "a.txt\n", f"restored 1 file from before {run}\n")


def test_undo_tells_what_it_restored_where_stdout_cannot_be_written(project, change) -> None:
    run = change("a.txt")
    with (
        Path("/dev/full").open("wb") as full,
        project.start("undo", stdout=full.fileno()) as process,
    ):
        _, stderr = process.communicate()
    assert (process.returncode, project.read("a.txt")) == (3, "old\n")
    assert stderr.decode().startswith(
        f"restored 1 file from before {run}\nerror: stdout cannot be written: "
    )
