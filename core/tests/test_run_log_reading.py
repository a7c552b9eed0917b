"""Reading runs back: finished, going on, killed, and folders that are none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from code_commit.log.run_log import RunLog
from code_commit.plugin_api import (
    find_run,
    is_running,
    open_run_file,
    read_records,
    run_document,
    run_folders,
)
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit.plugin_api.event import CallFinished, CallStarted
from code_commit.plugin_api.record import Record
from code_commit_workspace.keys.redaction import Redactor

NOON = 1_700_000_000.0
STARTED = CallStarted(
    1,
    "query",
    provider="openai",
    model="gpt-5",
    address="https://x",
    key_source="",
    request="query.txt",
)
FINISHED = CallFinished(
    1,
    "query",
    model="gpt-5",
    finish="stop",
    finish_detail="stop",
    seconds=1.5,
    input_tokens=100,
    output_tokens=10,
)

LASTING = """
import sys
from pathlib import Path
from code_commit.plugin_api.event import CallStarted
from code_commit_workspace.keys.redaction import Redactor
from code_commit.log.run_log import RunLog
log = RunLog(Path(sys.argv[1]), "chat", redactor=Redactor())
log.emit(CallStarted(1, "query", "openai", "gpt-5", "https://x", "", "query.txt"))
print(log.run, flush=True)
sys.stdin.read()
"""


def a_run(
    root: Path,
    at: float = NOON,
    workflow: str = "committing-code",
    code: ExitCode = ExitCode.REACHED,
) -> RunLog:
    log = RunLog(root, workflow, redactor=Redactor(), clock=lambda: at)
    log.emit(STARTED)
    log.emit(FINISHED)
    log.finish(code, "summed up")
    return log


def test_a_run_that_goes_on_is_told_from_a_killed_one(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", LASTING, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        name = child.stdout.readline().strip()
        reply = tmp_path / "logs" / name / "1-ask-response.json"
        reply.write_text("[\n{}")
        folder = find_run(tmp_path, name)
        assert (is_running(folder), reply.read_text()) == (True, "[\n{}")
        child.kill()
        child.wait(timeout=60)
    assert not is_running(folder)
    assert find_run(tmp_path, name) == folder
    assert reply.read_text() == "[\n{}\n]\n"
    document = run_document(read_records(folder / "events.jsonl"))
    assert (document["state"], document["workflow"], document["outcome"]) == (
        "running",
        "chat",
        None,
    )
    assert document["calls"]["started"] == 1  # later than what run.json says


def test_a_run_document_is_a_fold_over_the_events(tmp_path):
    log = a_run(tmp_path)
    document = run_document(read_records(log.folder / "events.jsonl"))
    assert document == json.loads((log.folder / "run.json").read_text())


RECORD = {
    "seq": 9,
    "time": 0,
    "run": "r",
    "span": 1,
    "parent": None,
    "kind": "k",
    "data": {},
    "version": 2,
}
NO_RECORDS = [
    {**RECORD, name: value}
    for name in RECORD
    for value in ([], "1" if name not in {"run", "kind"} else 1)
]
NO_RECORDS += [
    {name: value for name, value in RECORD.items() if name != missing} for missing in RECORD
]


@pytest.mark.parametrize(
    "line", [b"", b"null", *(json.dumps(document).encode() for document in NO_RECORDS)]
)
def test_lines_that_are_no_records_are_passed_over(tmp_path, line):
    events = tmp_path / "events.jsonl"
    events.write_bytes(line + b"\n" + json.dumps(RECORD | {"more": 1}).encode() + b"\n")
    [record] = read_records(events)
    assert record == Record(9, 0.0, "r", 1, None, "k", {}, 2)
    assert isinstance(record.time, float)


def test_runs_are_listed_from_the_oldest_to_the_latest(tmp_path):
    later = a_run(tmp_path, NOON + 60).run
    same_second = [a_run(tmp_path, NOON, workflow="chat").run for _ in range(11)]
    (tmp_path / "logs/notes").mkdir()
    (tmp_path / "logs/2023-11-15-07-13-20-file").write_text("")
    assert [folder.name for folder in run_folders(tmp_path)] == [*same_second, later]


def moved(log: RunLog, hours: float, number: int = 0) -> str:
    """Rename a run's folder as if it was made in a time zone that many hours from UTC; return its
    name.
    """
    local = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime(NOON + number * 60 + hours * 3600))
    folder = log.folder.rename(log.folder.with_name(f"{local}-committing-code"))
    return folder.name


def test_runs_follow_their_start_whatever_the_time_zone_was(tmp_path):
    """A person travels: each run starts a minute after the one before."""
    zones = [14, -12, 5.75, -3.5, 0, 12]
    names = [
        moved(a_run(tmp_path, NOON + 60 * number), zone, number)
        for number, zone in enumerate(zones)
    ]
    assert [folder.name for folder in run_folders(tmp_path)] == names
    for last in reversed(names):
        assert find_run(tmp_path, "latest").name == last
        shutil.rmtree(tmp_path / "logs" / last)


@pytest.mark.parametrize("kept", [["run.json"], ["events.jsonl"], []])
def test_runs_are_ordered_by_whatever_is_left_of_them(tmp_path, kept):
    runs = [a_run(tmp_path, NOON), a_run(tmp_path, NOON + 60)]
    names = [moved(runs[0], 2), moved(runs[1], 1, 1)]
    for name in names:
        for file in (tmp_path / "logs" / name).iterdir():
            if file.name not in kept:
                file.unlink()
    expected = names if kept else sorted(names)
    assert [folder.name for folder in run_folders(tmp_path)] == expected
    assert find_run(tmp_path, "latest").name == expected[-1]


@pytest.mark.parametrize("start", ["1e300", "-5", "null", '"x"', "99999999999"])
def test_a_start_that_cannot_be_is_not_believed(tmp_path, start):
    old, new = a_run(tmp_path, NOON), a_run(tmp_path, NOON + 60)
    (tmp_path / "logs/2023-99-99-07-13-20-file").mkdir()
    (old.folder / "run.json").write_text('{"started": "9999-12-31T23:59:59Z"}')
    record = json.dumps(RECORD | {"time": 0}).replace('"time": 0', f'"time": {start}')
    (old.folder / "events.jsonl").write_text(record + "\n")
    assert [folder.name for folder in run_folders(tmp_path)][1:] == [old.run, new.run]


def test_there_are_no_runs_without_logs(tmp_path):
    assert run_folders(tmp_path) == []
    (tmp_path / "logs").symlink_to(tmp_path)
    assert run_folders(tmp_path) == []


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_only_regular_files_are_read(tmp_path, kind):
    path = tmp_path / "events.jsonl"
    if kind == "pipe":
        os.mkfifo(path)  # reading it would wait for a writer
    elif kind == "link":
        path.symlink_to(tmp_path / "victim")
        (tmp_path / "victim").write_text("")
    else:
        path.mkdir()
    for read in (lambda: list(read_records(path)), lambda: open_run_file(tmp_path, path.name)):
        with pytest.raises(OSError, match=r"not a regular file|symbolic links"):
            read()


@pytest.mark.parametrize("name", ["../a", "a/b", ".hidden", ""])
def test_a_file_outside_of_the_run_folder_is_not_opened(tmp_path, name):
    (tmp_path / "a").write_text("")
    (tmp_path / "run").mkdir()
    with pytest.raises(ValueError, match="invalid name"):
        open_run_file(tmp_path / "run", name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "notes", "../secret", "2023-11-15-07-13-20-x/..", "2023-11-15-07-13-20-x"],
)
def test_only_a_run_is_found(tmp_path, name):
    (tmp_path / "logs/notes").mkdir(parents=True)
    with pytest.raises(NotReady, match="there are no runs") as caught:
        find_run(tmp_path, name)
    assert caught.value.hint == "run `code-commit` first"
    for minute in (13, 14):
        (tmp_path / f"logs/2024-11-15-07-{minute}-20-x").mkdir()
        with pytest.raises(NotReady, match="there is no run") as caught:
            find_run(tmp_path, name)
        assert caught.value.hint == "`code-commit runs` lists the runs"


def test_a_run_is_found_by_the_beginning_of_its_name_if_only_one_has_it(tmp_path):
    for name in ("2024-11-15-07-13-20-x", "2024-11-16-07-13-20-x", "2025-01-01-00-00-00-x"):
        (tmp_path / "logs" / name).mkdir(parents=True)
    assert (
        find_run(tmp_path, "2025").name
        == find_run(tmp_path, "latest").name
        == "2025-01-01-00-00-00-x"
    )
    with pytest.raises(NotReady, match="'2024' matches 2 runs") as caught:
        find_run(tmp_path, "2024")
    assert caught.value.hint == "for example 2024-11-15-07-13-20-x, 2024-11-16-07-13-20-x"
    for name in ("2025-01-01-00-00-00-x-10", "2025-01-01-00-00-00-x-2"):
        (tmp_path / "logs" / name).mkdir()
    assert find_run(tmp_path, "2025-01-01-00-00-00-x").name == "2025-01-01-00-00-00-x"
    assert find_run(tmp_path, "latest").name == "2025-01-01-00-00-00-x-10"
    with pytest.raises(NotReady, match="'20' matches 5 runs") as caught:
        find_run(tmp_path, "20")
    assert caught.value.hint.count(",") == 2
