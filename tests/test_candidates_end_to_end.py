"""Several candidates over the three protocols: what is asked, built, cancelled, paid and kept."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, RecordedRequest, Reply, ScriptedServer

MODELS = ("gpt-5", "gemini-2.5-pro", "claude-sonnet-4-5")
KEYS = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"), "sk-0123456789-k")
PATIENCE = 60.0  # seconds, for what takes no time
PROSE = "I cannot do that."


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


REPLIES = {
    "green": Reply(block("a.txt", "good\n")),
    "red": Reply(block("a.txt", "bad\n")),
    "prose": Reply(PROSE),
    "refused": Reply(block("build.sh", "exit 0\n")),
    "cut": Reply("^^^a.txt\ngood\n", finish="max_tokens"),
    "down": Reply.error(400, "it is down"),
    "denied": Reply.error(401, "wrong key"),
    "drops": Reply(fault="drop"),
}


class Run:
    """Runs the command with a reply of each model, which arrive in the order of `names`."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.requests: list[RecordedRequest] = []

    def __call__(
        self, replies: list[str | Reply], *arguments: str, environ: dict[str, str] | None = None
    ) -> Finished:
        plan = {
            model: (place, REPLIES.get(reply, reply))
            for place, (model, reply) in enumerate(zip(MODELS, replies, strict=False))
        }

        def answer(request: RecordedRequest) -> Reply:
            if "[error]" in request.prompt or "previous" in request.prompt:
                return REPLIES["green"]
            place, reply = plan[request.model]
            # A candidate that is cancelled has no answer, and its run ends without it.
            wait_until(
                lambda: len(self.records("call.arrived")) >= place or self.records("run.finished")
            )
            return reply

        with ScriptedServer([answer] * 20) as server:
            names = ",".join(MODELS[: len(replies)])
            finished = self.project.command(
                *("--candidates", names, "--query", "Change a.txt.", *arguments),
                environ={
                    "CODE_COMMIT_SANDBOX": "off",
                    "CODE_COMMIT_HTTP__RETRIES": "0",
                    **KEYS,
                    **server.environment(),
                    **(environ or {}),
                },
            )
            self.requests = server.requests
        return finished

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind so far, of the only run."""
        found = []
        for file in self.project.root.glob("logs/*/events.jsonl"):
            for line in file.read_bytes().splitlines():
                with suppress(ValueError):  # the last one may be unfinished
                    record = json.loads(line)
                    if record["kind"] == kind:
                        found.append(record["data"])
        return found

    def outcomes(self) -> dict[str, str]:
        return {one["model"]: one["outcome"] for one in self.records("commit.judged")}


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(
        tmp_path / "made",
        files={"a.txt": "old\n", "b.txt": "old\n"},
        build="grep -q good a.txt\n",
        rollup=None,
    )


@pytest.fixture
def run(project: Project) -> Run:
    return Run(project)


# What the models answer, in the order of arrival; then: exit code, outcomes, builds, repaired model.
OUTCOMES = {
    "green": "accepted",
    "red": "red",
    "prose": "unusable",
    "refused": "refused",
    "cut": "unusable",
    "down": "failed",
    "denied": "failed",
    "drops": "failed",
}
RANKS = ["red", "unusable", "refused", "failed"]
MIXES = """
red green red
green red prose
prose refused green
denied drops green
red prose prose
prose red refused
down denied drops
refused refused refused
cut cut cut
cut red down
refused prose down
drops red green
refused down denied
down red red
cut green down
prose prose prose
green green green
red red red
red refused green
denied green red
refused green drops
prose drops red
drops prose cut
refused red drops
down cut refused
denied denied prose
red cut red
refused cut prose
prose down green
drops denied refused
"""


@pytest.mark.fast_rows(5)
@pytest.mark.parametrize("mix", MIXES.split("\n")[1:-1])
@pytest.mark.parametrize("stream", ["never", "always"])
def test_the_first_green_response_stays_or_the_best_is_repaired(run, mix, stream):
    replies = mix.split()
    finished = run(list(replies), environ={"CODE_COMMIT_STREAM": stream})
    outcomes = [OUTCOMES[reply] for reply in replies]
    repaired = ""
    if "accepted" in outcomes:
        winner = outcomes.index("accepted")
        outcomes[winner + 1 :] = ["cancelled"] * (2 - winner)
        exit_code = 0
    else:
        best = min(outcomes, key=RANKS.index)
        exit_code = {"red": 0, "unusable": 0, "refused": 5, "failed": 4}[best]
        if best in {"red", "unusable"}:
            repaired = MODELS[outcomes.index(best)]
    assert finished.exit_code == exit_code, finished.stderr
    assert run.outcomes() == dict(zip(MODELS, outcomes, strict=True))
    repairs = [call for call in run.records("call.started") if call["label"] == "repair-query"]
    assert [call["model"] for call in repairs] == list(filter(None, [repaired]))
    # Equal changes are built once, and a repair is built.
    tried = [outcome for outcome in outcomes if outcome in {"accepted", "red"}]
    assert len(run.records("process.finished")) == len({*tried}) + bool(repaired)
    content = "old\n" if exit_code else "good\n"
    assert (run.project.read("a.txt"), run.project.read("b.txt")) == (content, "old\n")
    prompts = {request.prompt for request in run.requests[:3]}
    assert len(prompts) == 1


def test_keys_and_models_are_checked_before_a_call_is_paid_for(project):
    def command(*arguments: str, **environ: str) -> Finished:
        # At the services' own addresses: without the check, the error would be another one.
        return project.command(*arguments, "--query", "Change.", environ={**KEYS, **environ})

    finished = command("--candidates", "gpt-5,gemini-2.5-pro", GEMINI_API_KEY="")
    assert (finished.exit_code, "no key for gemini.default" in finished.stderr) == (3, True)
    finished = command("--candidates", "gpt-5,openai/nobody-9", "--max-cost", "5")
    assert finished.exit_code == 3
    assert "the price of nobody-9 is unknown" in finished.stderr
    finished = command("--candidates", "gpt-5,nobody-9")
    assert (finished.exit_code, "'nobody-9'" in finished.stderr) == (2, True)
    assert not list(project.root.glob("logs/*/"))


def test_the_key_of_a_model_that_is_not_asked_is_not_needed(project):
    """The default model is one of Gemini."""
    with ScriptedServer([REPLIES["red"], REPLIES["green"]]) as server:
        finished = project.command(
            *("--candidates", "gpt-5", "--query", "Change."),
            environ={**KEYS, "GEMINI_API_KEY": "", "OPENAI_BASE_URL": server.url("openai")},
        )
    assert finished.exit_code == 0, finished.stderr


def test_calls_that_could_exceed_the_budget_together_are_left_out(run, project):
    """Two calls of gpt-4o may cost $0.66, three may not."""

    def answer(request: RecordedRequest) -> Reply:
        wait_until(lambda: run.records("call.arrived"))  # that of the call that is not made
        return REPLIES["green"]

    with ScriptedServer([answer] * 3) as server:
        finished = project.command(
            *("--candidates", "3", "--model", "gpt-4o", "--max-cost", "0.8", "--query", "Change."),
            environ={"CODE_COMMIT_SANDBOX": "off", **KEYS, **server.environment()},
        )
        assert finished.exit_code == 0, finished.stderr
        assert len(server.requests) == 2
    judged = run.records("commit.judged")
    left_out = [one for one in judged if one["outcome"] == "left_out"]
    [reason] = [one["reason"] for one in left_out]
    assert reason.startswith("the next call could cost up to $0.32")
    assert "not asked: the next call could cost up to" in finished.stderr
    document = json.loads((project.run_folder / "run.json").read_bytes())
    costs = [one["cost"] for one in document["data"]["candidates"]]
    assert [cost for cost in costs if cost] == [pytest.approx(0.000075)]
    nothing = project.command(
        *("--candidates", "2", "--model", "gpt-4o", "--max-cost", "0.1", "--query", "Change."),
        environ={"CODE_COMMIT_SANDBOX": "off", **KEYS},
    )
    assert nothing.exit_code == 6


def test_a_cancelled_call_is_closed_at_once(run, project, tmp_path):
    """A hook of the commit waits for it."""
    closed = tmp_path / "closed"
    hook = f"for _ in $(seq 3000); do [ -e '{closed}' ] && exit 0; sleep 0.01; done; exit 1"
    project.write({".git/hooks/pre-commit": f"#!/bin/sh\n{hook}\n"})
    (project.root / ".git/hooks/pre-commit").chmod(0o755)
    project.git("config", "--global", "user.name", "Ada")
    project.git("config", "--global", "user.email", "ada@example.org")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def wait_for_the_end() -> None:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(1 << 16):
                    pass
            closed.touch()

        threading.Thread(target=wait_for_the_end, daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        finished = run(
            ["green", "green"],
            "--commit",
            environ={
                "GOOGLE_GEMINI_BASE_URL": address,
                "CODE_COMMIT_PLUGINS": json.dumps({"commit": {"commit_hooks": True}}),
            },
        )
    assert finished.exit_code == 0, finished.stderr
    assert run.outcomes() == {"gpt-5": "accepted", "gemini-2.5-pro": "cancelled"}
    [cancelled] = [call for call in run.records("call.finished") if call["error"]]
    assert (cancelled["model"], cancelled["error"]) == ("gemini-2.5-pro", "cancelled")


def test_the_report_shows_the_candidates_side_by_side(run, project):
    assert run(["red", "green", "prose"]).exit_code == 0
    assert project.command("runs", "open", "--no-browser").exit_code == 0
    page = (project.run_folder / "report.html").read_text()
    table = page.partition('<h2 id="candidates">')[2].partition("</table>")[0]
    for text in ("1 gpt-5", "2 gemini-2.5-pro", "3 claude-sonnet-4-5", "call 2", "1 file"):
        assert text in table, text
    assert table.count('class="badge') == 3
    for outcome in ("red", "accepted", "cancelled"):
        assert f">{outcome}</span>" in table
    assert "Candidate 2: Build" in page
