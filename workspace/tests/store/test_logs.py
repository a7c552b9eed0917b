"""The log of a run: written with the files, read with suspicion."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from code_commit_workspace import Change, NotReady

LOGS = "agent-config/.workspace/runs"


@pytest.fixture
def log(root, opened, plant) -> Path:
    """The log of a run that changed `a`."""
    plant(root, {"a": b"1"})
    with opened(root) as workspace:
        workspace.apply([Change("a", b"2")], run=workspace.begin("run"))
    (log,) = (root / LOGS).iterdir()
    return log


def test_a_log_is_a_private_file_with_a_line_of_json_for_each_entry(root, log):
    assert re.fullmatch(r"\d{20}-run", log.name)
    assert log.stat().st_mode & 0o777 == 0o600
    entries = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert [entry["by"] for entry in entries] == ["start", "response"]
    assert entries[1]["paths"].keys() == {"a"}


def test_a_line_that_a_kill_cut_does_not_count_and_gives_way(root, log, opened):
    whole = log.read_bytes()
    log.write_bytes(whole + whole.splitlines()[1][:30])
    with opened(root) as workspace:
        assert workspace.store.undo(None).paths == ("a",)
        assert workspace.store.redo().paths == ("a",)
    assert log.read_bytes().startswith(whole)
    assert [json.loads(line)["by"] for line in log.read_bytes().splitlines()] == [
        *("start", "response", "undo", "redo")
    ]


def plan(path: str, mode: object = 0o100644, blob: str = "0" * 40) -> str:
    return json.dumps({"by": "response", "time": 1, "paths": {path: [None, [mode, blob]]}})


DAMAGE = {
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "a list": "[]",
    "no entry": "{}",
    "another writer": '{"by": "nobody", "time": 1}',
    "no time": '{"by": "start"}',
    "an endless time": '{"by": "start", "time": 1e999}',
    "a tree that is none": '{"by": "start", "time": 1, "tree": "--output=x"}',
    "left that is no list": '{"by": "process", "time": 1, "left": 5}',
    "paths that are none": '{"by": "response", "time": 1, "paths": ["a"]}',
    "half a change": '{"by": "response", "time": 1, "paths": {"a": [null]}}',
    "a blob that is none": plan("a", blob="HEAD:a"),
    "a mode of a folder": plan("a", 0o040755),
    "a mode that is none": plan("a", "x"),
    "above": plan("../x"),
    "from the top": plan("/etc/passwd"),
    "of git": plan(".git/config"),
    "of a nested git": plan("sub/.GIT/hooks/x"),
    "of the private folder": plan("agent-config/config.toml"),
    "not a name": plan("a\0b"),
    "no text": plan("\ud800"),
    "since a later entry": '{"by": "redo", "time": 1, "since": 9}',
    "since before the first entry": '{"by": "redo", "time": 1, "since": -1}',
    "lost that was not written": '{"by": "trial", "time": 1, "lost": ["a"]}',
    "merged above": '{"by": "response", "time": 1, "merged": {"../x": [null, null]}}',
    "here": plan("./a"),
    "empty": plan(""),
}


@pytest.mark.parametrize("harm", DAMAGE)
def test_a_damaged_line_is_refused_and_the_file_is_named(root, log, opened, harm):
    log.write_bytes(log.read_bytes() + DAMAGE[harm].encode("utf-8", "surrogatepass") + b"\n")
    with pytest.raises(NotReady, match=f"^the log {log} is damaged$") as caught:
        opened(root)
    assert "delete that file" in caught.value.hint
    assert (root / "a").read_bytes() == b"2"
    log.unlink()
    with opened(root) as workspace, pytest.raises(NotReady, match="no run has left changes"):
        workspace.store.undo(None)


def test_a_log_that_is_too_long_is_refused(root, log, opened, monkeypatch):
    monkeypatch.setattr("code_commit_workspace.store.log._LARGEST", log.stat().st_size - 1)
    with pytest.raises(NotReady, match="is damaged"):
        opened(root)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_file_is_refused_and_not_waited_for(root, log, opened, tmp_path, kind):
    content = log.read_bytes()
    log.unlink()
    (tmp_path / "outside").write_bytes(content)
    if kind == "pipe":
        os.mkfifo(log)
    elif kind == "link":
        log.symlink_to(tmp_path / "outside")
    else:
        log.mkdir()
    with pytest.raises(NotReady, match=f"^the log {log} cannot be read"):
        opened(root)
    assert (tmp_path / "outside").read_bytes() == content


def test_other_names_in_the_folder_of_the_logs_are_left_alone(root, log, opened):
    for name in ("zzz", "0-run", ".hidden", "9" * 20):
        (log.parent / name).write_bytes(b"no log")
    with opened(root) as workspace:
        assert workspace.store.logs.names() == ["run"]
        assert workspace.store.undo(None).run == "run"
        workspace.store.forget(["run", "unknown"])
        assert workspace.store.logs.names() == []
    assert len(list(log.parent.iterdir())) == 4


@pytest.mark.parametrize("place", ["runs", "runs/log"])
def test_a_link_that_appears_while_a_run_goes_on_is_not_followed(
    root, workspace, tmp_path, plant, place
):
    plant(root, {"a": b"1"})
    run = workspace.begin("run")
    run.begin()
    outside = tmp_path / "outside"
    (log,) = (root / LOGS).iterdir()
    linked = log if place == "runs/log" else log.parent
    linked.rename(outside)
    linked.symlink_to(outside)
    before = outside.read_bytes() if outside.is_file() else (outside / log.name).read_bytes()
    with pytest.raises(NotReady):
        run.apply([Change("a", b"2")])
    after = outside.read_bytes() if outside.is_file() else (outside / log.name).read_bytes()
    assert (after, (root / "a").read_bytes()) == (before, b"1")


def test_a_run_whose_log_a_build_deleted_goes_on(root, workspace, plant):
    plant(root, {"a": b"1"})
    run = workspace.begin("run")
    run.apply([Change("a", b"2")])
    (log,) = (root / LOGS).iterdir()
    log.unlink()
    run.apply([Change("a", b"3")])
    assert workspace.store.undo(None).paths == ("a",)
    assert (root / "a").read_bytes() == b"2"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x"])
def test_a_run_has_a_plain_name(workspace, name):
    with pytest.raises(ValueError, match="not "):
        workspace.begin(name)
