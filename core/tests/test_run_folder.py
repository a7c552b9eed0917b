"""The run folder: its name, its files and their content, and what is not allowed there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from code_commit.log.run_log import call_files, failure_text, numbered
from code_commit.plugin_api import read_records
from code_commit.plugin_api.errors import ExitCode, NotReady

NOON = 1_700_000_000.0


class TestFolder:
    @pytest.fixture
    def tokyo(self, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setenv("TZ", "Asia/Tokyo")
            time.tzset()
            yield
        time.tzset()

    @pytest.mark.usefixtures("tokyo")
    def test_is_named_after_local_time_and_workflow_and_counts_when_taken(self, tmp_path, open_log):
        names = []
        for _ in range(3):
            log = open_log(tmp_path, clock=lambda: NOON)
            log.finish(ExitCode.REACHED, "")
            names.append(log.folder.relative_to(tmp_path).as_posix())
        stamp = "logs/2023-11-15-07-13-20-committing-code"
        assert names == [stamp, f"{stamp}-2", f"{stamp}-3"]

    def test_is_private_and_hidden_from_git(self, tmp_path, log):
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        status = subprocess.run(
            ["git", "status", "--porcelain"], cwd=tmp_path, check=True, capture_output=True
        )
        assert status.stdout == b""
        assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700

    def test_leaves_a_gitignore_of_the_user_alone(self, tmp_path, open_log):
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/.gitignore").write_text("!keep\n")
        open_log(tmp_path).finish(ExitCode.REACHED, "")
        assert (tmp_path / "logs/.gitignore").read_text() == "!keep\n"

    def test_has_a_plain_name(self, tmp_path, open_log):
        with pytest.raises(ValueError, match="invalid name"):
            open_log(tmp_path, "a/../../b")
        assert not (tmp_path / "logs").exists()

    def test_a_link_or_a_file_in_its_place_is_refused(self, tmp_path, open_log):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for number, place in enumerate(("link", "file")):
            root = tmp_path / str(number)
            root.mkdir()
            if place == "link":
                (root / "logs").symlink_to(elsewhere)
            else:
                (root / "logs").write_text("")
            with pytest.raises(NotReady, match=r"logs is (a link|not a folder)"):
                open_log(root)
        assert list(elsewhere.iterdir()) == []

    def test_a_read_only_project_is_one_clear_line(self, open_log):
        with TemporaryDirectory() as folder:
            Path(folder).chmod(0o555)
            user = os.geteuid()
            if user == 0:  # root may write anywhere
                os.seteuid(65534)
            try:
                with pytest.raises(
                    NotReady, match=r"cannot write .*logs: Permission denied"
                ) as raised:
                    open_log(Path(folder))
                assert raised.value.hint == "make it writable, or free some space there"
            finally:
                if user == 0:
                    os.seteuid(0)


class TestFiles:
    def test_of_a_call_are_named_as_the_seeds_say(self):
        first = call_files(1, "initial-query")
        assert (first.request, first.response, first.raw) == (
            "1-initial-query.txt",
            "1-initial-query-response.txt",
            "1-initial-query-response.json",
        )
        report = call_files(None, "query")
        assert (report.request, report.response, report.raw) == (
            "query.txt",
            "query-response.txt",
            "query-response.json",
        )
        assert (numbered(2, "build.txt"), numbered(None, "build.txt")) == (
            "2-build.txt",
            "build.txt",
        )

    def test_of_calls_with_one_label_do_not_overwrite_each_other(self, log):
        names = [log.call_files(None, "query").response for _ in range(3)]
        assert names == ["query-response.txt", "query-2-response.txt", "query-3-response.txt"]
        assert [log.reserve("1-build.txt"), log.reserve("1-build.txt")] == [
            "1-build.txt",
            "1-build-2.txt",
        ]

    def test_hold_what_was_written_but_no_key(self, log, key):
        log.write("1-build.txt", f"no {key} here, ünï\r\n")
        log.write("raw.txt", b"\xff" + key.encode())
        log.write_json("reply.json", {key: [key, "\ud800", 1.5, None]})
        log.write("plainkey42.txt", failure_text("broken"))
        assert (log.folder / "1-build.txt").read_bytes() == "no ***23 here, ünï\r\n".encode()
        assert (log.folder / "raw.txt").read_bytes() == b"\xff***23"
        assert json.loads((log.folder / "reply.json").read_text()) == {
            "***23": ["***23", "\ud800", 1.5, None]
        }
        assert (log.folder / "***42.txt").read_text() == "ERROR\nbroken\n"
        log.write("half.txt", "half of a character: \ud83d")
        assert (log.folder / "half.txt").read_text() == "half of a character: \\ud83d"
        log.write_json("short.json", {"é": [1]})
        assert (log.folder / "short.json").read_text("utf-8") == '{\n  "é": [\n    1\n  ]\n}\n'

    def test_are_added_to_where_they_exist_unless_they_stream(self, log):
        log.write("a.txt", "one")
        assert log.write("a.txt", "two", replaces=True) == log.folder / "a.txt"
        log.append("a.txt", b" three")
        assert (log.folder / "a.txt").read_text() == "two three"
        with pytest.raises(NotReady, match=r"cannot write .*b.txt: No such file") as caught:
            log.append("b.txt", "one")
        assert caught.value.hint == "make it writable, or free some space there"
        log.append_clean("b.txt", b"one")
        assert (log.folder / "b.txt").read_text() == "one"

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "a/b", "/etc/passwd", ".hidden", "a\nb", "a\u202eb", "n" * 300]
    )
    def test_must_have_plain_names(self, log, name):
        with pytest.raises(ValueError, match="invalid name"):
            log.write(name, "")

    @pytest.mark.parametrize("label", ["a/../b", "../a", "a\nb", "l" * 300])
    def test_are_reserved_under_plain_names_alone(self, log, label):
        for reserve in (lambda: log.reserve(f"1-{label}.txt"), lambda: log.call_files(1, label)):
            with pytest.raises(ValueError, match="invalid name"):
                reserve()

    @pytest.mark.parametrize("name", ["events.jsonl", "run.json"])
    def test_cannot_replace_the_logs_own(self, log, name):
        with pytest.raises(ValueError, match="the run log's own"):
            log.write(name, "")

    def test_never_go_through_a_link(self, log, tmp_path):
        (log.folder / "1-build.txt").symlink_to(tmp_path / "victim")
        with pytest.raises(NotReady, match=r"cannot write .*1-build.txt"):
            log.write("1-build.txt", "text")
        assert not (tmp_path / "victim").exists()
        (tmp_path / "victim").write_text("mine")
        with pytest.raises(NotReady, match=r"cannot write .*1-build.txt"):
            log.append("1-build.txt", "text")
        assert (tmp_path / "victim").read_text() == "mine"

    def test_stay_in_the_folder_that_was_opened(self, log, tmp_path):
        moved = log.folder.rename(tmp_path / "moved")
        log.folder.symlink_to(tmp_path, target_is_directory=True)
        log.write("late.txt", "text")
        assert (moved / "late.txt").read_text() == "text"


def test_a_document_that_cannot_be_written_is_warned_of_once(tmp_path, open_log, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    log = open_log(tmp_path)
    monkeypatch.setattr(log._files, "replace", full)
    for _ in range(2):
        with log.span("attempt"):
            pass
    log.finish(ExitCode.REACHED, "")
    warnings = [
        record.data
        for record in read_records(log.folder / "events.jsonl")
        if record.kind == "message"
    ]
    text = f"cannot write {log.folder}/run.json: [Errno 28] No space left on device"
    assert warnings == [{"text": text, "level": "warning"}]
    assert log.late_failures == []


def test_a_document_that_cannot_be_written_at_the_end_is_told_after_it(tmp_path, open_log):
    log = open_log(tmp_path)
    (log.folder / "run.json").unlink()
    (log.folder / "run.json").mkdir()
    log.finish(ExitCode.REACHED, "")
    [late] = log.late_failures
    assert (late.plugin, late.distribution, late.stage) == ("run.json", "code-commit", "log")
    assert late.error.startswith("IsADirectoryError: ")
    kinds = [record.kind for record in read_records(log.folder / "events.jsonl")]
    assert kinds == ["run.started", "run.finished"]


def test_events_that_cannot_be_written_from_the_start_stop_the_run(tmp_path, open_log, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("code_commit.log.run_log.EventFile", full)
    with pytest.raises(NotReady, match=r"cannot write .*/events.jsonl: No space left on device$"):
        open_log(tmp_path)
