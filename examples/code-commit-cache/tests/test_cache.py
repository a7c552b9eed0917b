"""The cache by itself, and in whole runs."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedProvider, ScriptedServer, model_call

from code_commit_cache.layer import Cache

ANSWER = Reply("^^^a.txt\nnew\n^^^end\n")


def test_a_repeated_request_is_answered_from_the_cache(tmp_path):
    provider, cache = ScriptedProvider(["one", "two"]), Cache(tmp_path / "cache")
    answers = [cache(model_call(text), provider.complete) for text in ("1?", "2?", "1?")]
    assert [answer.text for answer in answers] == ["one", "two", "one"]
    assert [answer.cached for answer in answers] == [False, False, True]
    assert answers[2].cost == 0


def test_each_model_has_its_own_answers(tmp_path):
    provider, cache = ScriptedProvider(["one", "two"]), Cache(tmp_path / "cache")
    answers = [cache(model_call("1?", model=model), provider.complete).text for model in ("a", "b")]
    assert answers == ["one", "two"]


def test_an_invalid_file_is_replaced(tmp_path):
    provider, cache = ScriptedProvider(["one", "two"]), Cache(tmp_path)
    cache(model_call("1?"), provider.complete)
    [file] = tmp_path.iterdir()
    file.write_text("{")
    warnings = []
    assert cache(model_call("1?", warn=warnings.append), provider.complete).text == "two"
    assert "will be replaced" in warnings[0]
    assert cache(model_call("1?"), provider.complete).text == "two"


def test_a_second_run_costs_nothing(tmp_path):
    project = Project.create(tmp_path)
    project.write(
        {"agent-config/config.toml": f'[plugins.cache]\nfolder = "{tmp_path / "cache"}"\n'}
    )
    flags = ("--model", "gpt-5", "--json", "--max-cost", "5")
    with ScriptedServer([ANSWER]) as server:
        first = project.command(*flags, environ=server.environment())
        project.git("checkout", "-q", ".")
        second = project.command(*flags, environ=server.environment())
    assert (first.exit_code, second.exit_code, project.read("a.txt")) == (0, 0, "new\n"), (
        second.stderr
    )
    costs = [
        event["data"]["cost_usd"]
        for finished in (first, second)
        for event in finished.events
        if event["kind"] == "call.finished"
    ]
    assert costs[0] > 0
    assert costs[1] == 0
