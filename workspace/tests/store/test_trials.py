"""A trial: what a run writes in it is moved back, unless it is kept; what others write stays."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from code_commit_workspace import (
    Change,
    ChangeSetRefused,
    Conflict,
    NotReady,
    RunChanges,
    Workspace,
)
from code_commit_workspace.store.log import Entry, now

LINES = [b"%d\n" % number for number in range(20)]


def text(**changed: bytes) -> bytes:
    """Return 20 lines, some of them other: `l3=b"x"` is line 3."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name[1:])] = line + b"\n"
    return b"".join(lines)


def contents(root: Path) -> dict[str, bytes]:
    names = sorted(path.name for path in root.iterdir() if path.is_file())
    return {name: (root / name).read_bytes() for name in names if name != ".gitignore"}


def test_a_trial_is_moved_back_unless_it_is_kept(root, workspace, plant):
    plant(root, {"a": b"1", "b": b"1"})
    run = workspace.begin("run")
    with run.trial() as trial:
        workspace.apply([Change("a", b"2"), Change("b", None), Change("c", b"2")], run=run)
    assert contents(root) == {"a": b"1", "b": b"1"}
    assert trial.moved.differences.keys() == {"a", "b", "c"}
    assert run.net() == {}
    with run.trial() as trial:
        run.apply([Change("a", b"3")])
        trial.keep()
    assert (contents(root), trial.moved.differences) == ({"a": b"3", "b": b"1"}, {})

    def fail() -> None:
        with run.trial():
            run.apply([Change("a", b"4"), Change("d", b"4")])
            raise RuntimeError("the build broke")

    with pytest.raises(RuntimeError, match="the build broke"):
        fail()
    assert contents(root) == {"a": b"3", "b": b"1"}
    workspace.store.undo(None)
    assert contents(root) == {"a": b"1", "b": b"1"}


def test_what_others_write_in_a_trial_stays(root, workspace, plant):
    plant(root, {"a": text(), "b": b"1"})
    run = workspace.begin("run")
    with run.trial() as trial:
        run.apply([Change("a", text(l3=b"r")), Change("c", b"r")])
        plant(root, {"a": text(l3=b"r", l9=b"mine"), "b": b"mine", "mine": b"m", "built": b"x"})
    assert contents(root) == {
        "a": text(l9=b"mine"),
        "b": b"mine",
        "built": b"x",
        "mine": b"m",
    }
    assert trial.moved.replaced == frozenset()
    with pytest.raises(NotReady, match="nothing to redo"):
        workspace.store.redo()


def test_lines_that_overlap_give_way_and_redo_has_them(root, workspace, plant):
    plant(root, {"a": text(), "b": text()})
    run = workspace.begin("run")
    with run.trial() as trial:
        run.apply([Change("a", text(l3=b"r")), Change("b", text(l3=b"r")), Change("c", b"r")])
        plant(root, {"a": text(l3=b"mine"), "c": b"mine"})
    assert contents(root) == {"a": text(), "b": text()}
    assert trial.moved.replaced == {"a", "c"}
    plant(root, {"a": text(l9=b"later")})
    assert workspace.store.redo().paths == ("a", "c")
    assert contents(root) == {"a": text(l3=b"mine", l9=b"later"), "b": text(), "c": b"mine"}


def test_what_a_command_of_a_model_changed_in_a_trial_is_moved_back(root, workspace, plant):
    plant(root, {"a": b"1"})
    run = workspace.begin("run")
    with run.trial():
        run.apply([Change("a", b"2")])
        with run.command():
            plant(root, {"a": b"3", "made": b"3"})
    assert contents(root) == {"a": b"1"}


def test_files_that_are_shown_in_a_trial_stand_there_as_long_as_it_lasts(root, workspace, plant):
    plant(root, {"test": text(), "gone": b"old"})
    run = workspace.begin("run")
    run.apply([Change("test", text(l3=b"weak")), Change("gone", None)])
    plant(root, {"test": text(l3=b"weak", l9=b"mine")})
    with run.trial([Change("test", text()), Change("gone", b"old")]):
        assert contents(root) == {"test": text(l9=b"mine"), "gone": b"old"}
        plant(root, {"test": text(l9=b"mine", l15=b"too")})
    assert contents(root) == {"test": text(l3=b"weak", l9=b"mine", l15=b"too")}
    workspace.store.undo(None)
    assert contents(root) == {"test": text(l9=b"mine", l15=b"too"), "gone": b"old"}


def test_trials_in_a_row_are_candidates(root, workspace, plant):
    plant(root, {"a": text()})
    run = workspace.begin("run")
    run.apply([Change("a", text(l0=b"kept"))], {"a": text()})
    for number in range(3):
        plant(root, {"own": b"%d" % number})
        with run.trial() as trial:
            response = [Change("a", text(l0=b"kept", l5=b"%d" % number)), Change("b", b"new")]
            run.apply(response, {"a": text(l0=b"kept"), "b": None})
            if number == 2:
                trial.keep()
    assert contents(root) == {"a": text(l0=b"kept", l5=b"2"), "b": b"new", "own": b"2"}
    assert workspace.store.undo(None).paths == ("a", "b")
    assert contents(root) == {"a": text(), "own": b"2"}


def nothing(_root: Path, run: RunChanges) -> None:
    with run.trial():
        pass


def a_conflict(root: Path, run: RunChanges) -> None:
    run.apply([Change("a", b"run")])
    (root / "a").write_bytes(b"mine")
    with pytest.raises(Conflict), run.trial([Change("a", b"shown")]):
        pass


@pytest.mark.parametrize("trial", [nothing, a_conflict])
def test_a_trial_that_wrote_nothing_is_over(root, opened, plant, trial):
    plant(root, {"a": b"1"})
    with opened(root) as workspace:
        run = workspace.begin("run")
        trial(root, run)
        run.apply([Change("b", b"2")])
    with opened(root) as workspace:
        assert workspace.recovered is None
    assert (root / "b").read_bytes() == b"2"


def test_what_a_person_writes_after_a_kill_in_a_trial_comes_back(root, opened, plant):
    plant(root, {"a": b"1"})
    with opened(root) as workspace:
        run = workspace.begin("run")
        run.begin()
        for by in ("trying", "running"):
            run.log.add(Entry(by, now(), run.latest.tree))
    plant(root, {"a": b"mine", "own": b"mine"})
    with opened(root) as workspace:
        assert workspace.recovered.startswith(
            "the run run was killed: what changed since its last command began counts as the run's: a, own; a, own moved back; "
        )
        assert contents(root) == {"a": b"1"}
        assert workspace.store.redo().paths == ("a", "own")
    assert contents(root) == {"a": b"mine", "own": b"mine"}
    with opened(root) as workspace:
        assert workspace.recovered is None


@pytest.mark.parametrize("obstacle", ["pipe", "work of a person", "damaged store"])
def test_what_is_not_moved_back_after_a_kill_in_a_trial_is_named_once(
    root, opened, plant, obstacle
):
    plant(root, {"a": b"1", "b": b"1", "c": b"1"})
    with opened(root) as workspace:
        run = workspace.begin("run")
        run.begin()
        run.log.add(Entry("trying", now()))
        run.apply([Change("a", b"2"), Change("b", b"2"), Change("c", b"2")])
    (root / "a").unlink()
    expected = {"b": b"1", "c": b"1"}
    match obstacle:
        case "pipe":
            os.mkfifo(root / "a")
            reason = (
                "b, c moved back; `code-commit redo` brings that back; not moved back: a cannot be"
            )
        case "work of a person":
            plant(root, {"a": b"mine"})
            expected["a"] = b"mine"
            reason = (
                "b, c moved back; `code-commit redo` brings that back; "
                "not moved back: changed by somebody else at the same places: a"
            )
        case _:
            shutil.rmtree(root / "agent-config/.workspace/store.git")
            plant(root, {"a": b"mine"})
            expected = {"a": b"mine", "b": b"2", "c": b"2"}
            reason = "not moved back: the store is incomplete: "
    with opened(root) as workspace:
        assert workspace.recovered.startswith(f"the run run was killed: {reason}")
    if obstacle == "pipe":
        (root / "a").unlink()
    assert contents(root) == expected
    with opened(root) as workspace:
        assert workspace.recovered is None
        if obstacle != "damaged store":
            assert workspace.store.redo().paths == ("b", "c"), "all at once"


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_stands_in_the_way_at_the_end_of_a_trial_is_named(root, workspace, plant, kind):
    plant(root, {"a": b"1", "b": b"1"})
    run = workspace.begin("run")
    trial = run.trial()
    block = trial.__enter__()
    run.apply([Change("a", b"2"), Change("b", b"2")])
    (root / "a").unlink()
    if kind == "pipe":
        os.mkfifo(root / "a")
    else:
        plant(root, {"a/x.o": b"ignored"})
    trial.__exit__(None, None, None)
    [obstacle] = block.moved.obstacles
    assert obstacle.startswith("a cannot be")
    assert (root / "b").read_bytes() == b"1"
    (root / "a").rename(root / "aside")
    assert workspace.store.undo(None, force=True).paths == ("a",)
    assert (root / "a").read_bytes() == b"1"


def test_the_build_script_is_protected_unless_the_caller_allows_it(small_project):
    changes = [Change("build.sh", b"exit 0\n")]
    for allowed in (False, True):
        with Workspace.open(
            small_project,
            writes=True,
            private_folder="agent-config",
            may_change_build_script=allowed,
        ) as workspace:
            if allowed:
                workspace.apply(changes, run=workspace.begin("tool"))
            else:
                with pytest.raises(ChangeSetRefused, match=r"build\.sh"):
                    workspace.apply(changes, run=workspace.begin("tool"))
    assert (small_project / "build.sh").read_bytes() == b"exit 0\n"


def test_a_workspace_for_reading_begins_no_run(small_project):
    with (
        Workspace.open(small_project, writes=False, private_folder="agent-config") as workspace,
        pytest.raises(NotReady, match="reading only"),
    ):
        workspace.begin("tool")
