"""Settings through `load_settings`: which source wins, and where a value comes from."""

from __future__ import annotations

import json
import pwd
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_commit.cli import config as config_command
from code_commit.config.loading import load_settings
from code_commit.config.schema import HostSettings
from code_commit.models.listed_models import listed_models, store_listed_models
from code_commit.plugin_api.errors import NotReady

KEY = "sk-live-0123456789abcXY"


def setting_rows(settings):
    """Return the rows without those of plugins."""
    return config_command.setting_rows(settings, SimpleNamespace(plugins=()))


@pytest.mark.parametrize("home", ["", None])
def test_without_a_home_folder_you_are_told_to_set_one(
    config, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)

    with pytest.raises(NotReady, match="this account has no home folder") as caught:
        config.load()

    assert caught.value.hint == "set HOME to one"
    assert listed_models() == {}
    with pytest.raises(NotReady, match="this account has no home folder"):
        store_listed_models({})


def test_without_any_source_every_value_is_the_default(config) -> None:
    settings = config.load()
    assert (settings.model, settings.max_cost, settings.on_failure) == (
        "gemini-2.5-pro",
        None,
        "keep",
    )
    assert settings.sandbox.model_dump() == {
        "mode": "auto",
        "network": True,
        "writable": [],
        "readable": [],
    }
    assert (settings.build.timeout_seconds, settings.build.output_limit) == (3600, 262144)
    assert (settings.stream, settings.stop_early, settings.after_run_timeout_seconds) == (
        "auto",
        False,
        120,
    )
    http = {"timeout_seconds": 600, "stall_seconds": 300, "deadline_seconds": 1800, "retries": 5}
    assert settings.http.model_dump() == http
    assert (settings.providers, settings.plugins) == ({}, {})
    assert {row["origin"] for row in setting_rows(settings)} == {"default"}
    assert all(row["description"] for row in setting_rows(settings))
    assert all(field.description for field in HostSettings.model_fields.values())


VALUES: dict[str, st.SearchStrategy[object]] = {
    "model": st.text(
        st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=["Cc"]), min_size=1
    ),
    "sandbox.network": st.booleans(),
    "build.timeout_seconds": st.integers(1, 10**9) | st.floats(0.001, 1e9),
    "http.retries": st.integers(0, 10**6),
    "sandbox.mode": st.sampled_from(["auto", "require", "off"]),
    "plugins.commit.repairs": st.integers(),
    "plugins.commit.deep.name": st.text("abc", min_size=1),
    "providers.openai.player.model": st.text("gpt-5", min_size=1),
}
SOURCE = st.fixed_dictionaries({}, optional=VALUES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flags=SOURCE, variables=SOURCE, own=SOURCE, shared=SOURCE)
def test_the_strongest_source_that_sets_a_name_gives_its_value_and_origin(
    config,
    flags: dict[str, object],
    variables: dict[str, object],
    own: dict[str, object],
    shared: dict[str, object],
) -> None:
    def toml(values: dict[str, object]) -> str:
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items()
        )

    def text(value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    config.write(toml(own))
    config.write_user(toml(shared))
    names = {name: "CODE_COMMIT_" + name.replace(".", "__").upper() for name in VALUES}
    settings = load_settings(
        config.root,
        flags=flags,
        environ={names[name]: text(value) for name, value in variables.items()},
    )
    rows = {row["name"]: row for row in setting_rows(settings)}
    for name in VALUES:
        layers = [
            (flags, "flag"),
            (variables, f"variable {names[name]}"),
            (own, "agent-config/config.toml"),
            (shared, f"user config {config.user_file}"),
        ]
        winner = next(((values[name], origin) for values, origin in layers if name in values), None)
        if winner is None:
            assert name not in rows or rows[name]["origin"] == "default"
            continue
        value, origin = winner
        assert (rows[name]["origin"], settings.origin(name)) == (origin, origin)
        if name.startswith(("plugins.", "providers.")) and origin.startswith("variable"):
            # The plugin's own model converts it.
            value = text(value) if not isinstance(value, str) else value
        assert rows[name]["value"] == value


def test_a_flag_that_was_not_given_says_nothing(config) -> None:
    config.write('model = "gpt-5"')
    assert config.load(model=None).model == "gpt-5"


def test_an_empty_variable_counts_as_not_set(config) -> None:
    assert config.load({"CODE_COMMIT_MAX_COST": "", "CODE_COMMIT_NONSENSE": ""}).max_cost is None


def test_money_is_exact(config) -> None:
    assert config.load({"CODE_COMMIT_MAX_COST": "0.1"}).max_cost == Decimal("0.1")
    config.write("max_cost = 0.1")
    assert config.load().max_cost == Decimal("0.1")


def test_a_table_in_a_variable_is_json_and_is_joined_by_variables_for_its_parts(config) -> None:
    settings = config.load(
        {"CODE_COMMIT_HTTP": '{"retries": 1}', "CODE_COMMIT_HTTP__TIMEOUT_SECONDS": "9"}
    )
    assert (settings.http.retries, settings.http.timeout_seconds) == (1, 9)
    assert settings.origin("http.retries") == "variable CODE_COMMIT_HTTP"
    assert (
        config.refusal({"CODE_COMMIT_HTTP": '{"retries": 1'})
        == "variable CODE_COMMIT_HTTP: http should be a table"
    )
    both = config.load({"CODE_COMMIT_HTTP": '{"retries": 1}', "CODE_COMMIT_HTTP__RETRIES": "2"})
    assert (both.http.retries, both.origin("http.retries")) == (
        2,
        "variable CODE_COMMIT_HTTP__RETRIES",
    )


def test_the_process_environment_is_the_default_and_no_dotenv_is_read(
    config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (config.root, config.root / "agent-config"):
        (folder / ".env").write_text("CODE_COMMIT_MODEL=evil\n")
    monkeypatch.chdir(config.root)
    monkeypatch.setenv("CODE_COMMIT_SANDBOX", "off")
    settings = load_settings(config.root)
    assert (settings.sandbox.mode, settings.model) == ("off", "gemini-2.5-pro")


def test_a_text_as_sandbox_sets_the_mode_and_leaves_the_rest(config) -> None:
    config.write_user(
        '[sandbox]\nmode = "off"\nnetwork = false\nwritable = ["~/go/pkg", "/srv"]\nreadable = ["~/.netrc"]\n',
    )
    config.write('sandbox = "require"')
    for loaded, mode in (
        (config.load(), "require"),
        (config.load({"CODE_COMMIT_SANDBOX": "auto"}), "auto"),
        (config.load({"CODE_COMMIT_SANDBOX__MODE": "auto"}, sandbox="off"), "off"),
    ):
        assert (loaded.sandbox.mode, loaded.sandbox.network) == (mode, False)
        assert (loaded.sandbox.writable, loaded.sandbox.readable) == (
            [Path("~/go/pkg"), Path("/srv")],
            [Path("~/.netrc")],
        )


def test_no_key_is_in_the_settings_and_rows_show_its_last_two_characters(config) -> None:
    config.write(
        f'[providers.anthropic]\ndefault = {{api_key = "{KEY}"}}\n'
        '[providers.anthropic.planner]\napi_key_file = "planner-key.txt"\n'
        f'base_url = "https://me:{KEY}@host/v1"\n[plugins.otel]\nendpoint_token = "{KEY}"\ntokens = 5\n'
        f'more = [{{ password = "{KEY}" }}]\nshort_key = "abc"',
    )
    nested = json.dumps({"openai": {"player": {"api_key": KEY[::-1]}}})
    settings = config.load({"CODE_COMMIT_PROVIDERS": nested})
    rows = {row["name"]: row["value"] for row in setting_rows(settings)}
    assert KEY not in repr(setting_rows(settings))
    assert KEY[::-1] not in repr(settings) + str(settings.model_dump()) + repr(
        settings._layers
    ) + repr(setting_rows(settings))
    assert (
        rows["providers.anthropic.default.api_key"],
        rows["providers.openai.player.api_key"],
    ) == ("***XY", "***ks")
    assert rows["providers.anthropic.planner.api_key_file"] == "planner-key.txt"
    assert rows["providers.anthropic.planner.base_url"] == "https://***@host/v1"
    assert (rows["plugins.otel.endpoint_token"], rows["plugins.otel.tokens"]) == ("***XY", 5)
    assert (rows["plugins.otel.more"], rows["plugins.otel.short_key"]) == (
        [{"password": "***XY"}],
        "***",
    )


def test_rows_are_json(config) -> None:
    config.write("[plugins.x]\nday = 2026-01-02\nlist = [1, 2]\n[plugins.x.deep]\nnumber = 1.5")
    rows = {row["name"]: row["value"] for row in setting_rows(config.load(max_cost="1.5"))}
    assert json.loads(json.dumps(rows)) == rows
    assert (rows["plugins.x.day"], rows["plugins.x.deep.number"]) == ("2026-01-02", 1.5)


def test_settings_cannot_be_changed(config) -> None:
    with pytest.raises(ValueError, match="frozen"):
        config.load().model = "other"  # type: ignore[misc]
