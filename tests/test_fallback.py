"""The setting `fallback`: other models take over from one whose calls fail."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

KEYS = {"OPENAI_API_KEY": "sk-first-0123456789-key7Q", "ANTHROPIC_API_KEY": "sk-ant-9876543210-x"}
GOOD = "^^^a.txt\nnew\n^^^end\n"
BUSY = Reply.error(503, "no machine is free")
CONFIG = """
[http]
retries = 0
[providers.openai.default]
fallback = ["openai.backup", "claude-opus-4-5"]
[providers.openai.backup]
model = "gpt-5-mini"
api_key = "sk-backup-0123456789-key8R"
base_url = "{address}"
"""


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made")


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


def run(project: Project, server: ScriptedServer, *flags: str, config: str = CONFIG, environ=KEYS):
    config = config.format(address=server.url("openai"))
    project.write({"agent-config/config.toml": config})
    environ = {**server.environment(), **environ}
    return project.command("--model", "gpt-5", *flags, environ=environ)


def test_the_next_models_take_over_and_each_call_is_logged(project, server):
    server.script(BUSY, BUSY, GOOD)
    finished = run(project, server, "--max-cost", "9")
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    models = ["gpt-5", "gpt-5-mini", "claude-opus-4-5"]
    assert [request.model for request in server.requests] == models
    keys = [request.headers.get("authorization") for request in server.requests]
    assert keys == ["Bearer sk-first-0123456789-key7Q", "Bearer sk-backup-0123456789-key8R", None]
    assert "call 1 failed: openai.backup takes over" in finished.stderr
    assert "call 2 failed: claude-opus-4-5 takes over" in finished.stderr
    document = json.loads((project.run_folder / "run.json").read_text())
    assert document["calls"] == {"started": 3, "finished": 3, "failed": 2, "unknown": 2}
    # Two calls may have a price that nobody knows: the run does not say that it cost less.
    assert document["models"][2]["cost_usd"] > 0
    assert finished.stderr.rpartition("cost: ")[2].startswith("10 tokens in"), finished.stderr
    rows = [(row["provider"], row["model"], row["calls"]) for row in document["models"]]
    assert rows == list(zip(["openai", "openai", "anthropic"], models, [1, 1, 1], strict=True))
    assert document["cost_usd"] > 0
    shown = project.command("runs", "show").stdout
    assert [shown.count(f"{model}  ") for model in models] == [1, 1, 1], shown
    assert (project.run_folder / "3-build.txt").exists()
    replayed = project.command("replay")
    assert replayed.exit_code == 0, replayed.stdout


def test_what_does_not_pass_is_not_asked_again(project, server):
    server.script(Reply.error(400, "the prompt is wrong"), GOOD)
    finished = run(project, server)
    assert (finished.exit_code, len(server.requests)) == (4, 1), finished.stderr


def test_without_a_model_that_answers_the_last_error_ends_the_run(project, server):
    server.script(BUSY, BUSY, Reply.error(529, "all are busy"))
    finished = run(project, server)
    assert finished.exit_code == 4
    assert "all are busy" in finished.stderr.partition("error: ")[2]


def test_the_limit_holds_for_all_calls(project, server):
    server.script(BUSY, GOOD)
    finished = run(project, server, "--max-cost", "0.33")
    assert (finished.exit_code, len(server.requests)) == (6, 1), finished.stderr


@pytest.mark.parametrize(
    ("config", "environ", "words"),
    [
        ('fallback = ["gpt-five"]', KEYS, "fallback"),
        ('fallback = "gpt-5-mini"', KEYS, "fallback should be a valid list"),
        ('fallback = ["opus"]', {"OPENAI_API_KEY": KEYS["OPENAI_API_KEY"]}, "no key for anthropic"),
    ],
)
def test_a_fallback_that_cannot_answer_ends_the_run_before_it(
    project, server, config, environ, words
):
    environ = {"ANTHROPIC_BASE_URL": "", **environ}
    finished = run(
        project, server, config=f"[providers.openai.default]\n{config}\n", environ=environ
    )
    assert finished.exit_code == 3, finished.stderr
    assert words in finished.stderr
    assert server.requests == []


def test_each_candidate_has_the_fallback_of_its_config(project, server):
    server.script(*[lambda request: BUSY if request.model == "gpt-5" else GOOD] * 4)
    finished = run(project, server, "--candidates", "2")
    assert finished.exit_code == 0, finished.stderr
    models = [request.model for request in server.requests]
    assert models.count("gpt-5") == 2
    assert models.count("gpt-5-mini") >= 1
