"""`code-commit models --refresh`: the services list their models, whose names then resolve without
code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, RecordedRequest, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
ADDRESSES = ("gemini", "openai", "anthropic")  # the order of `ScriptedServer.environment`
REPLACED = "^^^a.txt\ngood\n^^^end\n"


def listed(document: Any) -> Reply:
    return Reply(body=json.dumps(document).encode())


OPENAI = listed(
    {
        "object": "list",
        "data": [{"id": "gpt-99", "object": "model", "created": 1, "owned_by": "openai"}],
    }
)
ANTHROPIC = listed(
    {
        "data": [{"id": "claude-99", "max_input_tokens": 9_000}, {"id": "claude-98"}],
        "has_more": False,
    }
)
GEMINI = listed(
    {
        "models": [
            {
                "name": "models/gemini-99",
                "inputTokenLimit": 777,
                "supportedGenerationMethods": ["generateContent"],
            },
            {"name": "models/embedding-99", "supportedGenerationMethods": ["embedContent"]},
        ]
    }
)
ALL = (ANTHROPIC, GEMINI, OPENAI)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path, build="grep -q good a.txt\n")


@pytest.fixture
def run(project: Project) -> Callable[..., tuple[Finished, list[RecordedRequest]]]:
    """Return a function that runs the command with a service, and with keys of some providers."""

    def command(
        *arguments: str, replies: Any = (), keys: Any = tuple(KEYS)
    ) -> tuple[Finished, list[RecordedRequest]]:
        with ScriptedServer(replies) as server:
            addresses = [
                variable
                for name, variable in zip(ADDRESSES, server.environment().items(), strict=True)
                if name in keys
            ]
            environ = (
                {KEYS[provider]: KEY for provider in keys}
                | dict(addresses)
                | {"CODE_COMMIT_SANDBOX": "off"}
            )
            return project.command(*arguments, environ=environ), server.requests

    return command


def names(finished: Finished) -> dict[str, Any]:
    return {row["model"]: (row["provider"], row["window"]) for row in finished.document["models"]}


def test_the_services_are_asked_for_their_models(run):
    finished, requests = run("models", "--refresh", "--json", replies=ALL)
    assert (finished.exit_code, KEY in finished.stdout + finished.stderr) == (0, False)
    assert [(request.method, request.path, request.body) for request in requests] == [
        ("GET", "/v1/models?limit=1000", b""),
        ("GET", "/v1beta/models?pageSize=1000", b""),
        ("GET", "/v1/models", b""),
    ]
    names_of_keys = ("x-api-key", "x-goog-api-key", "authorization")
    keys = [request.headers[name] for name, request in zip(names_of_keys, requests, strict=True)]
    assert keys == [KEY, KEY, f"Bearer {KEY}"]
    listed = names(finished)
    assert listed["claude-99"] == ("anthropic", 9_000)
    assert listed["claude-98"] == ("anthropic", None)
    assert listed["gemini-99"] == ("gemini", 777)
    assert listed["gpt-99"] == ("openai", None)
    assert "embedding-99" not in listed
    assert listed["gpt-5"] == ("openai", 400_000)
    assert "anthropic lists 2 models" in finished.stderr


def test_a_list_in_pages_is_read_to_its_end(run):
    replies = [
        listed({"data": [{"id": "claude-1"}], "has_more": True, "last_id": "claude-1&limit=1"}),
        listed({"data": [{"id": "claude-2"}], "has_more": False, "last_id": "claude-2"}),
        listed({"models": [], "nextPageToken": "a/b="}),  # of models for other uses alone
        GEMINI,
        OPENAI,
    ]
    finished, requests = run("models", "--refresh", "--json", replies=replies)
    assert finished.exit_code == 0, finished.stderr
    assert [request.path.partition("models")[2] for request in requests] == [
        "?limit=1000",
        "?limit=1000&after_id=claude-1%26limit%3D1",
        "?pageSize=1000",
        "?pageSize=1000&pageToken=a%2Fb%3D",
        "",
    ]
    assert {"claude-1", "claude-2", "gemini-99", "gpt-99"} <= names(finished).keys()


@pytest.mark.parametrize(
    ("provider", "page"),
    [
        ("anthropic", {"data": [{"id": "one-99"}], "has_more": True, "last_id": "one-99"}),
        ("gemini", {**json.loads(GEMINI.body or b""), "nextPageToken": "again"}),
    ],
)
def test_a_list_without_an_end_is_bounded(run, provider, page):
    finished, requests = run(
        "models", "--refresh", "--json", replies=[listed(page)] * 50, keys=[provider]
    )
    assert (finished.exit_code, len(requests)) == (0, 20)
    assert {"one-99", "gemini-99"} & names(finished).keys()


def test_a_listed_name_resolves_without_its_provider(run, project):
    before, requests = run("--model", "claude-99")
    assert (before.exit_code, requests) == (2, [])
    run("models", "--refresh", replies=ALL)
    finished, requests = run("--model", "claude-99", replies=[REPLACED])
    assert finished.exit_code == 0, finished.stderr
    assert [(request.protocol, request.model) for request in requests] == [
        ("anthropic", "claude-99")
    ]
    assert json.loads((project.run_folder / "run.json").read_bytes())["outcome"] == "reached"
    assert names(run("models", "--json")[0])["claude-99"] == ("anthropic", 9_000)


def test_a_listed_window_refuses_a_longer_prompt(run, project):
    small = listed({"data": [{"id": "claude-99", "max_input_tokens": 90_000}]})
    run("models", "--refresh", replies=[small], keys=["anthropic"])
    code = "".join(f"value_{number} = {number}\n" for number in range(60_000))
    project.write({"agent-config/codeRollup.txt": f"--- a.txt ---\nold\n--- code.py ---\n{code}"})
    finished, requests = run("--model", "claude-99", replies=[Reply.error(400)])
    assert finished.exit_code == 3
    assert "claude-99 reads at most 90,000" in finished.stderr
    assert [request.path for request in requests] in ([], ["/v1/messages/count_tokens"])


def test_a_name_that_two_services_list_needs_its_provider(run):
    same = ({"data": [{"id": "shared-1"}]}, {"data": [{"id": "shared-1"}]})
    run("models", "--refresh", replies=map(listed, same), keys=["anthropic", "openai"])
    assert run("--model", "shared-1")[0].exit_code == 2
    finished, requests = run("--model", "openai/shared-1", replies=[REPLACED])
    assert (finished.exit_code, requests[0].protocol) == (0, "openai")


def test_names_of_plugins_win(run):
    run(
        "models",
        "--refresh",
        replies=[listed({"data": [{"id": "gpt-5"}, {"id": "sonnet"}]})],
        keys=["anthropic"],
    )
    finished, requests = run("--model", "gpt-5", replies=[REPLACED])
    assert (finished.exit_code, requests[0].protocol) == (0, "openai")
    finished, requests = run("--model", "sonnet", replies=[REPLACED])
    assert requests[0].model == "claude-sonnet-5"


def test_a_service_that_fails_keeps_its_earlier_list(run):
    run("models", "--refresh", replies=ALL)
    finished, _ = run(
        "models", "--refresh", "--json", replies=[Reply.error(401), GEMINI, Reply(body=b"{}")]
    )
    assert finished.exit_code == 4
    assert finished.stderr.count("error: ") == 2
    assert KEY not in finished.stdout + finished.stderr
    assert {"claude-99", "gpt-99", "gemini-99"} <= names(finished).keys()


def test_without_a_key_nobody_is_asked(run, project):
    finished, requests = run("models", "--refresh", keys=["gemini"], replies=[GEMINI])
    assert (finished.exit_code, len(requests)) == (0, 1)
    assert finished.stderr.count("was not asked") == 2
    environ = {"CODE_COMMIT_SANDBOX": "off"}
    offline = project.command("models", "--refresh", environ=environ)
    assert offline.exit_code == 3
    assert offline.stderr.count("was not asked") == 3


@pytest.mark.parametrize(
    "bad",
    [
        {
            "data": [
                {"id": "\x1b]0;owned\x07"},
                {"id": "two words"},
                {"id": "x" * 201},
                {"id": f"by-{KEY}"},
                {"id": "é"},
            ]
        },
        {"data": [{"id": ""}, {}]},
        {"data": []},
        {"data": [{"id": ["gpt-99"]}]},
        {"data": [7]},
        {"data": {"id": "gpt-99"}},
        ["gpt-99"],
    ],
    ids=["names", "empty", "none", "a list as name", "a number", "no list", "no object"],
)
def test_a_hostile_list_is_not_stored(run, project, bad):
    finished, _ = run("models", "--refresh", replies=[listed(bad)], keys=["openai"])
    assert finished.exit_code in {0, 4}
    assert "\x1b" not in finished.stdout + finished.stderr
    assert KEY not in finished.stdout + finished.stderr
    [file] = project.home.rglob("models.json")
    assert json.loads(file.read_text()).get("openai", {}) == {}


def test_a_huge_list_is_bounded(run, project):
    rows = [{"id": f"m-{number}", "max_model_len": 10**12} for number in range(30_000)]
    finished, _ = run(
        "models", "--refresh", "--json", replies=[listed({"data": rows})], keys=["openai"]
    )
    assert finished.exit_code == 0
    names_listed = names(finished)
    assert sum(name.startswith("m-") for name in names_listed) == 10_000
    assert names_listed["m-0"] == ("openai", None)
    [file] = project.home.rglob("models.json")
    assert file.stat().st_size < 1 << 20


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize("window", [True, -1, 10**9, "5", None, 1.5])
def test_an_impossible_window_is_unknown(run, window):
    rows = [{"id": "m-1", "max_model_len": window}, {"id": "m-2", "max_model_len": 10**9 - 1}]
    found = names(
        run("models", "--refresh", "--json", replies=[listed({"data": rows})], keys=["openai"])[0]
    )
    assert (found["m-1"], found["m-2"]) == (("openai", None), ("openai", 10**9 - 1))


def test_a_list_that_cannot_be_stored_is_an_error(run, project):
    run("models", "--refresh", replies=[OPENAI], keys=["openai"])
    [file] = project.home.rglob("models.json")
    file.unlink()
    file.mkdir()
    finished, _ = run("models", "--refresh", replies=[OPENAI], keys=["openai"])
    assert finished.exit_code == 3
    assert "models.json cannot be written: " in finished.stderr


def test_a_list_is_not_written_through_a_link(run, project, tmp_path):
    """The cache may be in a project, where a repository can have it."""
    run("models", "--refresh", replies=[OPENAI], keys=["openai"])
    [file] = project.home.rglob("models.json")
    file.unlink()
    for place in (file, file.with_name(f".{file.name}.new")):
        place.symlink_to(tmp_path / "elsewhere")
    finished, _ = run("models", "--refresh", replies=[OPENAI], keys=["openai"])
    assert (finished.exit_code, (tmp_path / "elsewhere").exists()) == (0, False)
    assert "gpt-99" in file.read_text()


def test_a_broken_file_counts_as_empty(run, project):
    run("models", "--refresh", replies=[OPENAI], keys=["openai"])
    [file] = project.home.rglob("models.json")
    assert run("--model", "gpt-99", replies=[REPLACED])[0].exit_code == 0
    for content in (
        b"",
        b"7",
        b"\xff",
        b"[" * 100_000,
        b" " * (5 << 20),
        b'{"openai": ["gpt-99"]}',
    ):
        file.write_bytes(content)
        assert run("--model", "gpt-99")[0].exit_code == 2, content[:9]
        assert run("models")[0].exit_code == 0, content[:9]
