"""`code-commit plugins` and `code-commit config`: every field of what they list, for programs and
for people.
"""

from __future__ import annotations

import pytest

from code_commit_testing import install_plugin

MANY = """
from code_commit.plugin_api import (
    CommandDefinition,
    Flag,
    ProviderDefinition,
    WorkflowDefinition,
    hookimpl,
)


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(name, {}, "", None, None, ("a", "{key}"), "x:y", "x:y")
        for name in ("beta", "alpha")
    ]


@hookimpl
def code_commit_workflows():
    return [WorkflowDefinition("idle", "idle", (Flag(("--idle",), "idle", selects=True),), "x:y")]


@hookimpl
def code_commit_commands():
    return [CommandDefinition("go", "goes", "x:y")]


@hookimpl
def code_commit_path_rules(settings):
    return []


@hookimpl
def code_commit_model_layers(settings):
    return []


@hookimpl
def code_commit_log_sinks(settings):
    return []


@hookimpl
def code_commit_after_run(run):
    return None


@hookimpl
def code_commit_checks():
    return []
"""
HOOKS = (
    "after_run",
    "checks",
    "commands",
    "log_sinks",
    "model_layers",
    "path_rules",
    "providers",
    "workflows",
)
GUARD = "code_commit.path_rules"


@pytest.fixture
def plugins(tmp_path):
    folder = install_plugin(
        tmp_path / "plugins", "many", MANY, version="2.5", group=GUARD, distribution="many-dist"
    )
    install_plugin(folder, "few", "")
    install_plugin(folder, "left", "")
    install_plugin(folder, "bad", "raise ValueError('sk-key-in-an-error')", group=GUARD)
    wrong = install_plugin(folder, "wrong", "")
    (wrong / "code_commit_wrong-1.0.dist-info/entry_points.txt").write_text(
        "[code_commits]\nx = y\n"
    )
    return [folder]


def test_what_a_plugin_offers_and_what_failed_is_listed(project, plugins) -> None:
    words = ("plugins", "--disable-plugin", "left", "--disable-plugin", "code-commit-few")
    environ = {"SOME_TOKEN": "sk-key-in-an-error"}
    document = project.command(*words, "--json", plugins=plugins, environ=environ).document
    assert document["disabled"] == ["code-commit-few", "left"]
    rows = {row["name"]: row for row in document["plugins"]}
    assert rows["many"] == {
        "name": "many",
        "distribution": "many-dist",
        "version": "2.5",
        "guards_paths": True,
        "providers": ["alpha", "beta"],
        "workflows": ["idle"],
        "commands": ["go"],
        "hooks": [f"code_commit_{hook}" for hook in HOOKS],
    }
    assert not {"few", "left", "bad", "code-commit"} & rows.keys()
    bad = {"plugin": "bad", "distribution": "code-commit-bad", "version": "1.0", "claimants": []}
    wrong = {
        "plugin": "wrong",
        "distribution": "code-commit-wrong",
        "version": "1.0",
        "claimants": [],
    }
    group = "there is no group code_commits; did you mean code_commit?"
    assert document["failures"] == [
        {**bad, "stage": "import", "error": "ValueError: ***or", "guards_paths": True},
        {**wrong, "stage": "entry points", "error": group, "guards_paths": False},
    ]
    lines = project.command(*words, plugins=plugins, environ=environ).stdout.splitlines()
    cells = [line.split(maxsplit=3) for line in lines]
    offers = "provider alpha, provider beta, workflow idle, command go, path rules, model layers, log sinks, after run"
    assert ["many", "many-dist", "2.5", offers] in cells
    assert cells[-2:] == [
        ["bad", "code-commit-bad", "1.0", "FAILED at import: ValueError: ***or"],
        ["wrong", "code-commit-wrong", "1.0", f"FAILED at entry points: {group}"],
    ]


SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers"


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("model", "key", "row"),
    [
        ("scripted", {"config": "scripted.default"}, ["key", "of", "scripted.default", "null", "none is needed"]),
        ("no-such", {"problem": "there is no model 'no-such'"}, ["key", "null", "there", "is", "no model 'no-such'"]),
        ("gpt-5", {"problem": "no key for openai.default at https://api.openai.com/v1"},
         ["key", "null", "no", "key", "for openai.default at https://api.openai.com/v1"]),
    ],
)  # fmt: skip
def test_config_says_which_key_a_run_would_use(project, tmp_path, model, key, row) -> None:
    options = {
        "plugins": [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)],
        "environ": {"CODE_COMMIT_MODEL": model},
    }
    project.write({"agent-config/config.toml": '[providers.scripted.other]\nmodel = "größe"\n'})
    document = project.command("config", "--json", **options).document
    assert document["key"] == {"config": None, "key": None, "source": None, "problem": None, **key}
    *rows, last = project.command("config", **options).stdout.splitlines()
    assert last.split(maxsplit=4) == row
    place = "agent-config/config.toml"
    assert ["providers.scripted.other.model", '"größe"', place] in [line.split() for line in rows]


@pytest.mark.slow
def test_config_shows_values_as_json_and_where_they_come_from(project) -> None:
    project.write({"agent-config/config.toml": 'model = "größe"\nsandbox.network = false\n'})
    lines = project.command("config").stdout.splitlines()
    cells = {line.split()[0]: line.split()[1:] for line in lines}
    assert cells["model"] == ['"größe"', "agent-config/config.toml"]
    assert cells["sandbox.network"] == ["false", "agent-config/config.toml"]
    assert cells["max_cost"] == ["null", "default"]
    assert cells["sandbox.writable"] == ["[]", "default"]
    rows = {row["name"]: row for row in project.command("config", "--json").document["settings"]}
    assert rows["stop_early"] == {
        "name": "stop_early",
        "value": False,
        "origin": "default",
        "description": "Stop a streamed reply as soon as its text cannot be used any more.",
    }


@pytest.mark.slow
def test_an_entry_point_that_is_no_text_breaks_its_plugin_alone(project, tmp_path):
    folder = install_plugin(tmp_path / "plugins", "odd", "")
    [entry_points] = folder.glob("*.dist-info/entry_points.txt")
    entry_points.write_bytes(b"[code_commit]\nodd = odd_\xff\n")
    listed = project.command("plugins", plugins=[folder])
    assert listed.exit_code == 0, listed.stderr
    assert "code-commit-odd" in listed.stdout
    assert "FAILED at import" in listed.stdout
    assert project.command("--help", plugins=[folder]).exit_code == 0


@pytest.mark.slow
def test_a_distribution_without_a_name_stops_no_examination(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "odd", "x = 1\n")
    (info_folder,) = plugins.glob("*.dist-info")
    (info_folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nVersion: 1\nRequires-Dist: code-commit\n"
    )
    (info_folder / "entry_points.txt").unlink()
    finished = project.command("plugins", plugins=[plugins])
    assert (finished.exit_code, finished.stderr) == (0, "")
    doctor = project.command("plugins", "doctor", plugins=[plugins])
    assert (doctor.exit_code, "no entry point" in doctor.stdout + doctor.stderr) == (1, True)
