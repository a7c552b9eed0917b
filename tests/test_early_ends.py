"""Replies that are stopped early, because their rest cannot change the outcome."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from code_commit.plugin_api import Finish
from code_commit_testing import Project, Reply, ScriptedServer, Stream
from code_commit_testing.command import Finished

MODELS = {"gemini": "gemini-2.5-pro", "openai": "gpt-5", "anthropic": "claude-sonnet-4-5"}
KEY = "sk-canary-0123456789-key7Q"
GOOD = "^^^a.txt\nnew\n^^^end\n"
WRONG = "I begin.\n^^^a.txt\nnew\n^^^b.txt\n"
LONG = "and so on\n" * 200_000  # more than the host reads before it has searched for keys
RESPONSE = "1-initial-query-response.txt"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path, files={"a.txt": "old\n"})


def run(
    project: Project,
    *replies: Reply,
    protocol: str = "openai",
    early: bool = True,
    files: str = "",
    **environ: str,
) -> Finished:
    """Run the command on `replies`, which stream."""
    keys = {f"{name.upper()}_API_KEY": KEY for name in MODELS}
    settings = {
        "CODE_COMMIT_STREAM": "always",
        "CODE_COMMIT_STOP_EARLY": str(early).lower(),
        "CODE_COMMIT_SANDBOX": "off",
    }
    with ScriptedServer(replies) as server:
        environ = {**keys, **settings, **server.environment(), **environ}
        arguments = ("--model", MODELS[protocol], *(("--files", files) if files else ()))
        return project.command("--json", *arguments, environ=environ)


def first_call(finished: Finished) -> dict[str, object]:
    return next(event["data"] for event in finished.events if event["kind"] == "call.finished")


@pytest.mark.parametrize("protocol", MODELS)
def test_a_reply_that_can_no_longer_be_used_is_stopped(project, protocol):
    stalls = Reply(WRONG + "." * 200, stream=Stream(piece=len(WRONG), after=5, then="stall"))
    finished = run(project, stalls, Reply(GOOD), protocol=protocol)
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    call = first_call(finished)
    assert (call["finish"], call["error"]) == ("stopped_early", None)
    assert call["input_tokens"] > 0
    assert 5 <= call["output_tokens"] <= 40
    assert (project.run_folder / RESPONSE).read_text() == WRONG
    repair = (project.run_folder / "2-repair-query.txt").read_text()
    assert "line 4: a line inside the block of a.txt begins with `^^^`" in repair
    assert project.command("replay", "latest").exit_code == 0


def test_a_reply_with_a_malformed_edit_is_stopped(project):
    wrong = "^^^a.txt\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n^^^end\n"
    stalls = Reply(wrong + "." * 200, stream=Stream(piece=len(wrong), after=5, then="stall"))
    edit = wrong.replace(">>>>>>>", "=======\nnew\n>>>>>>>")
    environ = {"CODE_COMMIT_PLUGINS__COMMIT__RESPONSE_FORMAT": "edits"}
    finished = run(project, stalls, Reply(edit), **environ)
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert first_call(finished)["finish"] == "stopped_early"
    assert (project.run_folder / RESPONSE).read_text() == wrong
    repair = (project.run_folder / "2-repair-query.txt").read_text()
    assert "line 4: `>>>>>>> REPLACE` cannot stand here, in the block of a.txt" in repair


def test_a_reply_that_asks_for_files_is_stopped_after_its_list(project):
    project.write({"b.txt": "more\n"})
    request = "%%%files\nb.txt\n%%%end\n."
    stalls = Reply(request + "." * 200, stream=Stream(piece=len(request), after=5, then="stall"))
    finished = run(project, stalls, Reply(GOOD), files="a.txt")
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert first_call(finished)["finish"] == "stopped_early"
    assert "more\n" in (project.run_folder / "2-initial-query.txt").read_text()


def test_a_reply_is_stopped_at_a_live_key(project):
    finished = run(project, Reply(f"{GOOD}{KEY}\n{LONG}", stream=Stream(piece=10_000)))
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n"), finished.stderr
    assert "the response of call 1 contains an API key" in finished.stderr
    assert first_call(finished)["finish"] == "stopped_early"
    response = (project.run_folder / RESPONSE).read_text()
    assert response.startswith(f"{GOOD}***7Q\n")
    assert len(response) < len(LONG)


def test_by_default_replies_are_read_to_their_end(project):
    finished = run(
        project, Reply(WRONG + LONG, stream=Stream(piece=10_000)), Reply(GOOD), early=False
    )
    assert finished.exit_code == 0, finished.stderr
    assert first_call(finished)["finish"] == "stop"
    assert (project.run_folder / RESPONSE).read_text() == WRONG + LONG


def test_a_stopped_reply_counts_in_full_for_the_limit_of_cost(project):
    project.write(
        # Up to $0.01.
        {
            "agent-config/config.toml": '[providers.openai.default]\nmodel = "gpt-5"\nmax_tokens = 1000\n'
        }
    )
    finished = run(project, Reply(WRONG), Reply(GOOD), CODE_COMMIT_MAX_COST="0.018")
    assert finished.exit_code == 6, finished.stderr
    assert 0 < first_call(finished)["cost_usd"] < 0.005


PIECES = {
    "prose": "I begin.\n",
    "good": GOOD,
    "wrong": "^^^b.txt\nx\n^^^c.txt\ny\n",
    "key": f"the key is {KEY}, so there\n",
    "protected": "^^^Cargo.lock\nx\n^^^end\n",
    "open": "^^^d.txt\nnew\n",
}
REPLIES = [
    ("prose good wrong good key", Finish.STOP),
    ("good key wrong", Finish.STOP),
    ("protected good wrong", Finish.STOP),
    ("protected good", Finish.STOP),
    ("good wrong", Finish.LENGTH),
    ("wrong", Finish.REFUSED),
    ("good open", Finish.LENGTH),
    ("prose good", Finish.STOP),
    # Each is much like one of those.
    ("good key good", Finish.STOP),
    ("good", Finish.REFUSED),
    ("good wrong", Finish.FILTERED),
    ("wrong", Finish.CUT),
    ("good open", Finish.CUT),
]


def outcome(tmp_path: Path, reply: Reply, **options: bool) -> object:
    """Return the exit code, the messages, the next prompts and the files."""
    project = Project.create(tmp_path, files={"a.txt": "old\n"})
    finished = run(project, reply, Reply(GOOD), **options)
    prompts = [file.read_text() for file in sorted(project.run_folder.glob("*-query.txt"))]
    messages = re.findall(r"^(?:error|hint|warning): .*", finished.stderr, re.MULTILINE)
    words = [
        re.sub(r"\d{4}-\d\d-\d\d-[\w-]+|--- \w{16} ---", "...", text)
        for text in (*messages, *prompts)
    ]
    files = {
        path: project.read(path)
        for path in ("a.txt", "b.txt", "d.txt")
        if (project.root / path).exists()
    }
    return finished.exit_code, finished.events[-1]["data"]["summary"], words, files


@pytest.mark.fast_rows(8)
@pytest.mark.parametrize(
    ("number", "named", "finish"), [(n, *fields) for n, fields in enumerate(REPLIES)]
)
def test_the_outcome_is_that_of_the_whole_reply(tmp_path, number, named, finish):
    text = "".join(PIECES[name] for name in named.split())
    stream = Stream(piece=(1, 7, 30, 1000)[number % 4])
    early = outcome(tmp_path / "early", Reply(text, finish=finish, stream=stream), early=True)
    whole = outcome(tmp_path / "whole", Reply(text, finish=finish, stream=None), early=False)
    assert early == whole
