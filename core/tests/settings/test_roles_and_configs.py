"""The tables `[providers]` through `load_settings`: which config each role has, and what a mistake
is told.
"""

from __future__ import annotations

import pytest

from code_commit.config.loading import ModelChoice
from code_commit.plugin_api.errors import NotReady

KEY = "sk-live-0123456789abcXY"


PROVIDERS = f"""
[providers]
default_provider = "anthropic.default"
planner = "anthropic.planner"
[providers.anthropic.default]
api_key = "{KEY}"
model = "claude-sonnet-4-5"
[providers.anthropic.planner]
api_key_file = "planner-key.txt"
model = "claude-opus-4-5"
thinking_budget_tokens = 16000
"""


def test_roles_and_named_configs(config) -> None:
    config.write(PROVIDERS)
    settings = config.load()
    assert dict(settings.connection("anthropic", "planner")) == {
        "model": "claude-opus-4-5",
        "thinking_budget_tokens": 16000,
    }
    assert not settings.connection("gemini", "default")


def test_the_model_flag_beats_a_role_which_beats_default_provider_which_beats_model(
    config,
) -> None:
    config.write('model = "gpt-5"\n')
    assert config.load().choose("planner").name == "gpt-5"
    config.write('model = "gpt-5"\n' + PROVIDERS)
    settings = config.load()
    assert [settings.choose(role).name for role in ("planner", "coach", "default")] == [
        "anthropic.planner",
        "anthropic.default",
        "anthropic.default",
    ]
    assert (
        settings.choose("coach").reason
        == "default_provider in [providers], agent-config/config.toml"
    )
    assert settings.choose("planner").reason == "planner in [providers], agent-config/config.toml"
    assert config.load(model="gemini").choose("planner") == ModelChoice("gemini", "--model")


def test_without_a_role_the_model_is_chosen_by_the_setting_or_the_default(config) -> None:
    assert config.load().choose("planner") == ModelChoice("gemini-2.5-pro", "model, default")
    assert config.load({"CODE_COMMIT_MODEL": "m"}).choose("x") == ModelChoice(
        "m", "model, variable CODE_COMMIT_MODEL"
    )
    config.write("[providers.planner.default]")  # a provider, and no role
    assert config.load().choose("planner").reason == "model, default"


def test_an_implied_default_config_needs_no_table(config) -> None:
    config.write('providers.default_provider = "gemini.default"')
    assert config.load().choose("default").name == "gemini.default"


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("gemini.fast", "does not exist: there is no [providers.gemini.fast]"),
        # A role, and no provider.
        ("planner.fast", "does not exist: there is no [providers.planner.fast]"),
        *(
            (text, "does not have the form <provider>.<config name>")
            for text in ("gemini", ".default", "gemini.", "")
        ),
    ],
)
@pytest.mark.parametrize("role", ["default_provider", "planner"])
def test_a_role_that_names_no_config_ends_with_an_example(
    config, role: str, reference: str, fault: str
) -> None:
    config.write(f'providers.{role} = "{reference}"')
    with pytest.raises(NotReady) as caught:
        config.load()
    assert str(caught.value) == f'agent-config/config.toml: {role} = "{reference}" {fault}'
    assert caught.value.hint.startswith(
        "name the config of each provider, for example:\n[providers]\n"
    )
    assert "[providers.anthropic.planner]\nmodel = " in caught.value.hint.rstrip()


def test_a_config_name_that_is_nearly_right_is_suggested(config) -> None:
    config.write(PROVIDERS.replace('planner = "anthropic.planner"', 'planner = "anthropic.planer"'))
    assert "did you mean anthropic.planner?" in config.refusal()
    with pytest.raises(NotReady, match=r"did you mean anthropic\.planner\?"):
        config.load({"CODE_COMMIT_PROVIDERS__PLANNER": "anthropic.planner"}).connection(
            "anthropic", "planer"
        )
    with pytest.raises(
        NotReady, match=r"^x\.y does not exist: there is no \[providers\.x\.y\]$"
    ) as caught:
        config.load({"CODE_COMMIT_PROVIDERS__PLANNER": "anthropic.planner"}).connection("x", "y")
    assert "[providers.anthropic.planner]" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        (f'[providers.anthropic]\napi_key = "{KEY}"\nmodel = "claude-opus-4-5"', {}),
        ("", {"CODE_COMMIT_PROVIDERS__ANTHROPIC__API_KEY": KEY}),
    ],
)
def test_the_old_flat_form_ends_with_an_example_and_shows_no_key(
    config, text: str, variables: dict[str, str]
) -> None:
    config.write(text)
    assert (
        "[providers.anthropic] sets api_key directly, without the name of a config"
        in config.refusal(variables)
    )
    with pytest.raises(NotReady) as caught:
        config.load(variables)
    assert "[providers.gemini.default]" in caught.value.hint
