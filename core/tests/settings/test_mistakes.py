"""Each mistake in the settings is named, with the place where it stands and what helps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from code_commit.plugin_api.errors import NotReady, UsageError


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
