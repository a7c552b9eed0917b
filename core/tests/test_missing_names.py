"""The error for a name that is not available says why, and what to do: message and hint, word for
word.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from code_commit.cli.arguments import BUILTIN
from code_commit.plugin_api import ProviderDefinition
from code_commit.plugin_api.errors import UsageError
from code_commit.plugin_api.host import PluginFailure
from code_commit.plugins.host import PluginHost
from code_commit.plugins.missing import failed_plugins
from code_commit.plugins.registry import Registry

HOST = PluginHost([], builtin=BUILTIN)
IN_CHECKOUT = 'in a checkout of code-commit, pip install ".[{}]" or uv tool install ".[all]"'
COMMANDS = "`code-commit --help` lists the commands; describe a change with --query"
FLAGS = "`code-commit --help` lists the flags"
TAIL = "`code-commit models` lists their models; for any other model, write provider/id"
SERVERS = (
    "for Ollama and other servers with OpenAI's protocol: set base_url and model in [providers.openai.ollama], "
    "then `--model openai.ollama`"
)
FOR_A_MODEL = f"for a model: {IN_CHECKOUT.format('gemini')}"
FIX = "fix or uninstall the plugin; `code-commit plugins` lists what failed"


@pytest.fixture
def registry() -> Registry:
    """Return a registry of the host alone. Tests add failures and providers to it."""
    return Registry(PluginHost([], builtin=BUILTIN))


def told(error: UsageError) -> tuple[str, str]:
    return error.message, error.hint


@pytest.mark.parametrize(
    ("kind", "name", "message", "hint"),
    [
        ("command", "plugin", "there is no command plugin; did you mean plugins?", "`code-commit plugins --help`"),
        ("command", "xyz", "there is no command xyz", COMMANDS),
        ("command", "rollup", "the command rollup needs the plugin code-commit-commit", IN_CHECKOUT.format("commit")),
        ("flag", "--jsn", "there is no flag --jsn; did you mean --json?", FLAGS),
        ("flag", "--xyz", "there is no flag --xyz", FLAGS),
        ("flag", "--prompt", "there is no flag --prompt", "describe the change with --query"),
        ("flag", "--message", "there is no flag --message", "describe the change with --query"),
        ("command", "login", "there is no command login",
         "a key comes from a file in agent-config or from a variable; `code-commit doctor` checks it"),
        ("flag", "--query", "--query needs the plugin code-commit-commit", IN_CHECKOUT.format("commit")),
        ("workflow", "xyz", "there is no workflow 'xyz'", ""),
        ("workflow", "committing-code", "the workflow committing-code needs the plugin code-commit-commit",
         IN_CHECKOUT.format("commit")),
        ("provider", "xyz", "there is no provider xyz", ""),
        ("model", "gpt-5", "there is no model 'gpt-5'",
         f"installed providers: none; for this one: {IN_CHECKOUT.format('openai')}; {TAIL}"),
        ("model", "openai/x", "there is no model 'openai/x'",
         f"installed providers: none; for this one: {IN_CHECKOUT.format('openai')}; {SERVERS}; {TAIL}"),
        ("model", "GPT-99", "there is no model 'GPT-99'",
         f"installed providers: none; for this one: {IN_CHECKOUT.format('openai')}; {TAIL}"),
        ("model", "9", "there is no model '9'", f"installed providers: none; {FOR_A_MODEL}; {TAIL}"),
        ("model", "xyz/a", "there is no model 'xyz/a'", f"installed providers: none; {FOR_A_MODEL}; {SERVERS}; {TAIL}"),
    ],
)  # fmt: skip
def test_a_name_that_nobody_offers(registry, kind, name, message, hint) -> None:
    assert told(registry.missing(kind, name, ["--json", "--help"])) == (message, hint)


@pytest.mark.parametrize("kind", ["workflow", "command"])
def test_asking_for_it_raises_that_error(registry, kind) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(registry, kind)("xyz")
    assert told(caught.value) == told(registry.missing(kind, "xyz"))


PROVIDER = ProviderDefinition(
    "openai", {"gpt-5": ("gpt",)}, "u", None, None, ("a", "{key}"), "x:y", "x:y"
)


@pytest.mark.parametrize(
    ("free", "name", "message", "hint"),
    [
        (False, "gpt-6", "there is no model 'gpt-6'; did you mean gpt-5?",
         f"installed providers: acme, openai; for this one: {IN_CHECKOUT.format('openai')}; {TAIL}"),
        (False, "xyz", "there is no model 'xyz'", f"installed providers: acme, openai; {TAIL}"),
        (True, "xyz", "there is no model 'xyz'", f"installed providers: acme, openai; {FOR_A_MODEL}; {TAIL}"),
        (False, "openai.mine", "there is no model 'openai.mine' and no config [providers.openai.mine]",
         "`code-commit models` lists the models, `code-commit config` lists the configs"),
        (False, "xyz.mine", "there is no model 'xyz.mine'", f"installed providers: acme, openai; {TAIL}"),
    ],
)  # fmt: skip
def test_with_providers_an_unknown_model_names_them(registry, free, name, message, hint) -> None:
    plugin = HOST.plugins[0]
    providers = {
        name: (plugin, replace(PROVIDER, name=name, free=free)) for name in ("openai", "acme")
    }
    registry.providers, registry.models = providers, {"gpt-5": providers["openai"]}
    assert told(registry.missing("model", name)) == (message, hint)


def failure(
    plugin: str, distribution: str, error: str = "KeyError: 'x'", *claimants: str
) -> PluginFailure:
    return PluginFailure(
        plugin, distribution, "1.0", "import", error, guards_paths=False, claimants=claimants
    )


OPENAI = failure("openai", "code-commit-openai")
ACME = failure("acme", "acme-dist")
CLAIMED = failure("a", "dist-a", "it is claimed", "dist-b", "code-commit-commit", "dist-a")


OPENAI_FAILED = "the plugin openai of code-commit-openai 1.0 failed (import): KeyError: 'x'"
ACME_FAILED = "the plugin acme of acme-dist 1.0 failed (import): KeyError: 'x'"


@pytest.mark.parametrize(
    ("failures", "kind", "name", "message", "hint"),
    [
        ([OPENAI], "model", "gpt-5", f"the model gpt-5 is not available: {OPENAI_FAILED}", FIX),
        (
            [OPENAI],
            "model",
            "openai/x",
            f"the model openai/x is not available: {OPENAI_FAILED}",
            FIX,
        ),
        ([OPENAI], "command", "xyz", "there is no command xyz", COMMANDS),
        ([ACME], "model", "acme/x", f"the provider acme is not available: {ACME_FAILED}", FIX),
        ([ACME], "model", "acme.x", f"the provider acme is not available: {ACME_FAILED}", FIX),
        ([ACME], "command", "acme", f"there is no command acme; {ACME_FAILED}", COMMANDS),
        ([ACME, OPENAI], "flag", "--acme", f"there is no flag --acme; {ACME_FAILED}", FLAGS),
        (
            [ACME],
            "model",
            "9",
            f"there is no model '9'; {ACME_FAILED}",
            f"installed providers: none; {FOR_A_MODEL}; {TAIL}",
        ),
    ],
)
def test_the_plugin_that_failed_is_named(registry, failures, kind, name, message, hint) -> None:
    registry.plugin_host.failures += failures
    assert told(registry.missing(kind, name)) == (message, hint)


@pytest.mark.parametrize(
    ("kind", "how"),
    [("command", "`code-commit --disable-plugin dist-a go`"), ("flag", "--disable-plugin dist-a")],
)
def test_one_of_the_claimants_can_be_disabled(registry, kind, how) -> None:
    registry.denied[kind, "go"] = CLAIMED
    message = (
        f"the {kind} go is not available: the plugin a of dist-a 1.0 failed (import): it is claimed"
    )
    assert told(registry.missing(kind, "go")) == (
        message,
        f"uninstall one of them, or disable one with {how}",
    )


@pytest.mark.parametrize(
    "disabled", [["openai"], ["code-commit-openai"], ["openai", "code-commit-openai"]]
)
def test_what_is_disabled_is_named(registry, disabled) -> None:
    registry.plugin_host.disabled = frozenset(disabled)
    left_out = f"is part of code-commit-openai, which --disable-plugin {min(disabled)} disables"
    assert told(registry.missing("model", "gpt-5")) == (f"the model gpt-5 {left_out}", "")
    assert told(registry.missing("model", "openai/x")) == (f"the model openai/x {left_out}", "")
    assert registry.missing("model", "claude").message == "there is no model 'claude'"


def test_the_plugins_that_failed_are_one_line(registry) -> None:
    assert failed_plugins(registry.plugin_host) == ""
    registry.plugin_host.failures += [OPENAI, ACME, OPENAI]
    line = "plugins that failed: acme, openai; `code-commit plugins` shows why"
    assert failed_plugins(registry.plugin_host) == line
