"""Plugins that have a key put it into whatever they can; then all output is searched, as in
`test_no_key_leaks`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

KEY = "k\"e\\y'w%th+aw/kw=rd&<ch>ars${}~;9!zQ"
PLAIN = "sk-proj-Canary_0123456789-abcdefghijkLMNOP"
GOOD = Reply("^^^a.txt\nnew\n^^^end\n")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "made")


_RAISE = """
import os
from code_commit.plugin_api import *
KEY = os.environ["OPENAI_API_KEY"]

def fail():
    try:
        raise KeyError(KEY)
    except KeyError as error:
        raise {error}(f"a plugin tells all: {{KEY}} {{KEY!r}} {{KEY.encode().hex()}}") from error

"""
PLUGINS = {
    "import": "fail()",
    "providers": "@hookimpl\ndef code_commit_providers(): fail()",
    "workflows": "@hookimpl\ndef code_commit_workflows(): fail()",
    "addhooks": "@hookimpl\ndef code_commit_addhooks(pluginmanager): fail()",
    "settings": (
        "@hookimpl\ndef code_commit_settings(): fail()\n"
        # A plugin whose settings a run needs.
        "@hookimpl\ndef code_commit_log_sinks(settings): return []"
    ),
    "sink hook": "@hookimpl\ndef code_commit_log_sinks(settings): fail()",
    "sink": (
        "class Sink:\n    def receive(self, record): fail()\n    def close(self): fail()\n"
        "@hookimpl\ndef code_commit_log_sinks(settings): return [Sink()]"
    ),
    "sink close": (
        "class Sink:\n    def receive(self, record): pass\n    def close(self): fail()\n"
        "@hookimpl\ndef code_commit_log_sinks(settings): return [Sink()]"
    ),
    "rule hook": "@hookimpl\ndef code_commit_path_rules(settings): fail()",
    "rule": (
        "class Rule:\n    name = 'telling'\n    def judge(self, changes, tree): fail()\n"
        "@hookimpl\ndef code_commit_path_rules(settings): return [Rule()]"
    ),
    "rule reason": (
        "class Rule:\n    name = 'telling'\n"
        "    def judge(self, changes, tree):\n"
        "        return [Refusal(changes[0].path, 'telling', f'not with {KEY}', then='repair')]\n"
        "@hookimpl\ndef code_commit_path_rules(settings): return [Rule()]"
    ),
    "provider": (
        "from code_commit_testing.scripted_provider import SCRIPTED, ScriptedConfig\n"
        "from dataclasses import replace\n"
        "class Telling:\n    def complete(self, call): fail()\n    def close(self): fail()\n"
        "def provider_of(config): return Telling()\n"
        "@hookimpl\n"
        "def code_commit_providers(): return [replace(SCRIPTED, factory='telling_plugin:provider_of')]"
    ),
    "provider error": (
        "from code_commit_testing.scripted_provider import SCRIPTED, ScriptedConfig\n"
        "from dataclasses import replace\n"
        "class Telling:\n"
        "    def complete(self, call): raise ProviderError(f'bad: {KEY}', kind='server', body=KEY)\n"
        "    def close(self): pass\n"
        "def provider_of(config): return Telling()\n"
        "@hookimpl\n"
        "def code_commit_providers(): return [replace(SCRIPTED, factory='telling_plugin:provider_of')]"
    ),
    "provider factory": (
        "from code_commit_testing.scripted_provider import SCRIPTED, ScriptedConfig\n"
        "from dataclasses import replace\n"
        "def provider_of(config): fail()\n"
        "@hookimpl\n"
        "def code_commit_providers(): return [replace(SCRIPTED, factory='telling_plugin:provider_of')]"
    ),
}
WORKFLOW = """
def run(run):
    {body}

@hookimpl
def code_commit_workflows():
    flag = Flag(("--tell",), "tell all", selects=True)
    return [WorkflowDefinition(name="telling", help="tells", flags=(flag,), run="telling_plugin:run", {more})]
"""
WORKFLOWS = {
    "raises": ("fail()", ""),
    "raises in a span": ("with run.span('telling.span', key=KEY): fail()", ""),
    "ends with a wrong error": ("raise NotReady(f'no {KEY}', hint=f'try {KEY!r}')", ""),
    "exits": ("raise SystemExit(KEY)", ""),
    "gives a result": (
        "return Result(Outcome.NOT_REACHED, f'sum: {KEY}', {KEY: [KEY], 'hex': KEY.encode().hex()})",
        "",
    ),
    "gives no result": ("return KEY", ""),
    "says and keeps": (
        "run.say(KEY); run.say(KEY.encode().hex()); run.keep('a.txt', KEY); run.keep('b.bin', KEY.encode() * 2); return",
        "",
    ),
    "emits": (
        "run.emit(MessageLogged(KEY, level='warning')); return Result(Outcome.REACHED, KEY)",
        "",
    ),
    "keeps under its name": ("run.keep(KEY + '.txt', 'x')", ""),
    "has broken options": ("pass", "options='telling_plugin:fail'"),
    "has no root": ("pass", "root='telling_plugin:absent'"),
    "fails in its root": ("pass", "root='telling_plugin:no_root'"),
}
_NO_ROOT = "\ndef no_root(options, ask=None): fail()\n"


def telling(
    tmp_path: Path, code: str, error: str = "RuntimeError", group: str = "code_commit"
) -> list[Path]:
    return [
        install_plugin(
            tmp_path / "plugins", "telling", _RAISE.format(error=error) + code, group=group
        )
    ]


@pytest.mark.parametrize("name", PLUGINS)
def test_a_key_in_an_error_of_a_plugin_is_redacted(run, tmp_path, name) -> None:
    guards = name.startswith("rule")
    plugins = telling(
        tmp_path, PLUGINS[name], group="code_commit.path_rules" if guards else "code_commit"
    )
    arguments = [
        "--model",
        "scripted" if name.startswith("provider ") or name == "provider" else "gpt-5",
        "--repairs=0",
    ]
    with ScriptedServer([GOOD]) as server:
        finished = run(
            KEY, *arguments, "--debug", "--json", server=server, plugins=plugins, cwd=None
        )
    assert finished.exit_code in {0, 2, 3, 4, 5, 70}
    assert "***zQ" in finished.stdout + finished.stderr


@pytest.mark.parametrize("name", ["import", "providers", "workflows"])
def test_commands_redact_errors_of_plugins(run, tmp_path, name) -> None:
    plugins = telling(tmp_path, PLUGINS[name], error="ValueError")
    for arguments in (["plugins"], ["plugins", "--json"], ["models"], ["--help"], ["config"]):
        finished = run(KEY, *arguments, plugins=plugins)
        assert finished.exit_code == 0
        # `config` shows the key.
        assert ("***zQ" in finished.stdout) == (arguments[0] in {"plugins", "config"})


def test_the_key_of_a_plugin_that_fails_to_load_is_redacted(
    run, project, tmp_path, key_traces
) -> None:
    code = (
        _RAISE.replace("OPENAI_API_KEY", "TELLING_API_KEY").format(error="RuntimeError") + "fail()"
    )
    plugins = [install_plugin(tmp_path / "plugins", "telling", code)]
    second = "other-" + KEY
    environ = {"TELLING_API_KEY": second}
    with ScriptedServer([GOOD]) as server:
        finished = run(
            PLAIN, "--model", "gpt-5", "--json", server=server, plugins=plugins, environ=environ
        )
    assert (finished.exit_code, key_traces(project, finished, second)) == (0, {})
    listed = run(PLAIN, "plugins", plugins=plugins, environ=environ)
    assert ("***zQ" in listed.stdout, key_traces(project, listed, second)) == (True, {})


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_that_prints_the_key_is_redacted(run, tmp_path, name) -> None:
    body, more = WORKFLOWS[name]
    plugins = telling(tmp_path, WORKFLOW.replace("{body}", body).replace("{more}", more) + _NO_ROOT)
    finished = run(KEY, "--tell", "--debug", "--json", plugins=plugins)
    assert finished.exit_code in {0, 1, 2, 3, 70}
    assert finished.events[-1]["kind"] == "run.finished"
    assert finished.events[-1]["data"]["exit_code"] == finished.exit_code
    plain = run(KEY, "--tell", plugins=plugins)
    assert plain.exit_code == finished.exit_code
