"""A plugin that needs a newer host is left out, and named; a name that was renamed warns."""

from __future__ import annotations

import importlib

import pytest

from code_commit import __version__, plugin_api
from code_commit_testing import install_plugin

MAJOR, MINOR = plugin_api.API
NEWER = f"{MAJOR}.{MINOR + 1}"
HELLO = """
from code_commit.plugin_api import CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("hello{0}", "Say hello", run="hello{0}_plugin:run")]

def run(host, arguments):
    host.out.line("hello")
    return 0
"""
NEEDED = {
    f"code-commit>={NEWER}": True,
    f"code-commit[testing] (>={NEWER}.3)": True,
    f"Code.Commit ~= {NEWER}": True,
    f"code-commit<99,>={MAJOR + 1}": True,
    f"code-commit>={MAJOR}.{MINOR}.999": False,  # a patch adds no name
    f"code-commit>={MAJOR}.{MINOR},<99": False,
    f"code-commit-toolbox>={NEWER}": False,
    f"code-commit>={NEWER}; extra == 'more'": False,
    f"other>={NEWER}": False,
}


def install(folder, name, code, needed, **where):
    install_plugin(folder, name, code, **where)
    [metadata] = folder.glob(f"code_commit_{name}-*.dist-info/METADATA")
    metadata.write_text(f"{metadata.read_text()}Requires-Dist: {needed}\n")


def test_the_api_is_the_first_two_numbers_of_the_version():
    assert __version__.startswith(f"{MAJOR}.{MINOR}.")


def test_a_plugin_that_needs_a_newer_host_is_left_out_and_named(project, tmp_path):
    for number, needed in enumerate(NEEDED):
        install(tmp_path / "plugins", f"hello{number}", HELLO.format(number), needed)
    listed = project.command("plugins", "--json", plugins=[tmp_path / "plugins"]).document
    plugins = {plugin["name"] for plugin in listed["plugins"]}
    for number, (needed, newer) in enumerate(NEEDED.items()):
        assert (f"hello{number}" not in plugins) == newer, needed
    first, *_ = (failure for failure in listed["failures"] if failure["plugin"] == "hello0")
    assert first["error"] == f"it needs code-commit >={NEWER}, and {__version__} is installed"
    assert len([failure for failure in listed["failures"] if failure["plugin"] == "hello0"]) == 1
    asked_for = project.command("hello0", plugins=[tmp_path / "plugins"])
    assert asked_for.exit_code == 2
    assert f"code-commit-hello0 1.0 failed (version): {first['error']}" in asked_for.stderr
    assert project.command("hello5", plugins=[tmp_path / "plugins"]).stdout == "hello\n"


def test_without_the_rule_of_a_newer_plugin_nothing_is_written(project, tmp_path):
    group = "code_commit.path_rules"
    install(tmp_path / "plugins", "guard", "", f"code-commit>={NEWER}", group=group)
    finished = project.command(
        *("--model", "gpt-5", "--query", "Change it."),
        environ={"OPENAI_API_KEY": "a key for a test"},
        plugins=[tmp_path / "plugins"],
    )
    assert finished.exit_code == 3
    assert "code-commit-guard" in finished.stderr
    assert f"it needs code-commit >={NEWER}" in finished.stderr


@pytest.mark.parametrize("module", ["code_commit.plugin_api", "code_commit_workspace"])
def test_an_old_name_works_and_names_the_new_one(monkeypatch, module):
    package = importlib.import_module(module)
    monkeypatch.setitem(package._RENAMED, "Alteration", ("Change", NEWER))
    warning = rf"{module}\.Alteration is now Change; code-commit {NEWER} will not have"
    with pytest.warns(DeprecationWarning, match=warning) as warned:
        assert package.Alteration is package.Change
    assert warned[0].filename == __file__
    assert "Alteration" not in dir(package)


@pytest.mark.parametrize("module", ["code_commit.plugin_api", "code_commit_workspace"])
def test_old_names_are_taken_away_in_time(module):
    package = importlib.import_module(module)
    for old, (new, gone_in) in package._RENAMED.items():
        assert old not in dir(package)
        assert new in dir(package)
        major, minor = map(int, gone_in.split("."))
        assert (major, minor) > plugin_api.API, f"{module}.{old}: take it away"
