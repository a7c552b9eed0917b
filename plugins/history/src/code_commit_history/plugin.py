"""What the history plugin registers."""

from __future__ import annotations

from code_commit.plugin_api import ProviderDefinition, hookimpl

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
    run_token="code_commit_history.recording:token_of",  # noqa: S106 - no password
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Recorded runs, as models: `--model replay/RUN`."""
    return [REPLAY]
