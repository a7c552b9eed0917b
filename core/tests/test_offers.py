"""What `Registry` takes from plugins: which definitions are well formed, whose a name is, and why a
name is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from code_commit.cli.arguments import BUILTIN, RESERVED
from code_commit.plugin_api import (
    CommandDefinition,
    Flag,
    ProviderDefinition,
    WorkflowDefinition,
    hookimpl,
)
from code_commit.plugins.discovery import PluginSource
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry

PROVIDER = ProviderDefinition(
    "acme", {"acme-1": ("acme",)}, "https://a.example", None, None, ("a", "{key}"), "x:y", "x:y"
)
WORKFLOW = WorkflowDefinition(
    "work", "works", (Flag(("--work", "-w"), "work", selects=True),), "x:run"
)
COMMAND = CommandDefinition("go", "goes", "x:run")
HOOKS = {
    ProviderDefinition: "providers",
    WorkflowDefinition: "workflows",
    CommandDefinition: "commands",
    str: "secrets",
}
MakeRegistry = Callable[..., Registry]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> MakeRegistry:
    """Return a function that makes the registry of plugins: each keyword is a distribution, with
    what it offers.
    """

    def registry(disabled: Sequence[str] = (), **offers: Sequence[Any]) -> Registry:
        sources = []
        for distribution, definitions in offers.items():
            module = ModuleType(f"{distribution}_plugin")
            for kind, hook in HOOKS.items():
                of_kind = [definition for definition in definitions if isinstance(definition, kind)]
                setattr(module, f"code_commit_{hook}", hookimpl(lambda of_kind=of_kind: of_kind))
            monkeypatch.setitem(sys.modules, module.__name__, module)
            name = distribution.replace("_", "-")
            plugin = name.removeprefix("code-commit-")
            place = module.__name__ if definitions else f"{module.__name__}.missing"
            sources.append(PluginSource(plugin, name, "1.0", "code_commit", place))
        return Registry(
            PluginHost(sources, builtin=BUILTIN, disabled=disabled), reserved_flags=RESERVED
        )

    return registry


def errors(registry: Registry) -> list[str]:
    return [failure.error for failure in registry.plugin_host.failures]


TEXT, TEXTS = "a text", "a tuple of texts"
FLAGS = "a tuple of `Flag`s, each with names like --flag, a help text, a metavar or None"
MODELS, SWITCH = "a mapping of model ids to sequences of aliases", "True or False"
NAME = "lower-case letters, digits, - and _"
COMMAND_NAME = f"one word or two, of {NAME}"
HEADER = "the header's name and a template with {key}"
FORMS: list[tuple[Any, str, str, list[Any], list[Any]]] = [
    (PROVIDER, "name", NAME, ["a", "0", "a-b_c9"], ["", "A", "-a", "_a", "a b", "a\n", "é"]),
    (PROVIDER, "name", TEXT, [], [None, 7]),
    (PROVIDER, "models", MODELS, [{}, {"m": []}, {"m": ("a",)}, {"m": {"a"}}], [None, [], {1: ()}, {"m": "a"}, {"m": [1]}]),
    (PROVIDER, "base_url", TEXT, [""], [None]),
    (PROVIDER, "base_url_variable", "a text, or None", [None, "A"], [1, ("A",)]),
    (PROVIDER, "key_header", HEADER, [["a", "x {key}"], ("a", "x")], ["a{", ("a", "{key}", "b"), ("a", 1), ("a", "")]),
    (PROVIDER, "free", SWITCH, [True], [None, 1, "yes"]),
    (PROVIDER, "windows", "a mapping of model ids to numbers of tokens", [{}, {"m": 1}], [None, [1]]),
    (WORKFLOW, "name", NAME, ["w"], ["W", "w w"]),
    (WORKFLOW, "flags", FLAGS, [(), [Flag(("-x", "--X1-y", "-9"), "x")]], [None, "--x", ("--x",), {}]),
    (WORKFLOW, "flags", FLAGS, [], [(Flag((), "x"),), (Flag(("x",), "x"),), (Flag(("-xy",), "x"),), (Flag(("---x",), "x"),)]),
    (WORKFLOW, "flags", FLAGS, [], [(Flag(("--x_y",), "x"),), (Flag(("--x",), None),), (Flag(("--x",), "x", 1),)]),
    (WORKFLOW, "roles", "a tuple of texts, or None", [None, ("a",), ["a"]], ["a", (1,), 7]),
    (WORKFLOW, "optional_roles", TEXTS, [(), ("a",)], [None, "a", (1,)]),
    (WORKFLOW, "ignores", TEXTS, [("--x",), frozenset({"a"}), {"a"}], [None, "--x", (1,), ["a", 1], {"a": "b"}]),
    (WORKFLOW, "no_repository", TEXTS, [("x",)], ["x"]),
    (WORKFLOW, "options", "a text, or None", [None, "x:y"], [7]),
    (WORKFLOW, "writes", SWITCH, [False], [0]),
    (COMMAND, "name", COMMAND_NAME, ["a", "a b", "a-1 b_2"], ["a  b", "a b c", " a", "a ", "A", "a -b", "a\tb"]),
    (COMMAND, "help", TEXT, ["x"], [None]),
    (COMMAND, "arguments", "a text, or None", [None, "x:y"], [len]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "field", "form", "value", "accepted"),
    [
        (right, field, form, value, accepted)
        for right, field, form, good, bad in FORMS
        for accepted, values in ((True, good), (False, bad))
        for value in values
    ],
)
def test_a_definition_is_taken_if_its_fields_have_the_right_form(
    registry, right, field, form, value, accepted
) -> None:
    offered = registry(one=[replace(right, **{field: value})])
    names = [
        definition
        for kind in ("providers", "workflows", "commands")
        for definition in getattr(offered, kind)
    ]
    assert errors(offered) == (
        [] if accepted else [f"`{field}` must be {form}, not {value!r:.100}"]
    )
    assert len(names) == 8 + accepted  # eight are the host's


def test_of_many_flags_the_wrong_ones_are_shown(registry) -> None:
    flags = (*(Flag((f"--right-{number}",), "x") for number in range(5)), Flag(("wrong",), "x"))
    [error] = errors(registry(one=[replace(WORKFLOW, flags=flags)]))
    assert error == f"`flags` must be {FLAGS}, not {flags[-1:]!r:.100}"


def test_an_item_of_another_type_is_left_out(registry, monkeypatch) -> None:
    offered = registry(one=[COMMAND])
    monkeypatch.setattr(
        sys.modules["one_plugin"], "code_commit_commands", hookimpl(lambda: [COMMAND, PROVIDER])
    )
    again = Registry(PluginHost([PluginSource("one", "one", "1.0", "code_commit", "one_plugin")]))
    assert (errors(offered), list(again.commands)) == ([], ["go"])
    assert errors(again) == ["a command must be a CommandDefinition, not a ProviderDefinition"]


OTHER = replace(PROVIDER, name="other", models={"other-1": ("acme",)})
FIRST, SECOND = (
    replace(WORKFLOW, name=name, flags=(Flag((f"--{name}",), "x"), Flag(("--deep",), "x")))
    for name in "ab"
)
THIRD = replace(SECOND, flags=(Flag(("--b",), "x"), Flag(("--deep",), "another flag")))


@pytest.mark.parametrize(
    ("offers", "left", "error", "denied"),
    [
        ({"a": [PROVIDER], "b": [PROVIDER]}, [], "the provider name 'acme' is claimed by a and b",
         {("provider", "acme"), ("model", "acme"), ("model", "acme-1")}),
        ({"a": [PROVIDER, PROVIDER]}, [], "the provider name 'acme' is claimed by a",
         {("provider", "acme"), ("model", "acme"), ("model", "acme-1")}),
        ({"a": [PROVIDER], "b": [OTHER]}, ["acme", "acme-1", "other", "other-1"],
         "the model name 'acme' is claimed by a and b", {("model", "acme")}),
        ({"a": [PROVIDER], "code_commit_commit": [replace(PROVIDER, models={"m": ()})]}, ["acme", "m"],
         "the provider name 'acme' is claimed by a and code-commit-commit",
         {("provider", "acme"), ("model", "acme"), ("model", "acme-1")}),
        ({"a": [WORKFLOW], "b": [WORKFLOW]}, [], "the workflow name 'work' is claimed by a and b",
         {("workflow", "work"), ("flag", "--work"), ("flag", "-w")}),
        ({"a": [FIRST, SECOND]}, ["a", "b"], "", set()),
        ({"a": [FIRST], "b": [SECOND]}, ["a", "b"], "", set()),
        ({"a": [FIRST], "b": [THIRD]}, [], "the flag --deep is claimed by a and b",
         {("workflow", "a"), ("flag", "--a"), ("flag", "--deep"), ("workflow", "b"), ("flag", "--b")}),
        ({"a": [FIRST], "code_commit_commit": [THIRD]}, ["b"], "the flag --deep is claimed by a and code-commit-commit",
         {("workflow", "a"), ("flag", "--a"), ("flag", "--deep")}),
        ({"a": [replace(WORKFLOW, flags=(Flag(("--x", "-V"), "x"),))]}, [], "the flag -V of 'work' is a flag of the host",
         {("workflow", "work"), ("flag", "--x"), ("flag", "-V")}),
        ({"a": [COMMAND], "b": [COMMAND]}, [], "the command name 'go' is claimed by a and b", {("command", "go")}),
        ({"a": [replace(COMMAND, name="undo")]}, [], "the command name 'undo' is claimed by a and code-commit",
         {("command", "undo")}),
        ({"a": [replace(COMMAND, name=7)]}, [], "`name` must be a text, not 7", set()),
        ({"a": [replace(WORKFLOW, flags=7)]}, [], "`flags` must be ", {("workflow", "work")}),
        ({"a": [replace(WORKFLOW, run=7)]}, [], "`run` must be ", {("workflow", "work"), ("flag", "--work"), ("flag", "-w")}),
        ({"a": [replace(PROVIDER, models=7)]}, [], "`models` must be ", {("provider", "acme")}),
    ],
)  # fmt: skip
def test_a_name_has_one_owner_and_the_others_are_denied(
    registry, offers, left, error, denied
) -> None:
    offered = registry(**offers)
    own = {
        name
        for name, (plugin, _) in offered.commands.items()
        if plugin.distribution == "code-commit"
    }
    assert len(own) == 8
    assert (
        sorted({*offered.providers, *offered.models, *offered.workflows, *offered.commands} - own)
        == left
    )
    assert offered.denied.keys() == denied
    assert all(error_text.startswith(error) for error_text in errors(offered))
    assert bool(errors(offered)) == bool(error)
    assert {failure.error for failure in offered.denied.values()} <= set(errors(offered))


def test_the_flags_of_a_workflow_are_all_of_its_names(registry) -> None:
    offered = registry(
        one=[WORKFLOW, replace(FIRST, roles=("r",), optional_roles=("s",))],
        two=[replace(WORKFLOW, name="c", flags=(), roles=None)],
    )
    assert offered.flags_of("work") == ("--work", "-w")
    assert {"r", "s"} <= offered.known_roles()
    assert offered.workflow("a") is offered.workflows["a"]
    assert offered.command("undo") is offered.commands["undo"]


def test_the_variables_with_secrets_are_those_of_providers_and_plugins(registry) -> None:
    keyed = replace(PROVIDER, key_variable="ACME_PASS")
    offered = registry(
        one=[keyed, "ONE_PASS", "_9", "9", "A B", "A\n"], two=[OTHER, "ONE_PASS", "TWO"]
    )
    assert offered.secrets == {"one": {"ONE_PASS", "_9"}, "two": {"ONE_PASS", "TWO"}}
    assert {"ACME_PASS", "ONE_PASS", "_9", "TWO", "OPENAI_API_KEY"} < offered.secret_variables()
    assert errors(offered)[-3:] == [
        f"a secret is the name of an environment variable, not {name!r}"
        for name in ("9", "A B", "A\n")
    ]


@pytest.mark.parametrize(
    ("offers", "disabled", "known"),
    [
        ({"one": [PROVIDER]}, [], True),
        ({"one": [PROVIDER], "two": [COMMAND]}, ["two"], False),
        ({"one": [PROVIDER], "two": []}, [], False),
        ({"one": [PROVIDER], "code_commit_gemini": []}, [], True),
        ({"one": [PROVIDER], "code_commit_gemini": [OTHER]}, ["gemini"], True),
        ({"one": [PROVIDER], "code_commit_gemini": [OTHER]}, ["code-commit-gemini"], True),
    ],
)
def test_the_providers_are_known_unless_a_third_party_plugin_is_left_out(
    registry, offers, disabled, known
) -> None:
    providers = registry(disabled, **offers).known_providers()
    assert (providers is not None) == known
    assert not known or {"acme", "gemini", "openai"} <= providers
