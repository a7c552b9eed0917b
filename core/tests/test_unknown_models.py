"""A model that nobody offers is a usage error before anything is done, however its name is written."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

PROVIDER = """
from code_commit.plugin_api import ProviderDefinition, hookimpl

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("{name}", {{"shared/x": (), "{name}-1": ()}}, "", None, None, ("a", "{{key}}"), "x:y", "x:y")]
"""


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made")


@pytest.fixture
def plugins(tmp_path):
    folder = install_plugin(tmp_path / "plugins", "odd", PROVIDER.format(name="odd"))
    return [install_plugin(folder, "shared", PROVIDER.format(name="shared"))]


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize("name", ["nope/x", "odd", "odd.nope", "nope", "odd/", "/odd-1", "nope.default", "odd-11"])
def test_a_name_that_nobody_offers(project, plugins, name):
    finished = project.command("--model", name, "--query", "q", plugins=plugins)
    assert finished.exit_code == 2, finished.stderr
    assert "error: there is no " in finished.stderr
    assert not (project.root / "logs").exists()


@pytest.mark.slow
def test_a_name_that_two_offer_is_not_taken_for_any_model_of_a_provider(project, plugins):
    finished = project.command("--model", "shared/x", "--query", "q", plugins=plugins)
    assert finished.exit_code == 2
    assert "claimed by code-commit-odd and code-commit-shared" in finished.stderr
