"""The tables of the pages match the code exactly: flags, settings, events, hooks, names, exit
codes.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import code_commit_testing as testing
from code_commit import plugin_api
from code_commit.cli.arguments import RESERVED, workflow_parser
from code_commit.cli.host import CommandHost, command_parser
from code_commit.config.schema import HostSettings
from code_commit.config.sources import KEY_FIELDS
from code_commit.imports import import_object
from code_commit.log.json_lines import record_fields
from code_commit.models.resolution import HOST_FIELDS
from code_commit.plugin_api import Record, hookspecs, run_document
from code_commit.plugin_api import event as events
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.run import PROTECTED
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_testing.conformance import ProviderConformance
from code_commit_workspace import guard

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(
    r"^ *(`{3,})(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^ *\1$", re.MULTILINE | re.DOTALL
)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
Row = list[str]


def sections(page: Path) -> dict[str, str]:
    """Return the text below each heading of a page up to the next heading, without code blocks."""
    parts = HEADING.split(FENCE.sub("", page.read_text("utf-8")))
    return {
        title: text for _, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


def rows(text: str) -> list[Row]:
    """Return the cells of a section's tables, without the headers."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    ruled = [index for index, line in enumerate(lines) if re.fullmatch(r"\|[-|]+", line)]
    heads = {number for index in ruled for number in (index - 1, index)}
    cells = [
        re.split(r"(?<!\\)\|", line)[1:-1]
        for number, line in enumerate(lines)
        if number not in heads
    ]
    return [[cell.strip() for cell in row] for row in cells]


def first_names(table: list[Row]) -> list[str]:
    """Return the code in the first cells."""
    return [name for row in table for name in CODE.findall(row[0])]


def flags_in(table: list[Row]) -> set[str]:
    return {name.split()[0] for name in first_names(table) if name.startswith("-")}


def test_every_page_is_reached_from_the_readme() -> None:
    pages: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        pages.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text("utf-8"))
        ahead += [
            target for link in links if (target := (page.parent / link).resolve()) not in pages
        ]
    assert set(DOCS.rglob("*.md")) <= pages


# --- usage ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(PluginHost(), reserved_flags=RESERVED)


USAGE = sections(DOCS / "usage.md")
COMMANDS = CommandHost({}).registry.commands


def test_the_flags_of_every_workflow_match_the_parser() -> None:
    assert flags_in(rows(USAGE["Flags of every workflow"])) == set(RESERVED)


def test_each_workflow_has_its_flags_in_a_section(registry: Registry) -> None:
    for name, (_, workflow) in registry.workflows.items():
        assert flags_in(rows(USAGE[name])) == {
            spelling for flag in workflow.flags for spelling in flag.names
        }, name


def test_the_flags_of_workflows_match_the_parser(registry: Registry) -> None:
    actions = [
        action for action in workflow_parser(registry)._actions if action.help != argparse.SUPPRESS
    ]
    options = {name for action in actions for name in action.option_strings}
    documented = set(RESERVED).union(*(flags_in(rows(USAGE[name])) for name in registry.workflows))
    assert documented == options


def test_the_page_lists_the_commands() -> None:
    assert {
        title.strip("`").removeprefix("code-commit ")
        for title in USAGE
        if title.startswith("`code-commit ")
    } == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_its_flags_in_its_section(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has those that its help shows, and may have those of its actions."""
    parser = command_parser(*COMMANDS[command])
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    shown = re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z]\b)", capsys.readouterr().out)
    documented = flags_in(rows(USAGE[f"`code-commit {command}`"]))
    assert set(shown) - {"--help", "-h"} <= documented
    assert documented <= flags_of_parser(parser) | set(shown)


def flags_of_parser(parser: argparse.ArgumentParser) -> set[str]:
    """Return the flags of a parser and of those of its actions."""
    flags = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                flags |= flags_of_parser(subparser)
        elif action.help != argparse.SUPPRESS:
            flags |= set(action.option_strings)
    return flags


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", DOCS / "usage.md"], ids=lambda page: page.name
)
def test_the_exit_codes_match_the_enum(page: Path) -> None:
    table = rows(sections(page)["Exit codes"])
    assert [(int(row[0]), row[1]) for row in table] == [
        (int(code), code.outcome) for code in ExitCode
    ]


# --- configuration --------------------------------------------------------------------------------


def fields_of(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each setting of a model with its default in the format of the pages, without free
    tables.
    """
    for name, field in model.model_fields.items():
        below = field.annotation
        if isinstance(below, type) and issubclass(below, BaseModel):
            yield from fields_of(below, f"{above}{name}.")
        elif field.default_factory is None:
            yield above + name, default_of(field.default)


def default_of(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    return "unset" if value is None else f"`{json.dumps(value)}`"


CONFIGURATION = sections(DOCS / "configuration.md")


def test_the_settings_and_defaults_of_the_host_match() -> None:
    documented = {
        CODE.findall(row[0])[0]: row[1] for row in rows(CONFIGURATION["Settings of the host"])
    }
    assert documented == dict(fields_of(HostSettings))


def test_the_settings_and_defaults_of_plugins_match() -> None:
    models = {
        plugin.name: import_object(target)
        for plugin, target in PluginHost().collect("code_commit_settings")
        if target
    }
    documented = {
        title.removeprefix("`[plugins.").removesuffix("]`")
        for title in CONFIGURATION
        if "[plugins." in title
    }
    assert models.keys() <= documented
    assert documented - models.keys() <= {path.name for path in ROOT.glob("plugins/*")}, (
        "neither installed nor first-party"
    )
    for name, model in models.items():
        table = {
            CODE.findall(row[0])[0]: row[1] for row in rows(CONFIGURATION[f"`[plugins.{name}]`"])
        }
        assert table == dict(fields_of(model)), name


def services(registry: Registry) -> dict[str, plugin_api.ProviderDefinition]:
    """Return the providers that you configure: `replay` has neither settings nor an address."""
    return {
        name: definition
        for name, (_, definition) in registry.providers.items()
        if not definition.free
    }


def test_the_settings_and_defaults_of_providers_match(registry: Registry) -> None:
    for name, definition in services(registry).items():
        table = {CODE.findall(row[0])[0]: row[1] for row in rows(CONFIGURATION[name])}
        assert table == dict(fields_of(import_object(definition.config))), name


def test_the_page_lists_the_settings_of_every_config() -> None:
    documented = first_names(rows(CONFIGURATION["`[providers.<provider>.<name>]`"]))
    assert sorted(documented) == sorted(KEY_FIELDS | HOST_FIELDS)


def test_the_page_lists_the_key_file_and_variable_of_each_provider(registry: Registry) -> None:
    assert [CODE.findall(" ".join(row)) for row in rows(CONFIGURATION["Keys"])] == [
        [f"agent-config/{name}-key.txt", registry.providers[name][1].key_variable]
        for name in ("gemini", "openai", "anthropic")
    ]


def test_the_addresses_and_distributions_match_the_providers(registry: Registry) -> None:
    models = sections(DOCS / "models.md")
    addresses = {row[0]: CODE.findall(" ".join(row[1:3])) for row in rows(models["Addresses"])}
    assert addresses == {
        name: [definition.base_url, definition.base_url_variable]
        for name, definition in services(registry).items()
    }
    assert [row[0] for row in rows(models["Change the model"])] == ["gemini", "openai", "anthropic"]
    for row in rows(models["Change the model"]):
        plugin, definition = registry.providers[row[0]]
        assert CODE.findall(row[1]) == [plugin.distribution]
        assert set(CODE.findall(row[2])) <= definition.models.keys()


# --- the run folder -------------------------------------------------------------------------------


RUN_FOLDER = sections(DOCS / "run-folder.md")
KINDS = {
    cls.kind: cls
    for cls in vars(events).values()
    if isinstance(cls, type) and issubclass(cls, events.Event) and cls.kind
}


def test_every_kind_of_event_has_a_section() -> None:
    assert {title.strip("`") for title in RUN_FOLDER if title.startswith("`")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_an_event_is_in_its_table(kind: str) -> None:
    assert first_names(rows(RUN_FOLDER[f"`{kind}`"])) == [
        field.name for field in dataclasses.fields(KINDS[kind])
    ]


def test_the_page_lists_the_events_of_the_task_agent() -> None:
    events_of_tasks = vars(import_module("code_commit_tasks.events")).values()
    kinds = {
        cls.kind: [field.name for field in dataclasses.fields(cls)]
        for cls in events_of_tasks
        if isinstance(cls, type) and issubclass(cls, events.Event) and cls.kind
    }
    table = [
        row
        for row in rows(sections(DOCS / "tasks.md")["What is kept"])
        if row[0].startswith("`tasks.")
    ]
    assert {row[0].strip("`"): CODE.findall(row[1].partition(":")[0]) for row in table} == kinds


def test_the_page_lists_the_layers_of_import_linter() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    contracts = {contract["id"]: contract for contract in tools["importlinter"]["contracts"]}
    layers = contracts["layers"]["layers"]
    table = rows(sections(DOCS / "architecture.md")["Layers of the host"])
    assert [CODE.findall(row[0]) for row in table] == [
        re.findall(r"\w+", layer) for layer in layers
    ]


def test_the_envelope_of_events_matches_the_records() -> None:
    record = Record(1, 0.0, "", 1, None, "message", {})
    assert first_names(rows(RUN_FOLDER["Events"])) == list(record_fields(record))


def test_the_page_lists_the_fields_of_the_run_document() -> None:
    assert set(first_names(rows(RUN_FOLDER["run.json"]))) == set(run_document([]))


# --- responses ------------------------------------------------------------------------------------


def test_the_protected_names_match_the_code() -> None:
    table = rows(sections(DOCS / "response-format.md")["Protected files"])
    documented = [(CODE.findall(row[0])[0], row[1].startswith("at any depth")) for row in table]
    ordered = sorted(PROTECTED, key=lambda path: _place(documented, path))
    assert documented == [(entry.name, entry.anywhere) for entry in ordered]


def _place(documented: list[tuple[str, bool]], entry: Any) -> int:
    """Return the place of an entry on the page; a missing entry breaks the comparison."""
    return next((index for index, (name, _) in enumerate(documented) if name == entry.name), -1)


def test_the_page_lists_the_built_in_rules() -> None:
    modules = [
        import_module(module.name) for module in iter_modules(guard.__path__, f"{guard.__name__}.")
    ]
    rules = {
        cls.__dict__["name"]
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, type) and isinstance(cls.__dict__.get("name"), str)
    }
    assert set(first_names(rows(sections(DOCS / "response-format.md")["Paths"]))) == rules | {
        "plugin"
    }


# --- plugins --------------------------------------------------------------------------------------


def test_the_page_lists_every_name_of_the_api_once() -> None:
    documented = [
        name
        for text in sections(DOCS / "plugins/api.md").values()
        for name in first_names(rows(text))
    ]
    assert sorted(documented) == sorted(dir(plugin_api))


def test_the_page_lists_every_hook_with_its_arguments() -> None:
    hooks = {
        name: inspect.signature(hook)
        for name, hook in vars(hookspecs).items()
        if name.startswith("code_commit_")
    }
    page = sections(DOCS / "plugins/hooks.md")
    documented = {title.strip("`"): text for title, text in page.items() if title.startswith("`")}
    assert set(documented) == {
        f"{name}({', '.join(signature.parameters)})" for name, signature in hooks.items()
    }
    for name, signature in hooks.items():
        text = documented[f"{name}({', '.join(signature.parameters)})"]
        assert first_names(rows(text)) == list(signature.parameters), name
        assert [row[0] for row in rows(text) if "`" not in row[0]] == [
            "returns",
            "called by",
            "when",
            "an error",
        ]


@pytest.mark.parametrize(
    ("page", "title", "record"),
    [
        ("provider.md", "The definition", plugin_api.ProviderDefinition),
        ("workflow.md", "The definition", plugin_api.WorkflowDefinition),
    ],
)
def test_the_page_lists_every_field_of_a_definition(page: str, title: str, record: Any) -> None:
    documented = first_names(rows(sections(DOCS / "plugins" / page)[title]))
    assert set(documented) == {field.name for field in dataclasses.fields(record)}


def test_the_page_lists_every_method_of_a_run() -> None:
    documented = " ".join(
        row[1] for row in rows(sections(DOCS / "plugins/workflow.md")["The workflow"])
    )
    methods = {name for name in vars(plugin_api.Run) if not name.startswith("_")} - {
        "ask"
    }  # documented with `interactive`
    assert methods <= set(re.findall(r"run\.(\w+)", documented))


def test_the_page_lists_the_test_tools() -> None:
    page = sections(DOCS / "plugins/testing.md")
    assert set(first_names(rows(page["Testing a plugin"]))) == set(testing.__all__)
    attributes = {name for name in ProviderConformance.__annotations__ if not name.startswith("_")}
    methods = {name for name in dir(ProviderConformance) if not name.startswith(("_", "test_"))}
    listed = {name.partition("(")[0] for name in first_names(rows(page["Providers"]))}
    assert attributes <= listed <= attributes | methods
