"""The events of a run: contents, spans, threads, `run.json`, and a full disk."""

from __future__ import annotations

import contextvars
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.log.run_log import RunLog
from code_commit.plugin_api import is_running, read_records
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.event import (
    CallFinished,
    CallStarted,
    Event,
    MessageLogged,
    PluginFailed,
    ProcessFinished,
    RunFinished,
    StateEntered,
)
from code_commit.plugin_api.record import Record
from code_commit.run_folder.json_text import to_json

NOON = 1_700_000_000.0


def records_of(log: RunLog) -> list[Record]:
    return list(read_records(log.folder / "events.jsonl"))


def kinds_of(log: RunLog) -> list[str]:
    return [record.kind for record in records_of(log)]


@dataclass(frozen=True, slots=True)
class Anything(Event):
    kind: ClassVar[str] = "test.anything"
    value: Any


@dataclass(frozen=True, slots=True)
class Dotless(Event):
    kind: ClassVar[str] = "dotless"


@dataclass(frozen=True, slots=True)
class Unprintable(Event):
    kind: ClassVar[str] = "test.\x1b[2J"


@dataclass(frozen=True, slots=True)
class Trailing(Event):
    kind: ClassVar[str] = "test."


@dataclass(frozen=True, slots=True)
class Impostor(Event):
    kind: ClassVar[str] = "call.finished"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**127), max_value=2**127)
    | st.floats(min_value=-1e38, max_value=1e38)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


def test_a_mapping_is_json():
    assert to_json({"a": MappingProxyType({"b": Path("c")})}) == {"a": {"b": "c"}}


def test_a_run_is_running_until_its_log_is_finished(tmp_path, open_log):
    log = open_log(tmp_path)
    assert is_running(log.folder)
    log.finish(ExitCode.REACHED, "over")
    assert not is_running(log.folder)


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_run_that_was_not_ready_leaves_a_folder_only_if_it_began(tmp_path, open_log, has_begun):
    log = open_log(tmp_path)
    log.emit(StateEntered("DISCOVER") if has_begun else MessageLogged("not yet"))
    log.finish(ExitCode.NOT_READY, "no key")
    assert log.folder.exists() is has_begun


class TestEvents:
    def test_are_one_record_a_line_from_the_first_on(self, tmp_path, open_log, key):
        log = open_log(
            tmp_path,
            argv=["code-commit", "--query", key],
            versions={"code-commit": "0.1"},
            token="t1",
        )
        log.emit(StateEntered("DISCOVER"))
        log.finish(ExitCode.NOT_REACHED, "the build is red", {"path": Path("a")})
        assert [record.seq for record in records_of(log)] == [1, 2, 3]
        started, _, finished = records_of(log)
        assert started.data | {"pid": 0} == {
            "workflow": "committing-code",
            "root": str(tmp_path),
            "folder": f"logs/{log.run}",
            "token": "t1",
            "versions": {"code-commit": "0.1"},
            "argv": ["code-commit", "--query", "***23"],
            "commit": None,
            "pid": 0,
        }
        assert (started.run, started.span, started.parent) == (log.run, 1, None)
        assert finished.data == {
            "outcome": "not_reached",
            "exit_code": 1,
            "summary": "the build is red",
            "data": {"path": "a"},
            "files": [],
            "input_tokens": None,
            "output_tokens": None,
            "cost_usd": None,
            "call_costs": {},
        }

    @given(value=JSON)
    def test_come_back_as_they_were_told(self, value, open_log):
        with TemporaryDirectory() as root:
            log = open_log(Path(root))
            log.emit(Anything(value))
            log.finish(ExitCode.REACHED, "")
            assert records_of(log)[1].data == {"value": value}

    @given(values=st.lists(JSON, max_size=4), cut=st.integers(min_value=0))
    def test_are_read_up_to_the_byte_where_a_killed_run_stopped(self, values, cut, open_log):
        with TemporaryDirectory() as root:
            log = open_log(Path(root))
            for value in values:
                log.emit(Anything(value))
            log.finish(ExitCode.REACHED, "")
            whole = (log.folder / "events.jsonl").read_bytes()
            everything = records_of(log)
            ends = [index for index in range(len(whole)) if whole[index : index + 1] == b"\n"]
            for left in (whole[: cut % (len(whole) + 1)], whole[:-1]):
                (log.folder / "events.jsonl").write_bytes(left)
                assert records_of(log) == everything[: sum(end <= len(left) for end in ends)]

    def test_spell_out_bytes_of_file_names_that_are_not_utf_8(self, log):
        log.emit(Anything({"a\udcff": Path("b\udc80")}))
        assert records_of(log)[1].data == {"value": {"a\\udcff": "b\\udc80"}}

    def test_are_ascii_without_control_characters(self, log):
        log.emit(MessageLogged("\x1b]52;c;x\x07 \u2028 \u202e \x9b ünï"))
        line = (log.folder / "events.jsonl").read_bytes().splitlines()[1]
        assert all(0x20 <= byte < 0x7F for byte in line)

    @pytest.mark.parametrize(
        ("event", "reason"),
        [
            (Anything(b"bytes"), "bytes is not JSON"),
            (Anything({(): 2}), "keys must be str"),
            (Anything(float("nan")), "not JSON compliant"),
            (Anything(10**5000), "ValueError"),
            (Dotless(), "<plugin>.<what>"),
            (Unprintable(), "<plugin>.<what>"),
            (Trailing(), "<plugin>.<what>"),
            (Impostor(), "call.finished is a kind of the host"),
            (RunFinished("reached", 0, summary=""), "only the host emits run.finished"),
        ],
    )
    def test_that_are_none_are_told_as_a_failure_of_their_plugin(self, log, event, reason):
        log.emit(event)
        log.emit(StateEntered("still alive"))
        _, failed, after = records_of(log)
        assert failed.kind == "plugin.failed"
        assert failed.data["stage"] == "emit"
        assert reason in failed.data["error"]
        assert (after.seq, after.kind) == (3, "state.entered")

    @pytest.mark.parametrize(
        ("module", "kind", "is_told"),
        [
            ("elsewhere.events", "test.it", True),
            ("code_commit_tool_box.events", "tool-box.it", True),  # which the plugin stands on
            ("code_commit_toolbox", "box.it", False),
            ("elsewhere", "box.it", False),
        ],
    )
    def test_have_the_name_of_the_plugin_or_of_one_that_it_stands_on(
        self, log, module, kind, is_told
    ):
        log.emit(type("It", (Event,), {"kind": kind, "__module__": module})())
        assert kinds_of(log)[-1] == (kind if is_told else "plugin.failed")
        failed = {"plugin": "test", "distribution": "code-commit-test", "stage": "emit"}
        assert is_told or records_of(log)[-1].data.items() >= failed.items()

    def test_end_with_run_finished_whatever_comes_later(self, tmp_path, open_log):
        log = open_log(tmp_path)
        log.finish(ExitCode.INTERRUPTED, "Ctrl-C")
        log.emit(StateEntered("too late"))
        log.finish(ExitCode.REACHED, "too late")
        assert kinds_of(log) == ["run.started", "run.finished"]
        assert records_of(log)[-1].data["exit_code"] == 130

    def test_of_the_end_belong_to_the_run_itself(self, tmp_path, open_log):
        log = open_log(tmp_path)
        with log.nested():
            log.finish(ExitCode.REACHED, "over")
        assert [(record.span, record.parent) for record in records_of(log)] == [
            (1, None),
            (1, None),
        ]

    def test_end_with_run_finished_when_the_workflows_data_is_no_json(self, tmp_path, open_log):
        log = open_log(tmp_path)
        log.finish(ExitCode.REACHED, "done", {"value": object()})
        assert kinds_of(log) == ["run.started", "plugin.failed", "run.finished"]
        assert records_of(log)[-1].data["data"] == {}

    def test_never_go_back_in_time(self, log):
        for _ in range(50):
            log.emit(StateEntered("x"))
        times = [record.time for record in records_of(log)]
        assert times == sorted(times)


class TestSpans:
    def test_nest(self, log):
        with log.span("attempt", number=1):
            log.emit(StateEntered("inside"))
            with log.nested():
                log.emit(StateEntered("deeper"))
        log.emit(StateEntered("outside"))
        rows = [(record.kind, record.span, record.parent) for record in records_of(log)[1:]]
        assert rows == [
            ("attempt.started", 2, 1),
            ("state.entered", 2, 1),
            ("state.entered", 3, 2),
            ("attempt.finished", 2, 1),
            ("state.entered", 1, None),
        ]

    def test_tell_how_they_ended(self, log):
        with pytest.raises(KeyError), log.span("step", number=7):
            raise KeyError("gone")
        _, began, end = records_of(log)
        assert (began.data, end.data["error"]) == ({"number": 7}, "KeyError: 'gone'")
        assert end.data["seconds"] == round(end.data["seconds"], 3) >= 0

    def test_take_the_time_between_their_events(self, tmp_path, open_log):
        log = open_log(tmp_path, clock=iter(0.1234567 * number for number in range(100)).__next__)
        with log.span("step"):
            pass
        log.finish(ExitCode.REACHED, "")
        began, ended = records_of(log)[1:3]
        assert ended.data == {"seconds": 0.247, "error": None}
        assert (began.time, began.version) == (0.37037, 1)

    def test_cannot_forge_the_hosts_events(self, log):
        with log.span("run"):
            pass
        assert kinds_of(log) == ["run.started", "plugin.failed", "plugin.failed"]

    def test_are_inherited_by_threads_that_copy_the_context(self, log):
        with log.span("step"):
            inside = contextvars.copy_context()
        threads = [
            threading.Thread(target=lambda: inside.run(log.emit, StateEntered("copied"))),
            threading.Thread(target=lambda: log.emit(StateEntered("bare"))),
        ]
        for thread in threads:
            thread.start()
            thread.join()
        assert [record.span for record in records_of(log)[-2:]] == [2, 1]

    def test_of_many_threads_keep_one_order(self, log):
        seen: list[int] = []

        class Sink:
            def receive(self, record: Record) -> None:
                seen.append(record.seq)

            def close(self) -> None:
                pass

        def work() -> None:
            for _ in range(40):
                with log.span("step"):
                    log.emit(StateEntered("x"))

        log.add_sink("tests", Sink())
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.finish(ExitCode.REACHED, "")
        records = records_of(log)
        assert seen == [record.seq for record in records] == list(range(1, 8 * 40 * 3 + 3))
        steps = {record.span: record.parent for record in records if record.kind == "step.started"}
        assert len(steps) == 8 * 40
        assert set(steps.values()) == {1}


class TestDocument:
    def test_counts_what_was_told(self, tmp_path, open_log):
        log = open_log(tmp_path, commit="abc", clock=iter(range(100, 200)).__next__)
        for number, model in enumerate(("gpt-5", "gpt-5", "gemini-2.5-pro"), 1):
            log.emit(
                CallStarted(
                    number,
                    "query",
                    provider="openai",
                    model=model,
                    address="https://x",
                    key_source="",
                    request="query.txt",
                )
            )
        log.emit(
            CallFinished(
                1,
                "query",
                model="gpt-5",
                finish="stop",
                finish_detail="stop",
                seconds=1.5,
                input_tokens=100,
                output_tokens=10,
                cache_read_tokens=7,
                cost_usd=0.25,
            )
        )
        log.emit(
            CallFinished(
                2,
                "query",
                model="gpt-5",
                finish="stop",
                finish_detail="stop",
                seconds=2.5,
                input_tokens=200,
                output_tokens=20,
                reasoning_tokens=5,
                cost_usd=0.5,
            )
        )
        log.emit(
            CallFinished(
                3,
                "query",
                model="gemini-2.5-pro",
                finish=None,
                finish_detail="",
                seconds=3.0,
                input_tokens=None,
                output_tokens=None,
                error="no network",
            )
        )
        log.emit(
            ProcessFinished(
                ("bash", "build.sh"),
                1,
                seconds=4.0,
                timed_out=False,
                tampered=(),
                log="1-build.txt",
            )
        )
        log.emit(
            ProcessFinished(("ls",), 0, seconds=0.5, timed_out=False, tampered=(), log="1.txt")
        )
        log.emit(PluginFailed("report", "code-commit-report", stage="load", error="no"))
        log.finish(ExitCode.LIMIT, "too dear")
        document = json.loads((log.folder / "run.json").read_text())
        assert [(row["plugin"], row["error"]) for row in document["plugins_failed"]] == [
            ("report", "no")
        ]
        assert (document["state"], document["outcome"], document["exit_code"]) == (
            "finished",
            "limit",
            6,
        )
        assert (document["workflow"], document["commit"], document["cost_usd"]) == (
            "committing-code",
            "abc",
            0.75,
        )
        assert document["calls"] == {"started": 3, "finished": 3, "failed": 1, "unknown": 1}
        assert document["attempts"] == 3
        assert document["tokens"] == {
            "input": 300,
            "output": 30,
            "cache_read": 7,
            "cache_write": None,
            "reasoning": 5,
        }
        assert document["seconds"] == {"total": 10, "model": 7.0, "build": 4.0, "commands": 0.5}
        assert [(row["provider"], row["model"], row["calls"]) for row in document["models"]] == [
            ("openai", "gpt-5", 2),
            ("openai", "gemini-2.5-pro", 1),
        ]
        assert document["models"][1]["tokens"]["input"] is None

    def test_stands_from_the_start_and_follows_the_calls(self, tmp_path, open_log):
        log = open_log(tmp_path)
        document = log.folder / "run.json"
        first = json.loads(document.read_text())
        assert (first["state"], first["pid"], first["tokens"]["input"]) == (
            "running",
            os.getpid(),
            None,
        )
        with log.span("attempt", number=1):
            log.emit(
                CallFinished(
                    1,
                    "query",
                    model="gpt-5",
                    finish="stop",
                    finish_detail="stop",
                    seconds=1.5,
                    input_tokens=100,
                    output_tokens=10,
                )
            )
            assert json.loads(document.read_text())["tokens"]["input"] == 100
        assert json.loads(document.read_text())["attempts"] == 1
        log.finish(ExitCode.REACHED, "")
        assert json.loads(document.read_text()).keys() == first.keys()


@pytest.mark.slow
def test_a_full_disk_costs_lines_but_not_the_run(tmp_path):
    """A limit on file sizes stands in for the disk: it fails in the middle of a line just the
    same.
    """
    script = f"""
import resource, sys
from pathlib import Path
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.event import MessageLogged
from code_commit_workspace.keys.redaction import Redactor
from code_commit.log.run_log import RunLog
from code_commit.log.json_lines import JsonLines
log = RunLog(Path({str(tmp_path)!r}), "chat", redactor=Redactor())
log.add_sink("tests", JsonLines(sys.stdout))
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
for number in range(30):
    log.emit(MessageLogged(f"number {{number}}"))
resource.setrlimit(resource.RLIMIT_FSIZE, before)
log.emit(MessageLogged("room again"))
sys.exit(log.finish(ExitCode.NOT_REACHED, "over") or 7)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (7, b"")
    shown = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [record["seq"] for record in shown] == list(range(1, len(shown) + 1))
    warnings = [
        record["data"]["text"] for record in shown if record["data"].get("level") == "warning"
    ]
    assert len(warnings) == 1
    assert "events.jsonl: " in warnings[0]
    (folder,) = (path for path in (tmp_path / "logs").iterdir() if path.is_dir())
    texts = [
        record.data.get("text", record.kind) for record in read_records(folder / "events.jsonl")
    ]
    assert texts[:2] == ["run.started", "number 0"]
    assert texts[-2:] == ["room again", "run.finished"]
