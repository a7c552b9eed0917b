"""Killed or out of space at any step of a move: all files are old or all are new, and the log agrees.

A step is a call that changes the disk: of the files, the journal, the log, or the objects.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from code_commit_workspace import Change, NotReady, Workspace
from code_commit_workspace.store import RunChanges

# A server thread of another test may still exist; the child does not use it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

EVERY = pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.slow)])
REMOVING = ("unlink", "rmdir", "ftruncate")
MAKING = ("open", "write", "link", "symlink", "mkdir", "rename", "replace", "fsync", "fchmod")
LINES = b"".join(b"%d\n" % number for number in range(20))
MINE = LINES.replace(b"9\n", b"mine\n", 1)
Picture = dict[str, bytes]


def picture(root: Path) -> Picture:
    paths = [path for path in root.rglob("*") if path.is_file()]
    short = {path.relative_to(root).as_posix(): path for path in paths}
    return {
        name: path.read_bytes()
        for name, path in short.items()
        if not name.startswith((".git", "agent-config"))
    }


@contextmanager
def steps(fault: Callable[[int], None], names: tuple[str, ...]) -> Iterator[None]:
    """Call `fault` with the number of each step, before it."""
    number = -1

    def wrapped(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counting(*args: object, **options: object) -> object:
            nonlocal number
            if name != "open" or args[1] & os.O_CREAT:  # type: ignore[operator]
                number += 1
                fault(number)
            return call(*args, **options)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(os, name, wrapped(name, getattr(os, name)))
        yield


def count(work: Callable[[], object], names: tuple[str, ...]) -> int:
    """Return the number of the last step of `work`."""
    numbers = [0]
    with steps(numbers.append, names):
        work()
    return numbers[-1]


def in_child(work: Callable[[], object]) -> None:
    """Do `work` in a process that may be killed."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent looks at the exit code
            os._exit(1)
    assert os.waitpid(child, 0)[1] in {0, signal.SIGKILL}


class Scene(NamedTuple):
    """A project with the work of a run in it, and a person's line."""

    root: Path
    opened: Callable[[Path], Workspace]
    before: Picture
    after: Picture

    def begin(self, workspace: Workspace, name: str) -> RunChanges:
        run = workspace.begin(name)
        run.begin()
        return run

    def apply(self, run: RunChanges) -> None:
        """Apply a response, which is merged with the person's line."""
        changes = [
            Change("a", LINES.replace(b"2\n", b"r\n", 1)),
            Change("d/gone", None),
            Change("swap", None),
            Change("swap/n", b"new\n"),
            Change("e/new", b"new\n"),
        ]
        run.apply(changes, {"a": LINES})

    def last_entry(self, workspace: Workspace, run: str) -> str:
        log = workspace.store.logs.of(run)
        assert log is not None
        return log.entries[-1].by


@pytest.fixture
def scene(root, opened, plant, tmp_path):
    plant(root, {"a": MINE, "d/gone": b"g\n", "swap": b"s\n", "own": b"mine"})
    before = picture(root)
    after = before | {
        "a": MINE.replace(b"2\n", b"r\n", 1),
        "swap/n": b"new\n",
        "e/new": b"new\n",
    }
    del after["d/gone"], after["swap"]
    return Scene(root, opened, before, after)


def die_at(at: int) -> Callable[[int], None]:
    def fault(number: int) -> None:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


@EVERY
def test_an_apply_that_is_killed(scene, stride):
    with scene.opened(scene.root) as workspace:
        run = scene.begin(workspace, "counted")
        last = count(lambda: scene.apply(run), MAKING + REMOVING)
        assert picture(scene.root) == scene.after
        workspace.store.undo("counted")
    assert last > 30
    ends = set()
    for at in range(last, -1, -stride):

        def work(at: int = at) -> None:
            workspace = scene.opened(scene.root)
            run = scene.begin(workspace, f"run-{at}")
            with steps(die_at(at), MAKING + REMOVING):
                scene.apply(run)

        in_child(work)
        with scene.opened(scene.root) as workspace:
            seen = picture(scene.root)
            is_done = scene.last_entry(workspace, f"run-{at}") == "response"
            assert seen == (scene.after if is_done else scene.before), at
            ends.add(is_done)
            if is_done:
                workspace.store.undo(None)
            assert picture(scene.root) == scene.before
    assert ends == {True, False}


@EVERY
@pytest.mark.parametrize("operation", ["undo", "redo"])
def test_an_undo_or_redo_that_is_killed(scene, stride, operation):
    states = {"undo": scene.before, "redo": scene.after, "response": scene.after}
    with scene.opened(scene.root) as workspace:
        scene.apply(scene.begin(workspace, "run"))
        if operation == "redo":
            workspace.store.undo(None)
    with scene.opened(scene.root) as workspace:
        last = count(lambda: do(workspace, operation), MAKING + REMOVING)
        do(workspace, "redo" if operation == "undo" else "undo")
    ends = set()
    for at in range(last, -1, -stride):

        def work(at: int = at) -> None:
            workspace = scene.opened(scene.root)
            with steps(die_at(at), MAKING + REMOVING):
                do(workspace, operation)

        in_child(work)
        with scene.opened(scene.root) as workspace:
            entry = scene.last_entry(workspace, "run")
            assert picture(scene.root) == states[entry], at
            ends.add(entry == operation)
            other = "redo" if operation == "undo" else "undo"
            if entry == operation:
                do(workspace, other)
            assert picture(scene.root) == states[other]
    assert ends == {True, False}


def do(workspace: Workspace, operation: str) -> None:
    if operation == "undo":
        workspace.store.undo("run")
    else:
        workspace.store.redo("run")


@EVERY
def test_a_trial_that_is_killed_is_moved_back(scene, stride):
    def trial(run: RunChanges) -> None:
        with run.trial():
            scene.apply(run)
            with run.command():
                (scene.root / "e/new").write_bytes(b"command\n")

    with scene.opened(scene.root) as workspace:
        run = scene.begin(workspace, "counted")
        last = count(lambda: trial(run), MAKING + REMOVING)
    assert picture(scene.root) == scene.before
    for at in range(last, -1, -2 * stride):

        def work(at: int = at) -> None:
            workspace = scene.opened(scene.root)
            run = scene.begin(workspace, f"run-{at}")
            with steps(die_at(at), MAKING + REMOVING):
                trial(run)

        in_child(work)
        with scene.opened(scene.root) as workspace:
            assert picture(scene.root) == scene.before, at
            with pytest.raises(NotReady, match="changed nothing that is there"):
                workspace.store.undo(None)
        with scene.opened(scene.root) as workspace:
            assert workspace.recovered is None


@EVERY
@pytest.mark.parametrize("lasting", [False, True])
def test_a_full_disk_changes_nothing(scene, stride, lasting):
    def fault_at(at: int) -> Callable[[int], None]:
        def fault(number: int) -> None:
            if number == at or (lasting and number > at):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return fault

    with scene.opened(scene.root) as workspace:
        run = scene.begin(workspace, "counted")
        last = count(lambda: scene.apply(run), MAKING)
        workspace.store.undo(None)
    failures = 0
    for at in range(last, -1, -stride):
        with scene.opened(scene.root) as workspace:
            run = scene.begin(workspace, f"run-{at}")
            failed = False
            try:
                with steps(fault_at(at), MAKING):
                    scene.apply(run)
            except NotReady as error:
                assert "No space left" in error.message  # noqa: PT017 - some steps may fail
                failed = True
                failures += 1
                assert lasting or picture(scene.root) == scene.before, at
        with scene.opened(scene.root) as workspace:
            assert picture(scene.root) == (scene.before if failed else scene.after), at
            assert (scene.last_entry(workspace, f"run-{at}") == "start") == failed
            if not failed:
                workspace.store.undo(None)
            assert picture(scene.root) == scene.before
    assert failures


def test_a_file_that_was_changed_after_a_kill_stays_and_its_undo_merges(scene):
    def stop_at_the_end(number: int) -> None:
        if (scene.root / "e/new").exists() and (scene.root / "a").read_bytes() != MINE:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        workspace = scene.opened(scene.root)
        run = scene.begin(workspace, "run")
        with steps(stop_at_the_end, MAKING + REMOVING):
            scene.apply(run)

    in_child(work)
    assert picture(scene.root) == scene.after
    edited = scene.after["a"].replace(b"15\n", b"later\n")
    (scene.root / "a").write_bytes(edited)
    with scene.opened(scene.root) as workspace:
        assert workspace.recovered == (
            "an earlier run was interrupted while it changed 5 files: the project is restored, "
            "but for what was changed since: a"
        )
        assert picture(scene.root) == scene.before | {"a": edited}
        assert workspace.store.undo(None).paths == ("a",)
    assert picture(scene.root) == scene.before | {"a": MINE.replace(b"15\n", b"later\n")}
