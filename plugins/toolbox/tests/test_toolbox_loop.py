"""The loop in runs of the command, with a workflow whose agent gets scripted replies."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

READ = ["read_file", {"path": "a.txt"}]
FINAL = ["final_output", {"summary": "all done"}]


def write(path: str, content: str) -> list:
    return ["write_file", {"path": path, "content": content}]


def test_an_agent_calls_a_tool_and_finishes(bench):
    worked = bench.work({"text": "I look.", "calls": [READ]}, {"calls": [FINAL]})
    assert (worked.finished.exit_code, worked.end, worked.data["text"]) == (
        0,
        "FINISHED",
        "all done",
    )
    assert (worked.data["turns"], worked.data["tokens"]) == (2, 30)
    assert worked.results[0] == {
        "type": "tool_result",
        "call_id": "1-0",
        "name": "read_file",
        "text": "one\ntwo\nthree\n",
        "is_error": False,
    }
    assert worked.asked[0]["system"] == "Be brief."
    assert worked.data["calls"] == [[1, ["read_file"]], [2, ["final_output"]]]
    assert [event["call"] for event in worked.events("toolbox.called")] == [
        "read_file(path='a.txt')",
        "final_output(summary='all done')",
    ]


def test_a_reply_without_a_call_ends_the_loop(bench):
    worked = bench.work({"text": "Nothing to do.\n"})
    assert (worked.end, worked.data["text"]) == ("FINISHED", "Nothing to do.")


def test_parallel_calls_run_in_order_and_are_answered_in_one_message(bench):
    calls = [write("new.txt", "1\n"), ["read_file", {"path": "new.txt"}], write("new.txt", "2\n")]
    worked = bench.work({"calls": calls}, {"text": "done"})
    answer = worked.asked[1]["messages"][-1]
    assert answer["role"] == "user"
    assert [part["call_id"] for part in answer["parts"]] == ["1-0", "1-1", "1-2"]
    assert answer["parts"][1]["text"] == "1\n"
    assert bench.project.read("new.txt") == "2\n"


def test_a_tool_that_is_not_on_the_allow_list_is_not_run(bench):
    worked = bench.work(
        {"calls": [write("new.txt", "x"), ["todo_write", {"content": "x"}], ["no_such_tool", {}]]},
        {"text": "done"},
        allow=["read_file", "final_output"],
    )
    assert [result["is_error"] for result in worked.results] == [True] * 3
    assert (
        "There is no tool 'todo_write'. Your tools: read_file, final_output."
        in worked.results[1]["text"]
    )
    assert not (bench.project.root / "new.txt").exists()
    assert not (bench.project.root / "todo.g3.md").exists()
    assert worked.asked[0]["tools"] == ["read_file", "final_output"]


def test_an_unknown_tool_on_the_allow_list_is_an_error(bench):
    worked = bench.work({"text": "never"}, allow=["read_file", "telepathy"])
    assert worked.finished.exit_code == 3
    assert "there is no tool 'telepathy'" in worked.finished.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["read_file", '{"path": "a.t'], "not a JSON object"),
        (["read_file", {}], "'path' is a required property"),
        (["read_file", {"path": 5}], "at path: 5 is not of type 'string'"),
        (
            ["read_file", {"path": "a.txt", "start_line": 0}],
            "at start_line: 0 is less than the minimum of 1",
        ),
        (["read_file", {"path": "a.txt", "colour": "red"}], "'colour' was unexpected"),
        (["read_file", {"path": ["x" * 10_000]}], " … "),
        (
            ["code_search", {"searches": [{"pattern": "x", "language": "klingon"}]}],
            "at searches[0].language: 'klingon'",
        ),
        (["", {}], "There is no tool ''"),
    ],
)
def test_the_error_about_malformed_arguments_has_the_reason(bench, call, words):
    worked = bench.work({"calls": [call]}, {"text": "done"})
    assert worked.result["is_error"]
    assert words in worked.result["text"]
    assert len(worked.result["text"]) < 1000
    assert worked.end == "FINISHED"


def test_thinking_is_sent_back_unchanged(bench):
    worked = bench.work({"thinking": "hm", "calls": [READ]}, {"text": "done"})
    sent = worked.asked[1]["messages"][1]["parts"]
    assert sent[0] == {"type": "opaque", "provider": "script", "data": {"thinking": "hm"}}


def test_an_endless_loop_of_the_same_call_is_ended(bench):
    worked = bench.work({"calls": [READ]})
    assert (worked.finished.exit_code, worked.end, worked.data["turns"]) == (1, "REPEATED", 4)
    texts = [result["text"] for result in worked.results]
    assert ["three times in a row" in text for text in texts] == [False, False, True, False]
    assert texts[3].startswith("Not run")


def test_equal_calls_with_others_between_are_not_a_loop(bench):
    read_main = ["read_file", {"path": "src/main.py"}]
    replies = [{"calls": [call]} for call in (READ, READ, read_main, READ, READ)]
    assert bench.work(*replies, {"text": "done"}).end == "FINISHED"


def test_four_equal_calls_in_one_reply_are_not_a_loop(bench):
    assert bench.work({"calls": [READ] * 4}, {"text": "done"}).end == "FINISHED"


def limits(**given) -> dict:
    return {"turns": 50, "tokens": 10**6, "seconds": 600, "context_tokens": 10**5, **given}


def counting(turns: int) -> list[dict]:
    return [{"calls": [write("n.txt", f"{number}\n")]} for number in range(turns)]


def test_the_loop_ends_at_the_limit_of_turns(bench):
    worked = bench.work(*counting(9), limits=limits(turns=3))
    assert (worked.end, worked.data["turns"]) == ("OUT_OF_TURNS", 3)
    assert bench.project.read("n.txt") == "2\n"


def test_the_loop_ends_at_the_limit_of_tokens(bench):
    worked = bench.work(*counting(9), limits=limits(tokens=31))
    assert (worked.end, worked.data["tokens"]) == ("OUT_OF_TOKENS", 45)


def test_unreported_tokens_are_estimated(bench):
    replies = [{**reply, "usage": [None, None]} for reply in counting(9)]
    worked = bench.work(*replies, limits=limits(tokens=2000))
    assert worked.end == "OUT_OF_TOKENS"


def test_the_time_limit_ends_a_running_command(bench):
    sleep = ["shell", {"command": "sleep 600"}]
    replies = {"calls": [sleep, write("late.txt", "x")]}
    for seconds in (1, 8, 64):  # a busy machine may not begin the command in time
        worked = bench.work(replies, limits=limits(seconds=seconds), flags=["--sandbox", "off"])
        assert worked.end == "OUT_OF_TIME"
        if worked.results:
            break
    assert "ran into its time limit" in worked.results[0]["text"]
    assert worked.results[1]["text"] == "Not run: out of time."
    assert not (bench.project.root / "late.txt").exists()


def test_the_configured_limits_are_the_default(bench):
    bench.settings("[plugins.toolbox]\nmax_turns = 2\n")
    assert bench.work(*counting(9)).end == "OUT_OF_TURNS"


def test_an_invalid_section_is_not_ready(bench):
    bench.settings("[plugins.toolbox]\nmax_turns = 0\n")
    worked = bench.work({"text": "never"})
    assert worked.finished.exit_code == 3
    assert "max_turns" in worked.finished.stderr


def test_final_output_after_a_failed_call_is_not_accepted(bench):
    worked = bench.work({"calls": [["read_file", {"path": "missing"}], FINAL]}, {"calls": [FINAL]})
    assert worked.data["turns"] == 2
    assert worked.results[1]["text"].startswith("Not accepted")


def test_no_call_runs_after_final_output(bench):
    worked = bench.work({"calls": [FINAL, write("late.txt", "x")]})
    assert worked.end == "FINISHED"
    assert not (bench.project.root / "late.txt").exists()


@pytest.mark.parametrize("finish", ["length", "cut"])
def test_calls_of_an_incomplete_reply_are_not_run(bench, finish):
    worked = bench.work({"calls": [write("cut.txt", "half")], "finish": finish}, {"text": "done"})
    assert worked.end == "FINISHED"
    assert worked.result["is_error"]
    assert "Not run" in worked.result["text"]
    assert not (bench.project.root / "cut.txt").exists()


def test_a_reply_with_only_thinking_is_requested_again(bench):
    worked = bench.work({"thinking": "hm", "finish": "length"}, {"text": "done"})
    assert worked.end == "FINISHED"
    assert [message["role"] for message in worked.asked[1]["messages"]] == ["user"]
    assert "cut off" in worked.asked[1]["messages"][0]["parts"][-1]["text"]


@pytest.mark.parametrize(
    "reply", [{"text": ""}, {"text": "half an ans", "finish": "length"}, {"finish": "cut"}]
)
def test_three_unusable_replies_in_a_row_end_the_loop(bench, reply):
    worked = bench.work(reply)
    assert (worked.finished.exit_code, worked.end, worked.data["turns"]) == (1, "UNUSABLE", 3)


def test_a_paused_reply_is_continued(bench):
    worked = bench.work({"text": "one moment", "finish": "paused"}, {"text": "done"})
    assert worked.end == "FINISHED"
    assert [message["role"] for message in worked.asked[1]["messages"]] == ["user", "assistant"]


def test_old_results_are_left_out_before_the_context_overflows(bench):
    bench.project.write({f"big{number}.txt": f"{number}" * 6000 for number in range(8)})
    replies = [
        {"calls": [["read_file", {"path": f"big{number}.txt"}]], "usage": [None, None]}
        for number in range(8)
    ]
    worked = bench.work(*replies, {"text": "done"}, limits=limits(context_tokens=9000))
    assert worked.end == "FINISHED"
    assert len(worked.events("toolbox.shortened")) >= 2
    first, last = (worked.asked[-1]["messages"][place]["parts"][0]["text"] for place in (2, -1))
    assert "removed to save space" in first
    assert last == "7" * 6000
    # The transcript is complete, and between two cuts the beginning does not change.
    assert worked.results[0]["text"] == "0" * 6000
    sent = [[message["parts"] for message in asked["messages"]] for asked in worked.asked]
    same = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))
    assert same >= len(sent) - 1 - len(worked.events("toolbox.shortened"))


def test_a_context_that_cannot_be_shortened_ends_the_loop(bench):
    worked = bench.work({"text": "never"}, prompt="x" * 20_000, limits=limits(context_tokens=4000))
    assert (worked.end, worked.data["turns"]) == ("CONTEXT_FULL", 0)


def test_the_prefix_is_marked_for_caching(bench):
    read_main = ["read_file", {"path": "src/main.py"}]
    worked = bench.work(
        {"calls": [READ]}, {"calls": [read_main]}, {"calls": [READ]}, {"text": "done"}
    )
    marked = [[message["marked"] for message in asked["messages"]] for asked in worked.asked]
    assert marked[0] == [True]
    assert marked[3] == [True, False, False, False, True, False, True]


def test_the_transcript_is_complete_and_can_be_continued(bench):
    first = bench.work({"calls": [READ]}, {"text": "half way"})
    file = bench.project.run_folder / first.data["transcript"]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (lines[0]["label"], lines[0]["system"], lines[-1]["end"]) == (
        "tester",
        "Be brief.",
        "finished",
    )
    assert [line["role"] for line in lines[1:-1]] == ["user", "assistant", "user", "assistant"]
    again = bench.work({"text": "done"}, resume=str(file), prompt="And now?")
    sent = again.asked[0]["messages"]
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert sent[-1]["parts"] == [{"type": "text", "text": "And now?"}]


def test_a_transcript_that_was_interrupted_in_a_call_can_be_continued(bench):
    first = bench.work({"calls": [READ]}, {"text": "half way"})
    file = bench.project.run_folder / first.data["transcript"]
    head, asked, called, *_ = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([head, asked, called, b'{"role": "us']))
    again = bench.work({"text": "done"}, resume=str(file), prompt="")
    assert again.end == "FINISHED"
    results = again.asked[0]["messages"][2]["parts"]
    assert "interrupted before this call was answered" in results[0]["text"]
    assert results[1] == {"type": "text", "text": "Continue."}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\n", "cannot read the transcript"),
        (
            '{"version": 99, "label": "l", "model": "m", "system": ""}\n',
            "is a transcript of version 99, not ",
        ),
    ],
)
def test_a_file_that_is_not_a_transcript_is_an_error(bench, text, words):
    bench.project.write({"other.jsonl": text})
    finished = bench.work(
        {"text": "never"}, resume=str(bench.project.root / "other.jsonl")
    ).finished
    assert finished.exit_code == 3
    assert words in finished.stderr
