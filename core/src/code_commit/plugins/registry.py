"""What the loaded plugins offer, by name; and what to install for what they do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from code_commit.plugin_api.errors import UsageError
from code_commit.plugin_api.provider import ProviderDefinition
from code_commit.plugin_api.workflow import WorkflowDefinition
from code_commit.plugins.definitions import fault_of
from code_commit.plugins.host import HOST, Plugin, PluginHost
from code_commit.spelling import did_you_mean

DEFAULT_WORKFLOW = "committing-code"
_Record = TypeVar("_Record")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# What first-party plugins bring, told to whoever asks for it without having them.
FIRST_PARTY_FLAGS = {
    "--consistency-check": "code-commit-consistency",
    "--consistency": "code-commit-consistency",
    "--cc": "code-commit-consistency",
    "--samples": "code-commit-consistency",
    "--planning": "code-commit-planner",
    "--codepath": "code-commit-planner",
    "--no-git": "code-commit-planner",
    "--autonomous": "code-commit-planner",
    "--auto": "code-commit-planner",
    "--chat": "code-commit-planner",
    "--max-turns": "code-commit-planner",
    "--task": "code-commit-tasks",
    "--task-file": "code-commit-tasks",
    "--resume": "code-commit-tasks",
    "--no-build": "code-commit-tasks",
}
FIRST_PARTY_MODELS = {
    "gemini": "code-commit-gemini",
    "gpt": "code-commit-openai",
    "openai": "code-commit-openai",
    "o1": "code-commit-openai",
    "o3": "code-commit-openai",
    "o4": "code-commit-openai",
    "claude": "code-commit-anthropic",
    "anthropic": "code-commit-anthropic",
    "sonnet": "code-commit-anthropic",
    "opus": "code-commit-anthropic",
    "haiku": "code-commit-anthropic",
}


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model that a name stands for. `model` None: whatever the config `config` of the provider says."""

    provider: ProviderDefinition
    plugin: Plugin
    model: str | None
    config: str = "default"


def installation(distribution: str) -> str:
    """Say how a first-party plugin is installed, from a registry or from the sources."""
    folder = f"./plugins/{distribution.removeprefix('code-commit-')}"
    return f"pip install {distribution} (in a checkout of code-commit: pip install {folder})"


class Registry:
    """Providers and workflows of the loaded plugins. What two distributions claim belongs to neither."""

    def __init__(self, host: PluginHost, *, reserved_flags: Iterable[str] = ()) -> None:
        self._host = host
        self._clashes: dict[str, str] = {}
        self.providers: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._owned(
            "provider", host.collect("code_commit_providers"), ProviderDefinition, lambda each: [each.name]
        )
        self._models: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._owned(
            "model",
            iter(self.providers.values()),
            ProviderDefinition,
            lambda each: [*each.models, *(alias for aliases in each.models.values() for alias in aliases)],
        )
        self.workflows: Mapping[str, tuple[Plugin, WorkflowDefinition]] = self._owned(
            "workflow", host.collect("code_commit_workflows"), WorkflowDefinition, lambda each: [each.name]
        )
        self._drop_flag_clashes(frozenset(reserved_flags))

    def workflow(self, name: str) -> tuple[Plugin, WorkflowDefinition]:
        """Return the workflow called `name`.

        Raises:
            UsageError: no plugin offers it, or more than one does.
        """
        if name not in self.workflows:
            self._fail_for("workflow", name)
            raise UsageError(f"there is no workflow {name!r}" + did_you_mean(name, self.workflows))
        return self.workflows[name]

    def model(self, name: str, has_config: Callable[[str, str], bool]) -> ResolvedModel:
        """Return what `name` stands for: a model id or alias, `provider/any-id`, or a named config `provider.name`.

        `has_config` tells whether the settings hold a named config of a provider.

        Raises:
            UsageError: it stands for nothing; says what is close, what is installed, and what to install.
        """
        if name in self._models:
            plugin, definition = self._models[name]
            ids = (model for model, aliases in definition.models.items() if name == model or name in aliases)
            return ResolvedModel(definition, plugin, next(ids))
        self._fail_for("model", name)
        provider, slash, model = name.partition("/")
        if slash and model and provider in self.providers:
            plugin, definition = self.providers[provider]
            return ResolvedModel(definition, plugin, model)
        self._fail_for("provider", provider)
        provider, dot, config = name.partition(".")
        if dot and provider in self.providers and (config == "default" or has_config(provider, config)):
            plugin, definition = self.providers[provider]
            return ResolvedModel(definition, plugin, None, config)
        if dot and provider in self.providers:
            raise UsageError(
                f"there is no model {name!r}, nor a config [providers.{name}]",
                hint="`code-commit models` lists the models, `code-commit config` what is configured",
            )
        self._fail_for("provider", provider)
        raise self._unknown_model(name)

    @cached_property
    def secrets(self) -> Mapping[str, frozenset[str]]:
        """The environment variables that each plugin declares as its secrets, by the plugin's name."""
        declared: dict[str, set[str]] = {}
        for plugin, name in self._host.collect("code_commit_secrets"):
            if isinstance(name, str) and _VARIABLE.fullmatch(name):
                declared.setdefault(plugin.name, set()).add(name)
            else:
                self._host.reject(
                    plugin, "code_commit_secrets", f"a secret is the name of an environment variable, not {name!r:.100}"
                )
        return {plugin: frozenset(names) for plugin, names in declared.items()}

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Return the names of all flags that workflow `name` reads."""
        return tuple(each for flag in self.workflows[name][1].flags for each in flag.names)

    def _unknown_model(self, name: str) -> UsageError:
        wanted = next((dist for start, dist in FIRST_PARTY_MODELS.items() if name.lower().startswith(start)), None)
        installed = {plugin.distribution for plugin, _ in self.providers.values()}
        hints = [f"installed providers: {', '.join(sorted(self.providers)) or 'none'}"]
        if wanted and wanted not in installed:
            hints.append(f"for this one: {installation(wanted)}")
        elif not installed:
            hints.append(f"for a model: pip install {' or '.join(sorted(set(FIRST_PARTY_MODELS.values())))}")
        hints.append("`code-commit models` lists them; any other id is written as provider/id")
        return UsageError(f"there is no model {name!r}" + did_you_mean(name, self._models), hint="; ".join(hints))

    def _fail_for(self, kind: str, name: str) -> None:
        """End with what happened to the plugin that would have had `name`, where that is known."""
        if clash := self._clashes.get(f"{kind} {name}"):
            raise UsageError(clash, hint="remove one of them, or use --disable-plugin")
        broken = next((each for each in self._host.failures if kind != "model" and each.plugin == name), None)
        if broken:
            raise UsageError(
                f"the plugin {broken.plugin} of {broken.distribution} {broken.version} is broken: {broken.error}",
                hint="`code-commit plugins` says more",
            )

    def _owned(
        self,
        kind: str,
        offered: Iterator[tuple[Plugin, Any]],
        record: type[_Record],
        names_of: Callable[[_Record], Iterable[str]],
    ) -> dict[str, tuple[Plugin, _Record]]:
        owners: dict[str, list[tuple[Plugin, _Record]]] = {}
        for plugin, item in offered:
            if not isinstance(item, record):
                self._host.reject(plugin, kind, f"a {kind} must be a {record.__name__}, not a {type(item).__name__}")
                continue
            if fault := fault_of(item):
                self._host.reject(plugin, kind, fault)
                continue
            for name in dict.fromkeys(names_of(item)):
                owners.setdefault(name, []).append((plugin, item))
        owned = {}
        for name, claims in sorted(owners.items()):
            if len(claims) == 1:
                owned[name] = claims[0]
                continue
            rivals = " and ".join(sorted({plugin.distribution for plugin, _ in claims}))
            clash = f"the {kind} name {name!r} is claimed by {rivals}"
            ours = [claim for claim in claims if claim[0].distribution == HOST]
            if len(ours) == 1:  # what others claim besides must not take the host's own away
                owned[name] = ours[0]
            else:
                self._clashes[f"{kind} {name}"] = clash
            for plugin, _ in claims:
                if plugin.distribution != HOST:
                    self._host.reject(plugin, kind, clash)
        return owned

    def _drop_flag_clashes(self, reserved: frozenset[str]) -> None:
        """Leave out a workflow whose flag is the host's, or another distribution's."""
        owners: dict[str, set[str]] = {}
        for plugin, definition in self.workflows.values():
            for flag in definition.flags:
                for name in flag.names:
                    owners.setdefault(name, set()).add(plugin.distribution)
        kept = {}
        for name, (plugin, definition) in self.workflows.items():
            flags = [each for flag in definition.flags for each in flag.names]
            taken = [flag for flag in flags if flag in reserved]
            shared = [flag for flag in flags if len(owners[flag]) > 1]
            if taken:
                self._host.reject(plugin, "workflow", f"the flag {taken[0]} of {name!r} is the host's own")
            elif shared and name != DEFAULT_WORKFLOW:
                rivals = " and ".join(sorted(owners[shared[0]]))
                self._clashes[f"workflow {name}"] = clash = f"the flag {shared[0]} is claimed by {rivals}"
                self._host.reject(plugin, "workflow", clash)
            else:
                kept[name] = (plugin, definition)
        self.workflows = kept
