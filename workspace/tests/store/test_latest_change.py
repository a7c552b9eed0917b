"""`undo` without a name takes back the latest run of whose changes some are still there."""

from __future__ import annotations

from code_commit_workspace.git import Git


def test_the_latest_run_with_changes_that_are_still_there(root, checkpoints, plant):
    assert checkpoints.latest_change() is None
    plant(root, {"a": b"1", "b": b"1", "c": b"1"})
    checkpoints.take("one", "start")
    plant(root, {"a": b"2"})
    checkpoints.take("one", "end")
    plant(root, {"c": b"mine"})
    checkpoints.take("two", "start")
    plant(root, {"a": b"3", "b": b"2"})
    checkpoints.take("two", "end")
    assert checkpoints.latest_change() == "two"
    checkpoints.undo("two", ["b"])
    plant(root, {"a": b"mine"})
    assert checkpoints.latest_change() == "two", "an edit of its change does not undo it"
    checkpoints.undo("two", force=True)
    assert checkpoints.latest_change() == "one"
    checkpoints.undo("one")
    assert checkpoints.latest_change() is None
    plant(root, {"a": b"3"})
    assert checkpoints.latest_change() == "two"
    checkpoints.undo("one", force=True)
    assert checkpoints.latest_change() is None, "the undo of an earlier run undid the later one"


def test_many_runs_are_read_at_once(root, checkpoints, plant, monkeypatch):
    plant(root, {"a": b"0"})
    for number in range(1, 25):
        checkpoints.take(f"run-{number}", "start")
        plant(root, {"a": str(number).encode()})
        checkpoints.take(f"run-{number}", "end", only=["a"])
    plant(root, {"a": b"0"})
    started: list[str] = []
    run = Git.run

    def counting(self, args, **options):
        started.append(args[0])
        return run(self, args, **options)

    monkeypatch.setattr(Git, "run", counting)
    assert checkpoints.latest_change() is None
    assert len(started) < 24, started
    plant(root, {"a": b"24"})
    assert checkpoints.latest_change() == "run-24"
    plant(root, {"a": b"mine"})
    assert checkpoints.latest_change() == "run-24"
