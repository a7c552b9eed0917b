"""Lines of `code-commit doctor`: a sandbox that is off, a service without an address, a plugin's wrong checks."""

from __future__ import annotations

from code_commit_testing import Project, install_plugin

WRONG = """\
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import Check, CheckDefinition, hookimpl
@hookimpl
def code_commit_checks():
    return ["no check", CheckDefinition("state", "wrong_plugin:state"), CheckDefinition("two", "wrong_plugin:two")]
def state(host, context):
    yield Check("good", "never seen")
def two(host, context):
    yield Check("ok", "first\\nsecond")
    yield Check("skipped", "nothing to see", "look elsewhere")
"""


def test_checks_of_a_plugin_that_are_none_are_told(tmp_path):
    project = Project.create(tmp_path / "made")
    project.write({"agent-config/config.toml": "[sandbox]\nmode = 'off'\n"})
    plugins = [install_plugin(tmp_path / "plugins", "wrong", WRONG)]
    finished = project.command("doctor", "--no-build", "--json", "--model", "scripted", plugins=plugins)
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in finished.document["checks"]:
        found.setdefault(line["name"], []).append((line["state"], line["text"], line["hint"]))
    assert finished.exit_code == 3
    assert found["sandbox"] == [("warning", "off, by the setting sandbox.mode", "remove the setting")]
    assert found["address"] == [("ok", "scripted has none", "")]
    assert found["two"] == [("ok", "first\nsecond", ""), ("skipped", "nothing to see", "look elsewhere")]
    (state,) = found["state"]
    told = "the state of a Check is ok, warning, problem or skipped, not 'good'"
    assert (state[0], told in state[1]) == ("problem", True)
    failed = [text for kind, text, _ in found["plugins"] if kind == "warning"]
    assert any("a check must be a CheckDefinition, not 'no check'" in text for text in failed)
    assert finished.document["problems"] == sum(kind == "problem" for lines in found.values() for kind, _, _ in lines)
    assert finished.document["warnings"] == sum(kind == "warning" for lines in found.values() for kind, _, _ in lines)
    people = project.command("doctor", "--no-build", "--model", "scripted", plugins=plugins)
    lines = people.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["ok", "two"])
    column = lines[at].index("first")
    assert lines[at + 1] == " " * column + "second"
    assert lines[at + 3] == " " * column + "hint: look elsewhere"
