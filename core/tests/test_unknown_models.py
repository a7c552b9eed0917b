"""A model that nobody offers is a usage error before anything is done, however its name is
written.
"""

from __future__ import annotations

from code_commit_testing import install_plugin

PROVIDER = """
from code_commit.plugin_api import ProviderDefinition, hookimpl


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "{name}",
            {{"shared/x": (), "{name}-1": ()}},
            "",
            None,
            None,
            ("a", "{{key}}"),
            "x:y",
            "x:y",
        )
    ]
"""
STARTS = """
from code_commit.plugin_api import CodeCommitError, CommandDefinition, hookimpl


@hookimpl
def code_commit_commands():
    return [
        CommandDefinition(
            "attempt", "start runs", "attempt_plugin:attempt", "attempt_plugin:arguments"
        )
    ]


def arguments(parser):
    parser.add_argument("models", nargs="+")


def attempt(host, arguments):
    for model in arguments.models:
        try:
            host.start(host.parse(["--model", model, "--query", "q"]))
        except CodeCommitError as error:
            host.out.line(f"{type(error).__name__}: {error.message}; {error.hint}")
    return 0
"""


def test_a_name_that_nobody_offers_or_two(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "attempt", STARTS)
    for name in ("odd", "shared"):
        install_plugin(plugins, name, PROVIDER.format(name=name))
    names = ["nope/x", "odd", "odd.nope", "nope", "odd/", "/odd-1", "nope.default", "odd-11"]
    finished = project.command("attempt", *names, "gpt-55", "shared/x", plugins=[plugins])
    assert finished.exit_code == 0, finished.stderr
    *unknown, near, claimed = finished.stdout.splitlines()
    errors = {name: f"UsageError: there is no model {name!r}" for name in names}
    errors["odd.nope"] += " and no config [providers.odd.nope]"
    assert [line.partition(";")[0] for line in unknown] == list(errors.values())
    assert "there is no model 'gpt-55'; did you mean gpt-5" in near
    assert "pip install" not in near  # its provider is there
    assert (
        "the model name 'shared/x' is claimed by code-commit-odd and code-commit-shared" in claimed
    )
    assert not (project.root / "logs").exists()


def test_a_role_whose_provider_may_be_of_a_broken_plugin(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "broken", "raise ValueError('on purpose')")
    project.write(
        {
            "agent-config/config.toml": '[providers]\ndefault_provider = "gone.x"\n[providers.gone.x]\n'
        }
    )
    finished = project.command("--query", "q", plugins=[plugins])
    assert finished.exit_code == 3
    assert (
        "error: there is no model 'gone.x'; the plugin broken of code-commit-broken "
        in finished.stderr
    )
    chosen_by = "(default_provider in [providers], agent-config/config.toml)"
    assert (
        f"{chosen_by}\nhint: for example:\n    [providers]\n    default_provider = "
        in finished.stderr
    )


def test_an_address_that_only_httpx_refuses(project):
    project.write(
        {
            "agent-config/config.toml": '[providers.openai.default]\nbase_url = "https://1.2.3.999/v1"\n'
        }
    )
    finished = project.command("--query", "q", "--model", "gpt-5")
    assert finished.exit_code == 3
    assert "error: the address of provider openai is not a URL\n" in finished.stderr
