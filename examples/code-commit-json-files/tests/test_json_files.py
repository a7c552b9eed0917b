"""The format in a whole run, and the conformance tests."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import FormatConformance, FormatSample

from code_commit_json_files.plugin import code_commit_formats


class TestJson(FormatConformance):
    format = code_commit_formats()[0]
    samples = (
        FormatSample('{"a.txt": "new\\n"}', {"a.txt": b"old\n"}, {"a.txt": b"new\n"}),
        FormatSample('{"a.txt": null, "b": ""}', {"a.txt": b"old\n"}, {"b": b""}),
    )
    malformed = ("", "[]", "{}", '{"a.txt": 1}', '{"a.txt": "", "a.txt": ""}', "[" * 100_000)


def test_a_run_applies_the_response(tmp_path):
    project = Project.create(tmp_path)
    with ScriptedServer([Reply('{"a.txt": "new\\n"}')]) as server:
        finished = project.command(
            "--model", "gpt-5", "--format", "json", environ=server.environment()
        )
        assert finished.exit_code == 0, finished.stderr
        assert "Respond with one JSON object" in server.requests[0].prompt
    assert project.read("a.txt") == "new\n"
