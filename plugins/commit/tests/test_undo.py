"""`code-commit undo`: only what a run changed, for all files or some."""

from __future__ import annotations

import pytest

from code_commit_testing import Project


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


GOOD = block("a.txt", "good\n") + block("src/b.txt", "new\n") + block("src/c.txt", "new\n")


@pytest.fixture
def changed(change) -> Project:
    """A project after a run that changed a.txt and made two files, and with a later file of the
    user.
    """
    assert change([GOOD]).exit_code == 0
    change.project.write({"mine.txt": "later\n"})
    return change.project


def test_files_that_the_run_did_not_change_do_not_count(changed):
    finished = changed.command("undo")
    assert (finished.exit_code, finished.stdout) == (0, "a.txt\nsrc/b.txt\nsrc/c.txt\n")
    assert f"restored 3 files from before {changed.run_folder.name}" in finished.stderr
    assert (changed.read("a.txt"), changed.read("mine.txt")) == ("old\n", "later\n")
    assert not (changed.root / "src").exists()


def test_force_restores_what_was_changed_since(changed):
    changed.write({"a.txt": "later\n"})
    (changed.root / "src/b.txt").chmod(0o600)
    refused = changed.command("undo")
    assert (refused.exit_code, changed.read("src/c.txt")) == (3, "new\n")
    run = changed.run_folder.name
    assert (
        f"you or a build changed files since the run {run} wrote them, at the same places: a.txt\n"
        in refused.stderr
    )
    assert f"hint: nothing was undone; `code-commit undo {run} --force` replaces" in refused.stderr
    assert changed.command("undo", run, "--force").exit_code == 0
    assert (changed.read("a.txt"), changed.read("mine.txt")) == ("old\n", "later\n")
    assert not (changed.root / "src").exists()


@pytest.mark.parametrize(
    ("paths", "restored"),
    [
        (["a.txt"], ["a.txt"]),
        (["latest", "./src/b.txt", "a.txt"], ["a.txt", "src/b.txt"]),
        (["20", "src/"], ["src/b.txt", "src/c.txt"]),
        (["."], ["a.txt", "src/b.txt", "src/c.txt"]),
    ],
)
def test_only_some_paths(changed, paths, restored):
    assert changed.command("undo", *paths, "--json").document["restored"] == restored
    for path in ("a.txt", "src/b.txt", "src/c.txt"):
        left = (changed.root / path).exists() and changed.read(path) != "old\n"
        assert left is (path not in restored)


def test_a_change_since_elsewhere_is_no_obstacle_to_some_paths(changed):
    changed.write({"a.txt": "later\n"})
    assert changed.command("undo", "src").stdout == "src/b.txt\nsrc/c.txt\n"
    assert changed.read("a.txt") == "later\n"


@pytest.mark.parametrize("path", ["mine.txt", "sr", "/etc", "1999-01-01"])
def test_a_path_that_the_run_did_not_change_is_refused(changed, path):
    refused = changed.command("undo", path)
    assert (refused.exit_code, changed.read("a.txt")) == (3, "good\n")
    assert f"changed nothing at {path}\n" in refused.stderr
    assert "nothing was undone; it changed a.txt, src/b.txt, src/c.txt" in refused.stderr


def test_a_file_of_the_user_in_place_of_a_folder_stays(change):
    project = change.project
    project.write({"d/x.txt": "1\n", "e": "1\n"})
    change.show()
    assert (
        change([block("a.txt", "good\n") + "^^^d/x.txt\n^^^delete\n^^^e\n^^^delete\n"]).exit_code
        == 0
    )
    project.write({"d": "mine\n", "e/mine.txt": "mine\n"})
    refused = project.command("undo", "--force")
    assert (refused.exit_code, project.read("d"), project.read("e/mine.txt")) == (
        3,
        "mine\n",
        "mine\n",
    )
    assert project.read("a.txt") == "good\n"


def test_many_files_of_one_folder_are_counted(change):
    many = "".join(block(f"out/{number}", "") for number in range(30))
    assert change([GOOD + many]).exit_code == 0
    finished = change.project.command("undo")
    assert finished.stdout == "a.txt\nout/ (30 files)\nsrc/b.txt\nsrc/c.txt\n"
    assert "restored 33 files" in finished.stderr
