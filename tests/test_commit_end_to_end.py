"""The commit workflow from outside: the command, a real server on loopback, a real git, a real
build.
"""

from __future__ import annotations

import json
import re

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
# The build passes if a.txt contains "good".
BUILD = 'echo "looking at a.txt"; echo "complaint about $(cat a.txt)" >&2; grep -q good a.txt\n'
PROVIDERS = {
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY", "x-goog-api-key", KEY),
    "openai": ("gpt-5", "OPENAI_API_KEY", "authorization", f"Bearer {KEY}"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY", "x-api-key", KEY),
}


def replaced(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, build=BUILD)


def run(
    project: Project, server: ScriptedServer, *arguments: str, provider: str = "openai", **options
):
    model, variable, *_ = PROVIDERS[provider]
    environ = {variable: KEY, **server.environment(), **options.pop("environ", {})}
    return project.command("--model", model, *arguments, environ=environ, **options)


def files_of(project: Project) -> dict[str, str]:
    """Return all files that git does not ignore."""
    paths = project.git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    return {path: project.read(path) for path in paths if path and (project.root / path).exists()}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_fail_repair_pass(project, provider):
    with ScriptedServer(
        [Reply(replaced("a.txt", "bad\n")), Reply(replaced("a.txt", "good\n"))]
    ) as server:
        finished = run(project, server, "--json", provider=provider)
        requests = server.requests
    assert (finished.exit_code, project.read("a.txt")) == (0, "good\n")
    assert [request.headers[PROVIDERS[provider][2]] for request in requests] == [
        PROVIDERS[provider][3]
    ] * 2
    assert all(KEY not in request.path for request in requests)
    # Installed log sinks add their own files.
    left = {
        path.name
        for path in project.run_folder.iterdir()
        if not path.name.endswith((".html", ".diff"))
    }
    assert sorted(left) == [
        "1-build.txt",
        "1-initial-query-response.json",
        "1-initial-query-response.txt",
        "1-initial-query.txt",
        "2-build.txt",
        "2-repair-query-response.json",
        "2-repair-query-response.txt",
        "2-repair-query.txt",
        "events.jsonl",
        "input-codeRollup.txt",
        "input-query.txt",
        "run.json",
    ]
    assert re.fullmatch(r"\d{4}(-\d\d){5}-committing-code", project.run_folder.name)
    folder = project.run_folder
    assert (folder / "1-initial-query.txt").read_text() == requests[0].prompt
    assert (folder / "2-repair-query.txt").read_text() == requests[1].prompt
    assert (folder / "1-initial-query-response.txt").read_text() == replaced("a.txt", "bad\n")
    assert json.loads((folder / "1-initial-query-response.json").read_bytes())
    build = (folder / "1-build.txt").read_text()
    assert "looking at a.txt" in build
    assert "complaint about bad" in build
    assert "complaint about bad" in requests[1].prompt
    assert "--- FILE REPLACEMENT a.txt ---\nbad\n" in requests[1].prompt
    document = json.loads((folder / "run.json").read_bytes())
    assert (document["outcome"], document["exit_code"], document["attempts"]) == ("reached", 0, 2)
    assert document["tokens"]["input"] == 20
    kinds = [event["kind"] for event in finished.events]
    assert (kinds[0], kinds[-1]) == ("run.started", "run.finished")
    assert (
        kinds.count("call.finished")
        == kinds.count("process.finished")
        == kinds.count("changes.applied")
        == 2
    )
    assert finished.events[-1]["data"]["exit_code"] == 0


def test_git_shows_only_the_change(project):
    with ScriptedServer(
        [Reply(replaced("a.txt", "good\n") + replaced("new/b.txt", "b\n"))]
    ) as server:
        assert run(project, server).exit_code == 0
    assert project.git("status", "--porcelain", "--untracked-files=all").splitlines() == [
        " M a.txt",
        "?? new/b.txt",
    ]


def test_a_build_that_fails_after_three_repairs_is_exit_1(project):
    script = [Reply(replaced("a.txt", f"bad {number}\n")) for number in range(4)]
    with ScriptedServer(script) as server:
        finished = run(project, server)
        prompts = [request.prompt for request in server.requests]
    assert finished.exit_code == 1
    assert len(prompts) == 4
    assert "build.sh ended with exit code 1 after 4 attempts" in finished.stderr
    assert project.read("a.txt") == "bad 3\n"
    # Only the latest replacement of a file is shown.
    assert "--- FILE REPLACEMENT a.txt ---\nbad 2\n" in prompts[3]
    assert "bad 0" not in prompts[3]


def test_a_build_that_a_signal_ends_is_red(project):
    project.write({"build.sh": "kill -KILL $$\n"})
    with ScriptedServer([Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server, "--sandbox", "off", "--repairs", "0")
    assert finished.exit_code == 1
    assert (
        "the build is red: build.sh was ended by signal 9 (SIGKILL) after 1 attempt"
        in finished.stderr
    )


def test_a_file_named_in_two_ways_is_one_file_with_one_latest_replacement(project):
    script = [
        Reply(replaced("./a.txt", "bad first\n")),
        Reply(replaced("a.txt", "bad second\n")),
        Reply("no"),
    ]
    with ScriptedServer(script) as server:
        run(project, server, "--repairs", "2")
        shown = server.requests[2].prompt.partition("[file replacements]\n")[2]
    assert shown == "--- FILE REPLACEMENT a.txt ---\nbad second\n"


def test_on_failure_restore_restores_the_tree(project):
    before = files_of(project)
    with ScriptedServer([Reply(replaced("a.txt", "bad\n") + replaced("c/d.txt", "x\n"))]) as server:
        finished = run(project, server, "--repairs", "0", "--on-failure", "restore")
    assert finished.exit_code == 1
    assert files_of(project) == before
    assert not (project.root / "c").exists()


def test_undo_reverts_a_run_and_refuses_files_that_changed_since(project):
    before = files_of(project)
    with ScriptedServer(
        [Reply(replaced("a.txt", "good\n") + replaced("c/d.txt", "x\n"))]
    ) as server:
        assert run(project, server).exit_code == 0
    project.write({"c/d.txt": "mine\n"})
    refused = project.command("undo")
    assert (refused.exit_code, "c/d.txt" in refused.stderr) == (3, True)
    assert project.read("c/d.txt") == "mine\n"
    project.write({"c/d.txt": "x\n"})
    assert project.command("undo").exit_code == 0
    assert files_of(project) == before


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        "../out.txt",
        "/etc/x",
        "build.sh",
        "agent-config/query.txt",
        "docs/UserSpecification.md",
    ],
)
def test_one_forbidden_path_refuses_all_changes_and_ends_the_run(project, path):
    before = files_of(project)
    with ScriptedServer([Reply(replaced("a.txt", "good\n") + replaced(path, "x\n"))]) as server:
        finished = run(project, server)
    assert finished.exit_code == 5
    assert path in finished.stderr
    assert files_of(project) == before
    assert not (project.root.parent / "out.txt").exists()
    assert not (project.root / ".git/hooks/pre-commit").exists()


@pytest.mark.fast_rows(3)  # the workspace's own tests have all limits
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("d/" * 101 + "x", "The path has 101 folders; at most 100 are allowed."),
        ("d/" * 900 + "x", "The path has 900 folders; at most 100 are allowed."),
        ("d/" * 2500 + "x", "the path is longer than 4096 characters"),
        ("d/" + "x" * 256, "A name in the path is longer than 255 bytes."),
        ("d/" + "é" * 128, "A name in the path is longer than 255 bytes."),
    ],
    ids=["101 folders", "900 folders", "5,000 characters", "256 characters", "256 bytes"],
)
def test_a_path_beyond_the_limits_is_refused(project, path, reason):
    before = files_of(project)
    with ScriptedServer([Reply(replaced("a.txt", "good\n") + replaced(path, "x\n"))] * 2) as server:
        finished = run(project, server, "--repairs", "0")
    assert finished.exit_code == 5
    assert reason in finished.stderr
    assert files_of(project) == before


def test_a_path_and_a_name_within_the_limits_are_written(project):
    deep, long = "d/" * 100 + "x", "l/" + "x" * 255
    with ScriptedServer(
        [Reply(replaced("a.txt", "good\n") + replaced(deep, "x\n") + replaced(long, "x\n"))]
    ) as server:
        assert run(project, server).exit_code == 0
    assert project.read(deep) == project.read(long) == "x\n"


@pytest.mark.fast_rows(1)  # the tests of the workflow have the others
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(replaced("a.txt", "good\n"), finish="length"), "is incomplete"),
        (Reply("I would rather not write code."), "no file replacement"),
        (Reply("^^^a.txt\ngood\n"), "no closing line"),
    ],
    ids=["cut short", "prose", "open"],
)
def test_an_unusable_response_is_repaired_and_writes_nothing(project, reply, reason):
    with ScriptedServer([reply, Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server)
        prompts = [request.prompt for request in server.requests]
    assert finished.exit_code == 0
    output = prompts[1].partition("[build.sh output]\n")[2].partition("[query]")[0]
    assert reason in output
    assert "build.sh was not run" in output
    assert not (project.run_folder / "1-build.txt").exists()


def test_a_response_that_changes_nothing_is_built_and_repaired(project):
    with ScriptedServer(
        [Reply(replaced("a.txt", "old\n")), Reply(replaced("a.txt", "good\n"))]
    ) as server:
        assert run(project, server).exit_code == 0
        output = (
            server.requests[1].prompt.partition("[build.sh output]\n")[2].partition("[query]")[0]
        )
    assert "build.sh ended with exit code 1" in output
    assert (project.run_folder / "1-build.txt").exists()


def test_only_unusable_responses_are_exit_5(project):
    with ScriptedServer([Reply("no")] * 2) as server:
        finished = run(project, server, "--repairs", "1")
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n")
    assert (
        "no response can be applied after 2 attempts: there is no file replacement"
        in finished.stderr
    )
    assert "hint: answer the model in the query" in finished.stderr


def test_an_incomplete_last_response_shows_the_setting_to_raise(project):
    with ScriptedServer([Reply("no", finish="length")]) as server:
        finished = run(project, server, "--repairs", "0")
    assert (finished.exit_code, "hint: raise max_tokens" in finished.stderr) == (5, True)


def test_a_reply_without_a_finish_reason_counts_when_its_last_block_is_closed(project):
    script = [Reply("^^^a.txt\ngood\n", finish=""), Reply(replaced("a.txt", "good\n"), finish="")]
    with ScriptedServer(script) as server:
        finished = run(project, server, "--repairs", "1")
        prompt = server.requests[1].prompt
    assert (finished.exit_code, project.read("a.txt")) == (0, "good\n")
    assert "the block of a.txt has no closing line `^^^end`; the service gave no reason" in prompt


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_that_calls_a_function_is_called_so(project, provider):
    call = ToolCall("1", "write_file", {"path": "a.txt"})
    with ScriptedServer([Reply(tool_calls=(call,)), Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server, provider=provider)
        prompt = server.requests[1].prompt
    assert finished.exit_code == 0
    for text in (finished.stderr, prompt):
        assert (
            "it called a function (`write_file`). There are no functions: reply with text only"
            in text
        )


@pytest.mark.fast_rows(3)  # the tests of replies and of the network have the others
@pytest.mark.parametrize(
    ("replies", "exit_code", "words"),
    [
        ([Reply.error(401, "bad key")], 4, "check that the key is for"),
        ([Reply.error(404, "no such model")], 4, "model"),
        ([Reply("sorry", finish="content_filter")], 4, "filtered"),
        ([Reply.error(429, "out of money", code="insufficient_quota")], 4, "billing"),
        ([Reply.html()], 4, "address"),
        ([Reply(fault="drop")] * 9, 4, "connection"),
    ],
    ids=["401", "404", "filtered", "quota", "html", "dropped"],
)
def test_a_failed_service_is_exit_4(project, replies, exit_code, words):
    with ScriptedServer(replies) as server:
        finished = run(project, server, "--json", environ={"CODE_COMMIT_HTTP__RETRIES": "0"})
    assert finished.exit_code == exit_code
    assert words in finished.stderr
    assert project.read("a.txt") == "old\n"
    assert (project.run_folder / "1-initial-query-response.txt").read_text().startswith("ERROR\n")
    assert finished.events[-1]["data"]["outcome"] == "provider_failed"


def test_status_429_is_retried(project):
    too_many = Reply.error(429, "slow down", retry_after="0")
    with ScriptedServer([too_many, Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server, "--json")
    assert finished.exit_code == 0
    assert [event["kind"] for event in finished.events].count("call.retried") == 1


def test_dry_run_shows_the_change_and_writes_nothing(project):
    before = files_of(project)
    with ScriptedServer(
        [Reply(replaced("a.txt", "good\n") + "^^^build2.sh\n^^^delete\n")]
    ) as server:
        finished = run(project, server, "--dry-run")
    assert finished.exit_code == 0
    assert "-old\n+good\n" in finished.stdout
    assert files_of(project) == before
    assert not (project.run_folder / "1-build.txt").exists()


def test_files_are_deleted_created_and_emptied(project):
    shown = "--- a.txt ---\nold\n--- gone.txt ---\nx\n"
    project.write({"gone.txt": "x\n", "agent-config/codeRollup.txt": shown})
    response = "^^^gone.txt\n^^^delete\n^^^empty.txt\n^^^end\n" + replaced("a.txt", "good\r\n")
    with ScriptedServer([Reply(response)]) as server:
        assert run(project, server).exit_code == 0
    assert not (project.root / "gone.txt").exists()
    assert (project.read("empty.txt"), project.read("a.txt")) == ("", "good\r\n")


def test_a_query_from_the_command_line_a_file_and_stdin(project, tmp_path):
    (tmp_path / "q.txt").write_text("from a file")
    for arguments, stdin, expected in [
        (["--query", "from a flag"], "", "from a flag"),
        (["--query-file", str(tmp_path / "q.txt")], "", "from a file"),
        (["--query-file", "-"], "from stdin", "from stdin"),
    ]:
        with ScriptedServer([Reply(replaced("a.txt", "good\n"))]) as server:
            run(project, server, "--dry-run", *arguments, stdin=stdin)
            assert f"[query]\n{expected}\n" in server.requests[0].prompt


def test_max_cost_stops_before_a_call_that_could_exceed_it(project):
    with ScriptedServer([Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server, "--max-cost", "0.0001")
        assert (finished.exit_code, len(server.requests)) == (6, 0)
        assert "the next call could cost" in finished.stderr
        shown = project.command("runs", "show", "--json").document
        assert (shown["cost_usd"], shown["cost_complete"]) == (0.0, True)
        fine = run(project, server, "--max-cost", "5")
        assert fine.exit_code == 0
        assert server.requests[0].json["max_completion_tokens"] > 0


def test_a_reply_with_a_live_key_is_refused_and_the_key_is_not_stored(project):
    with ScriptedServer([Reply(replaced("a.txt", f"good {KEY}\n"))]) as server:
        finished = run(project, server)
    assert finished.exit_code == 5
    assert project.read("a.txt") == "old\n"
    written = b"".join(path.read_bytes() for path in project.run_folder.iterdir())
    assert KEY.encode() not in written
    assert b"***7Q" in written
    assert KEY not in finished.stdout + finished.stderr


def test_replay_returns_recorded_answers_and_reports_changed_prompts(project):
    with ScriptedServer(
        [Reply(replaced("a.txt", "bad\n")), Reply(replaced("a.txt", "good\n"))]
    ) as server:
        assert run(project, server).exit_code == 0
    name = project.run_folder.name
    project.git("checkout", "-q", ".")
    same = project.command("--model", f"replay/{name}", "--json")
    assert (same.exit_code, project.read("a.txt")) == (0, "good\n")
    assert not [event for event in same.events if event["kind"] == "message"]
    project.git("checkout", "-q", ".")
    second = project.command("--model", f"replay/{name}", "--json", "--query", "something else")
    messages = [event["data"]["text"] for event in second.events if event["kind"] == "message"]
    assert messages == [f"the prompt of call {number} differs from {name}" for number in (1, 2)]


def test_a_model_cannot_replace_a_key_by_its_mark(project):
    config = f"level = 1\nkey = {KEY}\n"
    shown = f"--- a.txt ---\nold\n--- config.ini ---\n{config}"
    project.write({"config.ini": config, "agent-config/codeRollup.txt": shown})
    echoed = replaced("config.ini", "level = 2\nkey = ***7Q\n")
    with ScriptedServer([Reply(echoed), Reply(replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server)
        first, second = server.requests
    assert "key = ***7Q\n" in first.prompt
    assert "***7Q stands for a secret in the file" in second.prompt
    assert (finished.exit_code, project.read("config.ini"), project.read("a.txt")) == (
        0,
        config,
        "good\n",
    )


@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
def test_a_file_and_a_folder_swap_places(project, flags):
    shown = "--- a.txt ---\nold\n--- one ---\nx\n--- two/x ---\ny\n"
    project.write({"one": "x\n", "two/x": "y\n", "agent-config/codeRollup.txt": shown})
    changes = (
        "^^^one\n^^^delete\n^^^two/x\n^^^delete\n"
        + replaced("one/y", "1\n")
        + replaced("two", "2\n")
    )
    with ScriptedServer([Reply(changes + replaced("a.txt", "good\n"))]) as server:
        finished = run(project, server, *flags)
    assert finished.exit_code == 0, finished.stderr
    if flags:
        assert "+++ b/two\n@@ -0,0 +1 @@\n+2" in finished.stdout
    else:
        assert (project.read("one/y"), project.read("two")) == ("1\n", "2\n")
