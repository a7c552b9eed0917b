"""Several reports, requested concurrently."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from code_commit_testing import Reply, install_plugin

NAME = "Implementation Consistency with User Specification"
GOOD, OLD, NEW = (f"## {NAME}\n{text}\n" for text in ("good", "old", "new"))


def report_numbers(review) -> dict[str, str]:
    return {
        name: text
        for name, text in review.config_files().items()
        if name.startswith("consistency-report")
    }


def test_samples_are_requested_concurrently_and_written_to_separate_files(review) -> None:
    together = threading.Barrier(3, timeout=60)
    for number in range(3):
        review.server.script(
            lambda _, number=number: f"report {number}\n## {NAME}\n{together.wait() * 0}\n"
        )
    finished = review("--cc", "--samples", "3")
    assert finished.exit_code == 0
    files = report_numbers(review)
    document = json.loads(files.pop("consistency-report.json"))
    assert sorted(files) == [
        "consistency-report-2.txt",
        "consistency-report-3.txt",
        "consistency-report.txt",
    ]
    assert sorted(files.values()) == [f"report {number}\n## {NAME}\n0\n" for number in range(3)]
    assert [sample["report"] for sample in document["samples"]] == [
        "consistency-report.txt",
        "consistency-report-2.txt",
        "consistency-report-3.txt",
    ]
    for sample in document["samples"]:
        text = files[sample["report"]]
        # The report and the files of its call have the same number.
        response = (
            sample["report"].replace("consistency-report", "query").replace(".txt", "-response.txt")
        )
        assert (review.project.run_folder / response).read_text("utf-8") == text
        assert text.startswith(sample["preamble"])
        assert f"--- agent-config/{sample['report']} ---\n\n{text}" in finished.stdout
    assert len({request.prompt for request in review.server.requests}) == 1


def test_each_call_is_nested_in_its_sample(review) -> None:
    review.server.script(GOOD, GOOD)
    events = review("--cc", "--samples", "2", "--json").events
    samples = {
        event["span"]: event for event in events if event["kind"] == "consistency.sample.started"
    }
    calls = [event for event in events if event["kind"] == "call.started"]
    numbers = {call["data"]["label"]: samples[call["parent"]]["data"]["number"] for call in calls}
    assert numbers == {"query": 1, "query-2": 2}
    assert len({sample["parent"] for sample in samples.values()}) == 1


def test_a_run_deletes_the_reports_of_an_earlier_run(review) -> None:
    review.server.script(*[OLD] * 4)
    review("--cc", "--samples", "4")
    review.project.write({"agent-config/consistency-report-kept.txt": "mine"})
    review.server.script(NEW, NEW)
    assert review("--cc", "--samples", "2").exit_code == 0
    files = report_numbers(review)
    files.pop("consistency-report.json")
    assert files == {
        "consistency-report.txt": NEW,
        "consistency-report-2.txt": NEW,
        "consistency-report-kept.txt": "mine",
    }


@pytest.mark.parametrize(
    ("bad", "reports", "message"),
    [
        (Reply(text="half", finish="length"), 3, "is incomplete"),
        (Reply.error(400, "no"), 2, "1 of 3 reports failed"),
    ],
)
def test_one_sample_that_fails_leaves_the_others(
    review, bad: Reply, reports: int, message: str
) -> None:
    review.server.script(GOOD, bad, GOOD)
    finished = review("--cc", "--samples", "3")
    assert finished.exit_code == 1
    assert message in finished.stderr
    files = report_numbers(review)
    document = json.loads(files.pop("consistency-report.json"))
    assert len(files) == reports
    assert list(files.values()).count(GOOD) == 2
    assert not document["complete"]
    assert [sample["complete"] for sample in document["samples"]].count(True) == 2
    [finding] = document["findings"]
    assert (finding["text"], len(finding["samples"])) == ("good", 2)


def test_earlier_reports_stay_if_none_arrives(review) -> None:
    review.server.script(OLD, OLD)
    review("--cc", "--samples", "2")
    before = review.config_files()
    review.server.script(Reply.error(400, "no"), Reply.error(400, "no"))
    finished = review("--cc", "--samples", "2")
    assert (finished.exit_code, finished.stdout) == (4, "")
    assert review.config_files() == before


@pytest.mark.parametrize("samples", ["0", "17", "-1", "many", "1.5"])
def test_an_invalid_number_of_samples_is_a_usage_error(review, samples: str) -> None:
    finished = review("--cc", f"--samples={samples}")
    assert finished.exit_code == 2
    assert "--samples" in finished.stderr
    assert review.server.requests == []


HANGING = """
import threading

from code_commit.plugin_api import ProviderDefinition, hookimpl


@hookimpl
def code_commit_providers():
    own = {"config": "code_commit_testing.loopback_provider:LoopbackConfig", "factory": f"{__name__}:Hanging"}
    return [ProviderDefinition("hanging", {"hanging-1": ()}, "", None, None, ("authorization", "Bearer {key}"), **own)]


class Hanging:
    def __init__(self, config):
        pass

    def complete(self, call):
        threading.Event().wait()

    def close(self):
        pass
"""


@pytest.mark.parametrize("samples", ["1", "2"])
def test_ctrl_c_ends_calls_of_a_provider_that_hangs(review, samples: str) -> None:
    install_plugin(review.plugins, "hanging", HANGING)
    environ = review.project.environment(
        {"CODE_COMMIT_MODEL": "hanging-1", "PYTHONPATH": str(review.plugins)}
    )
    command = [sys.executable, "-m", "code_commit", "--cc", "--json", f"--samples={samples}"]
    with subprocess.Popen(
        command,
        cwd=review.project.root,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            started = 0
            events: list[dict[str, Any]] = []
            for line in process.stdout:
                events.append(json.loads(line))
                started += events[-1]["kind"] == "call.started"
                if started == int(samples) and events[-1]["kind"] == "call.started":
                    process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert events[-1]["kind"] == "run.finished"
    assert events[-1]["data"]["outcome"] == "interrupted"
