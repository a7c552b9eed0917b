"""Tools of other plugins: added by the hook, reported when unusable, limited like all tools."""

from __future__ import annotations

import pytest

from code_commit_testing import Reply, ScriptedServer, install_plugin

TOOLS = """
from code_commit.plugin_api import hookimpl, LimitReached, NotReady

SCHEMA = {{"type": "object", "properties": {{"word": {{"type": "string"}}}}, "required": ["word"]}}

@hookimpl
def code_commit_tools(settings):
    from code_commit_toolbox.tool import Tool, ToolError
    def call(context, arguments):
        {code}
    return [Tool("{name}", "A tool.", {schema}, call)]
"""


def tools(tmp_path, code: str, *, name: str = "echo", plugin: str = "echo", schema: str = "SCHEMA"):
    return install_plugin(
        tmp_path / plugin, plugin, TOOLS.format(name=name, code=code, schema=schema)
    )


def test_a_plugin_adds_a_tool(bench, tmp_path):
    folder = tools(tmp_path, "return arguments['word'] * 2 + str(context.run.root.is_dir())")
    worked = bench.use("echo", {"word": "ab"}, plugins=[folder])
    assert (worked.result["text"], worked.result["is_error"]) == ("ababTrue", False)
    assert bench.use("echo", {"word": 1}, plugins=[folder]).result["is_error"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ToolError('no such word')", "no such word"),
        ("1 / 0", "echo failed with ZeroDivisionError: division by zero"),
        ("raise SystemExit(9)", "echo failed with SystemExit: 9"),
        ("return 7", "echo is broken: it returned int, not text."),
        ("raise NotReady('not now')", "not now"),
        ("return call(context, arguments)", "RecursionError"),
    ],
)
def test_an_exception_of_a_tool_becomes_text(bench, tmp_path, code, words):
    worked = bench.use("echo", {"word": "x"}, plugins=[tools(tmp_path, code)])
    assert worked.result["is_error"]
    assert words in worked.result["text"]
    assert worked.end == "FINISHED"


def test_a_limit_reached_in_a_tool_ends_the_run(bench, tmp_path):
    worked = bench.use(
        "echo", {"word": "x"}, plugins=[tools(tmp_path, "raise LimitReached('enough')")]
    )
    assert worked.finished.exit_code == 6


def test_a_long_result_is_written_to_the_run_folder(bench, tmp_path):
    folder = tools(tmp_path, "return 'first\\n' + 'x\\n' * 100_000 + 'last'")
    worked = bench.use("echo", {"word": "x"}, plugins=[folder])
    text = worked.result["text"]
    assert text.startswith("first\n")
    assert text.endswith("\nlast")
    assert "the whole output is in the run folder: echo-output.txt" in text
    assert (
        len((bench.project.run_folder / "echo-output.txt").read_text())
        == len("first\nlast") + 200_000
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "shell"}, "the tool name 'shell' belongs to the toolbox"),
        ({"name": "two words"}, "'two words' is not a valid tool name"),
        ({"schema": "{'type': 'string'}"}, "not a JSON schema of type object"),
        (
            {"schema": "{'type': 'object', 'properties': {'a': {'type': 'txt'}}}"},
            "not a JSON schema: 'txt'",
        ),
    ],
)
def test_an_invalid_tool_is_reported_and_left_out(bench, tmp_path, given, words):
    folder = tools(tmp_path, "return 'mine'", **given)
    worked = bench.use("list_files", {}, plugins=[folder])
    assert worked.finished.exit_code == 0
    [failure] = worked.events("plugin.failed")
    assert (failure["distribution"], failure["stage"]) == ("code-commit-echo", "code_commit_tools")
    assert words in failure["error"]
    assert len(worked.asked[0]["tools"]) == 9


def test_a_name_clash_names_both_plugins(bench, tmp_path):
    folders = [tools(tmp_path, "return 'x'", plugin=plugin) for plugin in ("one", "two")]
    worked = bench.work({"text": "done"}, plugins=folders)
    errors = [failure["error"] for failure in worked.events("plugin.failed")]
    assert errors == ["the tool name 'echo' is claimed by code-commit-one and code-commit-two"] * 2
    assert "echo" not in worked.asked[0]["tools"]


def test_a_failing_hook_does_not_affect_others(bench, tmp_path):
    broken = install_plugin(
        tmp_path / "broken", "broken",
        "from code_commit.plugin_api import hookimpl\n@hookimpl\ndef code_commit_tools(settings):\n    1 / 0\n",
    )  # fmt: skip
    worked = bench.use("echo", {"word": "a"}, plugins=[broken, tools(tmp_path, "return 'fine'")])
    assert worked.result["text"] == "fine"
    assert worked.events("plugin.failed")[0]["error"].startswith("ZeroDivisionError")


def test_references_in_a_schema_are_not_fetched(bench, tmp_path):
    with ScriptedServer([Reply(body=b'{"type": "object"}')]) as server:
        schema = f"{{'type': 'object', '$ref': '{server.address}/schema'}}"
        worked = bench.use("echo", {}, plugins=[tools(tmp_path, "return 'x'", schema=schema)])
        assert not server.requests
    assert worked.result["is_error"]
    assert "Unresolvable" in worked.result["text"]


def test_without_the_toolbox_plugin_a_workflow_is_not_ready(bench):
    worked = bench.work({"text": "never"}, flags=["--disable-plugin", "toolbox"])
    assert worked.finished.exit_code == 3
    assert "the plugin toolbox is not loaded" in worked.finished.stderr
