"""The settings of a run: loaded from their sources, the strongest first."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import PrivateAttr, ValidationError

from code_commit.config.merging import merged
from code_commit.config.schema import (
    HostSettings,
    Model,
    Origin,
    SandboxTable,
    explained,
    validated,
)
from code_commit.config.sources import FLAG, KEY_FIELDS, Name, Source, nested, sources, user_file
from code_commit.plugin_api.errors import NotReady, UsageError
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER
from code_commit_workspace.words import closest, did_you_mean

DEFAULT_ROLE = "default_provider"
FLAG_OF_MODEL = "--model"
EXAMPLE = """\
[providers]
default_provider = "gemini.default"   # "<provider>.<config name>"
planner = "anthropic.planner"         # a role of its own

[providers.gemini.default]
model = "gemini-2.5-pro"

[providers.anthropic.planner]
model = "claude-opus-4-5"
api_key_file = "anthropic-key.txt"    # beside this file"""
_HINT = f"name the config of each provider, for example:\n{EXAMPLE}"
_SHARED = "user config"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's name, as for `--model`, and the setting or flag that chose it.

    `note` tells people why it is not the default model, whose provider is not installed.
    """

    name: str
    reason: str
    note: str = ""


class Settings(HostSettings):
    """The settings of one run, without keys: `KeyStore` reads those itself."""

    _layers: tuple[Source, ...] = PrivateAttr(default=())
    _root: Path = PrivateAttr(default=Path())
    _variables: frozenset[str] = PrivateAttr(default=frozenset())  # the names of those that are set

    def origin(self, name: str | Name) -> str:
        """Return where the setting `name` was set, or "default". A text is a dotted name."""
        if isinstance(name, str):
            name = tuple(name.split("."))
        return _origin(self._layers, name) or "default"

    def origins(self, *table: str) -> Origin:
        """Return the origin of the names in a table."""
        return lambda below: _origin(self._layers, (*table, *below))

    def choose(self, role: str) -> ModelChoice:
        """Return the model for `role`.

        It is that of `--model`, else of the role, else of `default_provider`, else `model`.
        """
        if self.origin("model") == FLAG:
            return ModelChoice(self.model, FLAG_OF_MODEL)
        for name in (role, DEFAULT_ROLE):
            reference = self.providers.get(name)
            if isinstance(reference, str):
                reason = f"{name} in [providers], {self.origin(('providers', name))}"
                return ModelChoice(reference, reason)
        return ModelChoice(self.model, f"model, {self.origin('model')}")

    def connection(self, provider: str, config_name: str) -> Mapping[str, Any]:
        """Return the table of a named config, not validated and without its key fields.

        Raises:
            NotReady: there is no such table, and the config is not `default`, which needs none.
        """
        if reason := unresolved(f"{provider}.{config_name}", self.providers):
            raise NotReady(f"{provider}.{config_name} {reason}", hint=_HINT)
        table = self.providers.get(provider, {}).get(config_name, {})
        return {name: value for name, value in table.items() if name not in KEY_FIELDS}

    def has_key(self, provider: str, variable: str) -> bool:
        """Return whether there is a key for the config `default` of a provider, which is not read.

        `variable` is the usual one for the key.
        """
        configs = self.providers.get(provider, {})
        table = configs.get("default", {}) if isinstance(configs, Mapping) else {}
        if KEY_FIELDS & table.keys() or variable in self._variables:
            return True
        return (self._root / PRIVATE_FOLDER / f"{provider}-key.txt").exists()

    def plugin(self, name: str, model: type[Model] | None) -> Model | None:
        """Return `[plugins.<name>]` as the plugin's own `model`, or None for a plugin without one.

        Raises:
            NotReady: the section is invalid, or is not empty for a plugin without settings.
        """
        origin = self.origins("plugins", name)
        section = self.plugins.get(name, {})
        if model is not None:
            _require_own(model, ("plugins", name), self._layers)
            return validated(model, section, f"[plugins.{name}]", origin)
        if section:
            raise NotReady(f"{origin(())}: the plugin {name} has no settings")
        return None

    def require_known(
        self,
        plugins: Collection[str],
        providers: Collection[str] | None,
        roles: Collection[str],
    ) -> None:
        """Check that every plugin, provider and role in the configuration exists.

        Each argument holds the names that exist; disabled plugins count. With `providers` None,
        neither providers nor roles are checked. The user's own file serves many environments, so
        only names that look misspelled count there.

        Raises:
            NotReady: one does not exist.
        """
        for name in self.plugins:
            self._require("plugin", name, ("plugins", name), plugins)
        if providers is None:
            return
        for name, value in self.providers.items():
            setting = ("providers", name)
            provider = name
            if isinstance(value, str):
                self._require("role", name, setting, {DEFAULT_ROLE, *roles})
                provider = value.partition(".")[0]
            self._require("provider", provider, setting, providers)

    def _require(self, kind: str, name: str, setting: Name, names: Collection[str]) -> None:
        if name in names:
            return
        origin = self.origin(setting)
        # `planer` is 0.92 like `planner`, `openrouter` 0.63 like `openai`.
        if origin.startswith(_SHARED) and not closest(name, names, 0.8):
            return
        raise NotReady(
            f"{origin}: there is no {kind} {name!r}" + did_you_mean(name, names),
            hint="fix the name, install its plugin, or remove the setting",
        )


def load_settings(
    root: Path,
    *,
    flags: Mapping[str, Any] = MappingProxyType({}),
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Load the settings of the project at `root`.

    `flags` maps dotted names (`build.timeout_seconds`) to values from the command line; None counts
    as not set. `environ` holds the variables, by default the process's.

    Raises:
        NotReady: a file is broken, a name is unknown, a value has the wrong type, or a role's
            config does not exist.
        UsageError: the value of a flag has the wrong type.
    """
    if environ is None:
        environ = os.environ
    all_sources: list[Source] = []
    for name, value in flags.items():
        if value is not None:
            all_sources.append(Source(FLAG, nested(tuple(name.split(".")), value), root))
    all_sources += sources(root, environ)
    for source in all_sources:
        _require_named_configs(source)
    layers = tuple(_with_sandbox_table(source.without_keys()) for source in all_sources)
    try:
        settings = Settings.model_validate(merged([layer.tables for layer in layers]))
    except ValidationError as error:
        problems = list(explained(error, HostSettings, partial(_origin, layers)))
        for origin, text in problems:
            if origin == FLAG:
                raise UsageError(text) from None
        raise NotReady("; ".join(f"{origin}: {text}" for origin, text in problems)) from None
    settings._layers = layers  # noqa: SLF001 - its own module
    settings._root = root  # noqa: SLF001 - as above
    settings._variables = frozenset(name for name in environ if environ[name])  # noqa: SLF001 - as above
    _require_own(SandboxTable, ("sandbox",), layers)
    for role, reference in settings.providers.items():
        if not isinstance(reference, str):
            continue
        if reason := unresolved(reference, settings.providers):
            origin = settings.origin(("providers", role))
            raise NotReady(f'{origin}: {role} = "{reference}" {reason}', hint=_HINT)
    return settings


def _origin(layers: Iterable[Source], name: Name) -> str:
    return next((layer.label for layer in layers if layer.sets(name)), "")


def _with_sandbox_table(source: Source) -> Source:
    """Return `source` with `sandbox = "require"` as a table."""
    mode = source.tables.get("sandbox")
    if not isinstance(mode, str):
        return source
    return replace(source, tables={**source.tables, "sandbox": {"mode": mode}})


def _require_own(model: type[Any], where: Name, layers: Iterable[Source]) -> None:
    """Check that settings of `model` with the mark `user_file_only` come from the user's own file.

    Raises:
        NotReady: one is in that of a project, or in a variable.
    """
    for name, field in model.model_fields.items():
        marks = field.json_schema_extra
        if not isinstance(marks, dict) or not marks.get("user_file_only"):
            continue
        origin = _origin(layers, (*where, name))
        if origin and not origin.startswith(_SHARED):
            setting = ".".join((*where, name))
            raise NotReady(
                f"{origin}: {setting} only works in your own configuration, "
                "not in that of a project",
                hint=f"move it to {user_file()}",
            )


def _require_named_configs(source: Source) -> None:
    """Check that `[providers]` holds only roles, which are texts, and tables of named configs.

    Raises:
        NotReady: it holds something else, such as the old form with a provider's fields directly
            in it. The message shows no value.
    """
    providers = source.tables.get("providers", {})
    if not isinstance(providers, Mapping):
        raise NotReady(f"{source.label}: providers must be a table", hint=_HINT)
    for name, value in providers.items():
        if isinstance(value, str):
            continue
        if not isinstance(value, Mapping):
            fault = f"providers.{name} must be a string, for a role, or a table, for a provider"
            raise NotReady(f"{source.label}: {fault}", hint=_HINT)
        for field, config in value.items():
            if not isinstance(config, Mapping):
                fault = f"[providers.{name}] sets {field} directly, without the name of a config"
                raise NotReady(f"{source.label}: {fault}", hint=_HINT)


def unresolved(reference: str, providers: Mapping[str, Any]) -> str | None:
    """Return why `reference`, `<provider>.<config name>`, names no config, or None.

    `default` needs no table.
    """
    provider, dot, config = reference.partition(".")
    if not (provider and dot and config):
        return "does not have the form <provider>.<config name>"
    configs = providers.get(provider, {})
    if isinstance(configs, Mapping) and (config == "default" or config in configs):
        return None
    references = [
        f"{name}.{config_name}"
        for name, value in providers.items()
        if isinstance(value, Mapping)
        for config_name in value
    ]
    suggestion = did_you_mean(reference, references)
    return f"does not exist: there is no [providers.{provider}.{config}]{suggestion}"
