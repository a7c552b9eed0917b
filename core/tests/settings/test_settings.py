"""Settings through `load_settings`: who beats whom, where a value comes from, and what a mistake is
told.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
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
from code_commit.plugin_api.errors import NotReady, UsageError

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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modle = "x"', "agent-config/config.toml: there is no setting modle; did you mean model?"),
        ('"" = 1', "agent-config/config.toml: there is no setting ''"),
        (
            "[build]\ntimeout = 3",
            "there is no setting build.timeout; did you mean build.timeout_seconds?",
        ),
        ('[build]\ntimeout_seconds = "soon"', "build.timeout_seconds should be a valid number"),
        ("[build]\ntimeout_seconds = true", "build.timeout_seconds should be a number"),
        ("[build]\ntimeout_seconds = inf", "build.timeout_seconds should be a finite number"),
        ("build.timeout_seconds = 0", "build.timeout_seconds should be greater than 0"),
        ("build.output_limit = -1", "build.output_limit should be greater than or equal to 0"),
        ("http.retries = true", "http.retries should be a number"),
        ("max_cost = true", "max_cost should be a number"),
        ("max_cost = inf", "max_cost should be a finite number"),
        ("http.retry = 1", "there is no setting http.retry; did you mean http.retries?"),
        ("http.xyz = 1", "agent-config/config.toml: there is no setting http.xyz"),
        ('model = ""', "model: String should have at least 1 character"),
        ('stream = "on"', "stream should be 'auto', 'always' or 'never'"),
        ("build = 3", "agent-config/config.toml: build should be a table"),
        ("model = 3", "agent-config/config.toml: model should be a valid string"),
        ("max_cost = 0", "max_cost should be greater than 0"),
        ('sandbox = "on"', "sandbox.mode should be 'auto', 'require' or 'off'"),
        ("plugins.commit = 3", "plugins.commit should be a table"),
        ('providers = "openai"', "agent-config/config.toml: providers must be a table"),
        (
            "providers.openai = 3",
            "providers.openai must be a string, for a role, or a table, for a provider",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named_with_what_was_expected(
    config, text: str, said: str
) -> None:
    config.write(text)
    assert config.refusal().endswith(said)


def test_zero_retries_and_no_output_are_possible(config) -> None:
    config.write("http.retries = 0\nbuild.output_limit = 0\nbuild.timeout_seconds = 0.1")
    settings = config.load()
    assert (settings.http.retries, settings.build.output_limit, settings.build.timeout_seconds) == (
        0,
        0,
        0.1,
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"CODE_COMMIT_TYPO": "1"}, "variable CODE_COMMIT_TYPO: there is no setting typo"),
        (
            {"CODE_COMMIT_HTTP__RETRYS": "1"},
            "variable CODE_COMMIT_HTTP__RETRYS: there is no setting http.retrys; did you mean",
        ),
        (
            {"CODE_COMMIT_HTTP__RETRIES": "-1"},
            "variable CODE_COMMIT_HTTP__RETRIES: http.retries should be",
        ),
        ({"CODE_COMMIT_HTTP__": "1"}, "variable CODE_COMMIT_HTTP__ does not name a setting"),
        (
            {"CODE_COMMIT_PLUGINS_COMMIT_REPAIRS": "1"},
            "variable CODE_COMMIT_PLUGINS_COMMIT_REPAIRS does not name a setting",
        ),
        (
            {"CODE_COMMIT_HTTP_RETRIES": "1"},
            "there is no setting http_retries; did you mean CODE_COMMIT_HTTP__RETRIES?",
        ),
        (
            {"CODE_COMMIT_HTTP": '{"retrys": 1}'},
            "variable CODE_COMMIT_HTTP: there is no setting http.retrys; did you mean http.retries?",
        ),
    ],
)
def test_a_mistake_in_a_variable_names_it(config, variables: dict[str, str], said: str) -> None:
    assert said in config.refusal(variables)


def test_a_mistake_in_a_flag_or_the_users_file_names_that(config) -> None:
    with pytest.raises(UsageError, match=r"^--sandbox should be 'auto', 'require' or 'off'$"):
        config.load({}, sandbox="maybe")
    config.write_user("sandbox.network = 7")
    assert (
        f"user config {config.user_file}: sandbox.network should be a valid boolean"
        in config.refusal()
    )


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


@pytest.mark.parametrize(
    ("own", "environ"),
    [
        ('[sandbox]\nwritable = ["/srv"]', {}),
        ("sandbox.readable = []", {}),
        ("", {"CODE_COMMIT_SANDBOX__WRITABLE": '["/srv"]'}),
        ("", {"CODE_COMMIT_SANDBOX": '{"readable": ["/srv"]}'}),
    ],
)
def test_only_the_user_opens_the_sandbox(config, own: str, environ: Mapping[str, str]) -> None:
    config.write(own)
    with pytest.raises(NotReady) as caught:
        config.load(environ)
    origin = f"variable {next(iter(environ))}" if environ else "agent-config/config.toml"
    name = "sandbox.readable" if "readable" in own + str(environ) else "sandbox.writable"
    fault = "only works in your own configuration, not in that of a project"
    assert str(caught.value) == f"{origin}: {name} {fault}"
    assert caught.value.hint == f"move it to {config.user_file}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("network = false", "there is no setting network; did you mean sandbox.network?"),
        (
            '[sandbox]\nwriteable = ["/srv"]',
            "there is no setting sandbox.writeable; did you mean sandbox.writable?",
        ),
        ('[sandbox]\nmod = "off"', "there is no setting sandbox.mod; did you mean sandbox.mode?"),
        ("sandbox = 7", "sandbox should be a table"),
        ("sandbox = true", "sandbox should be a table"),
        ('sandbox.writable = "/srv"', "sandbox.writable should be a valid list"),
    ],
)
def test_a_misspelled_sandbox_is_refused(config, text: str, words: str) -> None:
    config.write_user(text)
    assert config.refusal().endswith(words)


def test_all_mistakes_are_told_at_once(config) -> None:
    config.write("sandbox.network = 7\nmodle = 1")
    assert config.refusal({"CODE_COMMIT_SANDBOX": "x"}).count(";") >= 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'model = "x"\n\nmodel == 3\n', 3),
        (f'[providers.openai.player]\napi_key = "{KEY}\n'.encode(), 2),
        (f"[providers.openai.player]\n{KEY}\n".encode(), 2),
        (f"a = 1\n{KEY} = 1\n{KEY} = 1\n".encode(), 3),
        (f"a = {{ {KEY} = 1, {KEY} = 1 }}\n".encode(), 1),
        (f"[{KEY}]\n[{KEY}]\n".encode(), 2),
        (b'model = "x"\nb = [1,\n', 3),
        (b'model = "x"\nb = "\xff"\n', 2),
    ],
)
def test_broken_toml_is_told_with_its_line_and_without_its_text(
    config, text: bytes, line: int
) -> None:
    config.write(text)
    assert config.refusal().startswith(f"agent-config/config.toml, line {line}")


@pytest.mark.parametrize("of_user", [False, True])
def test_a_file_has_at_most_a_megabyte(config, of_user: bool) -> None:
    write = config.write_user if of_user else config.write
    write('model = "m" #'.ljust(1024 * 1024, "x"))
    assert config.load().model == "m"
    write('model = "m" #'.ljust(1024 * 1024 + 1, "x"))
    assert config.refusal().endswith("config.toml cannot be read: larger than 1048576 bytes")


@pytest.mark.parametrize(
    "text", [b"a = " + b"[" * 100_000, b"a = " + b"9" * 10_000, b"#" * 2_000_000]
)
def test_an_absurd_file_is_an_error_and_no_crash(config, text: bytes) -> None:
    config.write(text)
    assert config.refusal().startswith("agent-config/config.toml")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("[]{}=.\"'a1\n,#\\", max_size=40).map(str.encode))
def test_any_file_gives_settings_or_a_plain_error(config, content: bytes) -> None:
    config.write(content)
    with suppress(NotReady):  # anything else is a crash
        assert config.load().origin("sandbox.mode") in {"default", "agent-config/config.toml"}


def test_a_link_is_not_followed_to_the_projects_file(config) -> None:
    (config.root / "elsewhere.toml").write_text('model = "evil"')
    (config.root / "agent-config/config.toml").symlink_to(config.root / "elsewhere.toml")
    assert "agent-config/config.toml cannot be read: it is a link" in config.refusal()
    (config.root / "agent-config").rename(config.root / "real")
    (config.root / "agent-config").symlink_to("real")
    assert "in a folder that is one" in config.refusal()


def test_neither_a_folder_nor_a_pipe_is_a_file(config) -> None:
    (config.root / "agent-config/config.toml").mkdir()
    assert "not a regular file" in config.refusal()
    (config.root / "agent-config/config.toml").rmdir()
    os.mkfifo(config.root / "agent-config/config.toml")
    assert "not a regular file" in config.refusal()


def test_the_users_own_file_may_be_a_link(config) -> None:
    (config.root.parent / "dotfiles.toml").write_text('model = "gpt-5"')
    config.user_file.symlink_to(config.root.parent / "dotfiles.toml")
    assert config.load().model == "gpt-5"


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


def test_names_that_nobody_brings_are_errors_except_in_the_users_shared_file(config) -> None:
    config.write_user('[plugins.other]\na = 1\n[providers.other.default]\nmodel = "m"')
    config.write(
        '[plugins.comit]\na = 1\n[providers.opnai.default]\nmodel = "m"\n[providers]\nplaner = "opnai.default"',
    )
    settings = config.load()
    with pytest.raises(NotReady, match=r"there is no plugin 'comit'; did you mean commit\?"):
        settings.require_known(["commit", "gemini"], ["opnai"], ["planer"])
    with pytest.raises(NotReady, match=r"there is no provider 'opnai'; did you mean openai\?"):
        settings.require_known(["comit"], ["openai"], ["planer"])
    with pytest.raises(NotReady, match=r"there is no role 'planer'; did you mean planner\?"):
        settings.require_known(["comit"], ["opnai"], ["planner"])
    with pytest.raises(
        NotReady, match=r"^agent-config/config.toml: there is no plugin 'comit'$"
    ) as caught:
        settings.require_known([], None, [])
    assert caught.value.hint == "fix the name, install its plugin, or remove the setting"
    settings.require_known(["comit"], None, [])
    settings.require_known(["comit"], ["opnai"], ["planer"])


def test_settings_cannot_be_changed(config) -> None:
    with pytest.raises(ValueError, match="frozen"):
        config.load().model = "other"  # type: ignore[misc]
