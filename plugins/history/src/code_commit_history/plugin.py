"""The hooks of the plugin. `--help` imports this module: keep it light."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, ProviderDefinition, hookimpl

REPLAY = ProviderDefinition(
    name="replay",
    models={},
    base_url="",
    base_url_variable=None,
    key_variable=None,
    key_header=("", "{key}"),
    config="code_commit_history.recording:ReplayConfig",
    factory="code_commit_history.recording:recorded_run",
    free=True,
    run_token="code_commit_history.recording:token_of",  # noqa: S106 - not a password
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Return the provider of recorded runs: `--model replay/RUN`."""
    return [REPLAY]


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the commands for earlier runs."""
    return [
        CommandDefinition(
            "runs",
            "list, show, compare, export and prune earlier runs",
            "code_commit_history.runs.command:runs",
            "code_commit_history.runs.command:add_arguments",
        ),
        CommandDefinition(
            "replay",
            "repeat a recorded run offline, and compare",
            "code_commit_history.replay:replay",
            "code_commit_history.replay:add_arguments",
        ),
        CommandDefinition(
            "apply",
            "apply the answer of a dry run, without a model",
            "code_commit_history.applying:apply",
            "code_commit_history.applying:add_arguments",
        ),
    ]
