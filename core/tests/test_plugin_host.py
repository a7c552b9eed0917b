"""One broken plugin is reported and left out; the others are heard, and the command lives."""

from __future__ import annotations

import signal
from importlib.util import find_spec

import pytest

from code_commit.plugins.discovery import discover
from code_commit.plugins.host import PluginHost
from code_commit_testing import install_plugin

needs_commit = pytest.mark.skipif(
    find_spec("code_commit_commit") is None, reason="needs the default workflow"
)
PROVIDER = """
from code_commit.plugin_api import ProviderDefinition, hookimpl


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "{name}",
            {{"{model}": ["{alias}"]}},
            "https://{name}.example/v1",
            None,
            None,
            ("authorization", "Bearer {{key}}"),
            "nowhere:Config",
            "nowhere:Wire",
        )
    ]
"""
WORKFLOW = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "{name}", "a workflow", (Flag(("{flag}",), "a flag", selects=True),), "nowhere:run"
        )
    ]
"""
COMMAND = """
from code_commit.plugin_api import CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("{name}", "a command", "nowhere:run")]
"""
HOOK = "from code_commit.plugin_api import hookimpl\n@hookimpl\n"  # before a function
GOOD = PROVIDER.format(name="good", model="good-1", alias="goody")
BROKEN = {
    "an import that fails": ("import missing_module", "import", "ModuleNotFoundError"),
    "an exit at import": ("raise SystemExit(3)", "import", "SystemExit: 3"),
    "what only asyncio raises": (
        "import asyncio\nraise asyncio.CancelledError",
        "import",
        "CancelledError",
    ),
    "an error without words": (
        "class Mute(Exception):\n    def __str__(self):\n        raise TypeError\nraise Mute",
        "import",
        "Mute",
    ),
    "a provider with a wrong name": (
        PROVIDER.format(name="Up/And.Away", model="m", alias="n"),
        "provider",
        "`name` must be lower-case letters",
    ),
    "a provider whose models are None": (
        PROVIDER.format(name="p", model="m", alias="n").replace('{"m": ["n"]}', "None"),
        "provider",
        "`models` must be a mapping",
    ),
    "an alias that is a text, not a list": (
        PROVIDER.format(name="p", model="m", alias="n").replace('["n"]', '"n"'),
        "provider",
        "`models` must be a mapping",
    ),
    **{
        f"the key header {header}": (
            PROVIDER.format(name="p", model="m", alias="n").replace(
                '("authorization", "Bearer {key}")', header
            ),
            "provider",
            "`key_header` must be the header's name and a template with {key}, not ",
        )
        for header in (
            '("a",)',
            '("a", "{other}")',
            '("a", "{key.x}")',
            '("a", "{0}")',
            '("a", "{key}", "b")',
            '("a", 1)',
            '("a", "{key")',
            '("a", "")',
            "None",
        )
    },
    "a workflow without flags": (
        WORKFLOW.format(name="w", flag="--w").replace(
            '(Flag(("--w",), "a flag", selects=True),)', "None"
        ),
        "workflow",
        "`flags` must be a tuple",
    ),
    "a workflow with a name of bytes": (
        WORKFLOW.format(name="w", flag="--w").replace('"w",', 'b"w",'),
        "workflow",
        "`name` must be a text, not b'w'",
    ),
    "a workflow without help": (
        WORKFLOW.format(name="w", flag="--w").replace('"a workflow"', "None"),
        "workflow",
        "`help` must be a text, not None",
    ),
    "a text for a tuple of texts": (
        WORKFLOW.format(name="w", flag="--w").replace(
            '"nowhere:run"', '"nowhere:run", roles="coach"'
        ),
        "workflow",
        "`roles` must be a tuple of texts, or None, not 'coach'",
    ),
    "a number among texts": (
        WORKFLOW.format(name="w", flag="--w").replace(
            '"nowhere:run"', '"nowhere:run", ignores=("a", 1)'
        ),
        "workflow",
        "`ignores` must be a tuple of texts, not (1,)",
    ),
    "a flag with a number for its metavar": (
        WORKFLOW.format(name="w", flag="--w").replace("selects=True", "1"),
        "workflow",
        "`flags` must be a tuple",
    ),
    "a switch that is a text": (
        WORKFLOW.format(name="w", flag="--w").replace(
            '"nowhere:run"', '"nowhere:run", writes="no"'
        ),
        "workflow",
        "`writes` must be True or False, not 'no'",
    ),
    "a command of three words": (
        COMMAND.format(name="one two three"),
        "command",
        "`name` must be one word or two",
    ),
    "a very long fault": (
        COMMAND.format(name="c").replace('"a command"', "['x' * 200]"),
        "command",
        f"`help` must be a text, not ['{'x' * 98}",
    ),
    "a flag without dashes": (
        WORKFLOW.format(name="w", flag="w"),
        "workflow",
        "`flags` must be a tuple",
    ),
    "an error that is no Exception": (
        "class Odd(BaseException): pass\nraise Odd('x')",
        "import",
        "Odd: x",
    ),
    "an error of two lines": ("raise ValueError('a\\nb')", "import", "ValueError: a b"),
    "the name of the host's workflow": (
        (
            "from code_commit.plugin_api import WorkflowDefinition\n"
            + HOOK
            + "def code_commit_workflows():\n"
            + "    return [WorkflowDefinition('committing-code', 'h', (), 'a:b')]"
        ),
        "workflow",
        "claimed by",
    ),
    "a hook that raises": (
        HOOK + "def code_commit_providers():\n    raise KeyError('x')",
        "code_commit_providers",
        "KeyError: 'x'",
    ),
    "a generator that raises later": (
        HOOK + "def code_commit_providers():\n    yield 1\n    1 / 0",
        "code_commit_providers",
        "ZeroDivisionError",
    ),
    "a hook that gives something else": (
        HOOK + "def code_commit_providers():\n    return ['text']",
        "provider",
        "must be a ProviderDefinition, not a str",
    ),
    "a misspelled hook": (
        HOOK + "def code_commit_provider():\n    return []",
        "code_commit_provider",
        "did you mean code_commit_providers?",
    ),
    "a hook without its marker": (
        "def code_commit_providers():\n    return []",
        "code_commit_providers",
        "not marked with @hookimpl",
    ),
    "an argument that the hook has not": (
        HOOK + "def code_commit_providers(nonsense):\n    return []",
        "code_commit_providers",
        "nonsense",
    ),
    "an argument that another hook has": (
        HOOK + "def code_commit_model_layers(run):\n    return []",
        "code_commit_model_layers",
        "possible arguments: settings, secret",
    ),
    "an argument of a hook that has none": (
        HOOK + "def code_commit_secrets(settings):\n    return []",
        "code_commit_secrets",
        "possible arguments: nothing",
    ),
}


def test_broken_plugins_are_reported_and_the_next_one_works(project, tmp_path):
    for number, (code, _, _) in enumerate(BROKEN.values()):
        plugins = install_plugin(tmp_path / "plugins", f"bad{number}", code)
    install_plugin(plugins, "good", GOOD)
    listed = project.command("plugins", "--json", plugins=[plugins]).document
    for number, (name, (_, stage, error)) in enumerate(BROKEN.items()):
        failed = [failure for failure in listed["failures"] if failure["plugin"] == f"bad{number}"]
        assert [(failure["distribution"], failure["stage"]) for failure in failed] == [
            (f"code-commit-bad{number}", stage)
        ], name
        assert error in failed[0]["error"]
    assert ["good"] in [plugin["providers"] for plugin in listed["plugins"]]
    assert project.command("--help", plugins=[plugins]).exit_code == 0


def test_a_plugin_that_prints_does_not_spoil_the_json(project, tmp_path):
    loud = "import os\nprint('hello')\nos.write(1, b'raw')\nos.system('echo program')\n"
    plugins = install_plugin(tmp_path / "plugins", "loud", loud + GOOD)
    finished = project.command("plugins", "--json", plugins=[plugins])
    assert finished.document["failures"] == []
    assert {"hello", "raw", "program"} <= set(finished.stderr.replace("raw", "raw\n").split())


@pytest.mark.slow
def test_a_plugin_that_leaves_the_folder_leaves_it_alone(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "away", "import os\nos.chdir('/')\n" + GOOD)
    assert project.command("runs", "path", plugins=[plugins]).exit_code == 3
    project.write({"agent-config/config.toml": "max_cost = true\n"})
    finished = project.command("config", plugins=[plugins])
    assert (finished.exit_code, "agent-config/config.toml" in finished.stderr) == (3, True)


def test_an_import_that_never_ends_can_be_ended_and_is_named(project, tmp_path):
    stuck = "import sys, time\nsys.stderr.write('stuck\\n')\nsys.stderr.flush()\ntime.sleep(600)\n"
    plugins = install_plugin(tmp_path / "plugins", "stuck", stuck)
    with project.start("--help", plugins=[plugins]) as process:
        assert process.stderr.readline() == b"stuck\n"
        process.send_signal(signal.SIGINT)
        _, error_output = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"plugin stuck of code-commit-stuck" in error_output
    assert b"--disable-plugin stuck" in error_output
    assert project.command("--help", "--disable-plugin", "stuck", plugins=[plugins]).exit_code == 0


def test_two_distributions_with_one_plugin_name_are_both_left_out_and_named(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "same", GOOD, distribution="one-dist")
    second_folder = install_plugin(tmp_path / "others", "same", GOOD, distribution="two-dist")
    listed = project.command("plugins", "--json", plugins=[plugins, second_folder]).document
    errors = {failure["distribution"]: failure["error"] for failure in listed["failures"]}
    assert set(errors) == {"one-dist", "two-dist"}
    assert all("one-dist and two-dist" in error for error in errors.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "kind"),
    [
        (PROVIDER.format(name="good", model="other", alias="else"), "provider"),
        (PROVIDER.format(name="other", model="good-1", alias="else"), "model"),
        (PROVIDER.format(name="other", model="else", alias="goody"), "model"),
    ],
)
def test_a_name_that_two_claim_is_an_error_that_names_both_when_asked_for(
    project, tmp_path, second, kind
):
    plugins = install_plugin(tmp_path / "plugins", "first", GOOD)
    install_plugin(plugins, "second", second)
    model = {"provider": "good/x", "model": "good-1"}[kind] if "goody" not in second else "goody"
    finished = project.command("--model", model, plugins=[plugins])
    assert finished.exit_code == 2
    assert "claimed by code-commit-first and code-commit-second" in finished.stderr
    assert project.command("--help", plugins=[plugins]).exit_code == 0


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("flag", "other", "error"),
    [
        ("--model", "--two", "a flag of the host"),
        ("--one", "--one", "claimed by code-commit-first and code-commit-second"),
    ],
)
def test_a_flag_has_one_owner(project, tmp_path, flag, other, error):
    plugins = install_plugin(
        tmp_path / "plugins", "first", WORKFLOW.format(name="first", flag=flag)
    )
    install_plugin(plugins, "second", WORKFLOW.format(name="second", flag=other))
    listed = project.command("plugins", "--json", plugins=[plugins]).document
    assert any(error in failure["error"] for failure in listed["failures"])
    assert project.command("--help", plugins=[plugins]).exit_code == 0


def test_a_disabled_plugin_is_not_imported(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "bad", "raise RuntimeError")
    listed = project.command(
        "plugins", "--json", "--disable-plugin", "bad", plugins=[plugins]
    ).document
    assert listed["failures"] == []
    assert listed["disabled"] == ["bad"]
    unknown = project.command("plugins", "--disable-plugin=bda", plugins=[plugins])
    assert (unknown.exit_code, "did you mean bad?" in unknown.stderr) == (2, True)


def test_a_plugin_may_declare_hooks_that_others_implement(tmp_path, monkeypatch):
    declaring = """
import pluggy
from code_commit.plugin_api import hookimpl

class Specs:
    @pluggy.HookspecMarker("code_commit")
    def code_commit_tools(self, settings):
        "Tools."

@hookimpl
def code_commit_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Specs)
"""
    using = """
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_tools(settings):
    yield settings + "-hammer"
"""
    folder = install_plugin(tmp_path, "zdeclares", declaring)
    install_plugin(folder, "auses", using)
    monkeypatch.syspath_prepend(str(folder))
    host = PluginHost(discover([str(folder)]))
    assert host.failures == []
    tools = host.collect("code_commit_tools", {"settings": lambda plugin: plugin.name})
    assert [(plugin.distribution, tool) for plugin, tool in tools] == [
        ("code-commit-auses", "auses-hammer")
    ]


@pytest.mark.slow
def test_a_flag_of_a_plugin_that_fails_names_the_plugin_and_its_error(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "wrong", "import nothing_here")
    finished = project.command("--wrong", plugins=[plugins])
    assert finished.exit_code == 2
    assert (
        "the plugin wrong of code-commit-wrong 1.0 failed (import): ModuleNotFoundError"
        in finished.stderr
    )
    assert "plugins that failed: wrong;" in project.command("--help", plugins=[plugins]).stdout
    assert "plugins that failed" not in project.command("--help").stdout


@pytest.mark.slow
def test_a_flag_that_two_claim_names_both(project, tmp_path):
    plugins = install_plugin(
        tmp_path / "plugins", "one", WORKFLOW.format(name="one", flag="--look")
    )
    install_plugin(plugins, "two", WORKFLOW.format(name="two", flag="--look"))
    finished = project.command("--look", plugins=[plugins])
    assert finished.exit_code == 2
    assert "claimed by code-commit-one and code-commit-two" in finished.stderr
    assert "--disable-plugin code-commit-one" in finished.stderr


@pytest.mark.slow
def test_a_flag_of_a_malformed_workflow_names_its_fault(project, tmp_path):
    code = WORKFLOW.format(name="odd", flag="--odd").replace('"nowhere:run"', "7")
    finished = project.command("--odd", plugins=[install_plugin(tmp_path / "plugins", "bad", code)])
    assert finished.exit_code == 2
    assert (
        "the plugin bad of code-commit-bad 1.0 failed (workflow): `run` must be a text"
        in finished.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "model"),
    [
        (GOOD.replace("code_commit_providers", "code_commit_provider"), "goody"),
        ("raise ValueError('broken')", "acme-large"),
        (GOOD.replace("good-1", "acme-1").replace("None,", "7,"), "goody"),
    ],
)
def test_a_model_of_a_provider_that_fails_names_the_plugin(project, tmp_path, code, model):
    plugins = install_plugin(tmp_path / "plugins", "acme", code)
    # Its models are known: these are none of them.
    install_plugin(plugins, "gemini", "import nothing_here")
    finished = project.command("--model", model, plugins=[plugins])
    assert finished.exit_code == 2
    assert "the plugin acme of code-commit-acme 1.0 failed" in finished.stderr
    assert "the plugin gemini" not in finished.stderr


@pytest.mark.slow
def test_a_plugin_name_that_two_claim_is_named_when_a_model_of_it_is_asked_for(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "openai", GOOD)
    stranger = install_plugin(tmp_path / "other", "openai", GOOD, distribution="stranger")
    for model in ("gpt-5", "openai/gpt-5"):
        finished = project.command("--model", model, plugins=[plugins, stranger])
        assert finished.exit_code == 2
        assert "'openai' is claimed by code-commit-openai and stranger" in finished.stderr
        assert "--disable-plugin stranger" in finished.stderr


@pytest.mark.fast_rows(1)
@needs_commit
@pytest.mark.parametrize(
    ("plugin", "code"),
    [
        ("commit", WORKFLOW.format(name="own", flag="--own")),
        ("own", WORKFLOW.format(name="committing-code", flag="--own")),
        ("own", WORKFLOW.format(name="own", flag="--query")),
    ],
)
def test_the_default_workflow_cannot_be_taken_away(project, tmp_path, plugin, code):
    plugins = install_plugin(tmp_path / "plugins", plugin, code, distribution="stranger")
    listed = project.command("plugins", "--json", plugins=[plugins]).document
    assert ["committing-code"] in [plugin["workflows"] for plugin in listed["plugins"]]
    assert [failure["distribution"] for failure in listed["failures"]] == ["stranger"]
    assert "claimed by code-commit-commit" in listed["failures"][0]["error"]
    if "--own" in code:
        finished = project.command("--own", plugins=[plugins])
        assert (finished.exit_code, "code-commit-commit and stranger" in finished.stderr) == (
            2,
            True,
        )


@needs_commit
def test_what_a_disabled_plugin_offers_is_denied_by_that_name(project):
    finished = project.command("--disable-plugin", "commit", "--query", "x")
    assert finished.exit_code == 2
    assert "--disable-plugin commit disables" in finished.stderr


@pytest.mark.fast_rows(1)
@needs_commit
@pytest.mark.parametrize("name", ["rollup", "plugins"])
def test_a_command_of_the_first_party_cannot_be_taken_away(project, tmp_path, name):
    plugins = install_plugin(tmp_path / "plugins", "taker", COMMAND.format(name=name))
    assert project.command(name, "--help", plugins=[plugins]).exit_code == 0
    listed = project.command("plugins", "--json", plugins=[plugins]).document
    assert [(failure["plugin"], failure["stage"]) for failure in listed["failures"]] == [
        ("taker", "command")
    ]
