"""`code-commit check PATH`: whether a response may change paths."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

RULE = """
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_path_rules(settings):
    {body}
"""


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import missing", "(import): ModuleNotFoundError"),
        (
            RULE.format(body="raise ValueError('no rules')"),
            "(code_commit_path_rules): ValueError: no rules",
        ),
        (
            RULE.format(body="return [object()]"),
            "(code_commit_path_rules): object.judge is missing",
        ),
    ],
)
def test_a_broken_plugin_with_path_rules_stops_check_as_it_stops_a_run(
    project, tmp_path, code, words
):
    plugins = install_plugin(tmp_path / "plugins", "guard", code, group="code_commit.path_rules")
    finished = project.command("check", "a.txt", plugins=[plugins])
    assert (finished.exit_code, finished.stdout) == (3, "")
    assert (
        f"the plugin guard of code-commit-guard has path rules and is broken {words}"
        in finished.stderr
    )
    assert "run with --disable-plugin guard" in finished.stderr
    for arguments in (
        ("check", "a.txt", "--disable-plugin", "guard"),
        ("check", "--read", "a.txt"),
    ):
        finished = project.command(*arguments, plugins=[plugins])
        assert (finished.exit_code, finished.stdout) == (0, "a.txt: allowed\n"), finished.stderr


def test_check_names_a_broken_configuration_before_the_plugin_that_it_breaks(project, tmp_path):
    project.write({"agent-config/config.toml": "no = toml = here\n"})
    plugins = install_plugin(
        tmp_path / "plugins", "guard", RULE.format(body="return []"), group="code_commit.path_rules"
    )
    finished = project.command("check", "a.txt", plugins=[plugins])
    assert (finished.exit_code, "is broken" in finished.stderr) == (3, False)
    assert "agent-config/config.toml" in finished.stderr


@pytest.mark.parametrize("flag", [(), ("--read",), ("--keys",)])
def test_a_path_may_begin_with_a_dot_and_slashes(project, flag):
    finished = project.command("check", *flag, "./a.txt", ".//a.txt", "a.txt")
    words = "no key" if flag == ("--keys",) else "allowed"
    assert finished.stdout == "".join(
        f"{path}: {words}\n" for path in ("./a.txt", ".//a.txt", "a.txt")
    )
