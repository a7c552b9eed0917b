"""The settings of a run: loaded from their sources, the strongest first."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import PrivateAttr, ValidationError
from pydantic_settings import InitSettingsSource, PydanticBaseSettingsSource

from code_commit.config.schema import HostSettings, Model, about_a_flag, explained, validated
from code_commit.config.sources import KEY_FIELDS, Name, Source, holds, put, sources, without_keys
from code_commit.plugin_api.errors import NotReady, UsageError, did_you_mean

DEFAULT_ROLE = "default_provider"
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
_FLAG = "flag"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's name, as for `--model`, and the setting or flag that chose it."""

    name: str
    reason: str


class Settings(HostSettings):
    """The settings of one run, without keys: `KeyStore` reads those itself."""

    _layers: tuple[Source, ...] = PrivateAttr(default=())

    def origin(self, name: str | Name) -> str:
        """Return where the setting `name` was set, or "default". A text is a dotted name."""
        return self._origin(tuple(name.split(".")) if isinstance(name, str) else name) or "default"

    def role(self, role: str) -> str | None:
        """Return the `provider.config` that `[providers]` sets for `role`, or None; "default" is `default_provider`."""
        value = self.providers.get(DEFAULT_ROLE if role == "default" else role)
        return value if isinstance(value, str) else None

    def choose(self, role: str) -> ModelChoice:
        """Return the model for `role`: from `--model`, else the role, else `default_provider`, else `model`."""
        if self.origin("model") == _FLAG:
            return ModelChoice(self.model, "--model")
        own, general = self.role(role), self.role("default")
        if own is not None and role != "default":
            return ModelChoice(own, f"{role} in [providers], {self.origin(f'providers.{role}')}")
        if general is not None:
            return ModelChoice(general, f"{DEFAULT_ROLE} in [providers], {self.origin(f'providers.{DEFAULT_ROLE}')}")
        return ModelChoice(self.model, f"model, {self.origin('model')}")

    def connection(self, provider: str, config_name: str) -> Mapping[str, Any]:
        """Return the table `[providers.<provider>.<config_name>]`, not validated and without its key fields.

        Raises:
            NotReady: there is no such table, and the config is not `default`, which needs none.
        """
        reason = unresolved(f"{provider}.{config_name}", self.providers)
        if reason is not None:
            raise NotReady(f"{provider}.{config_name} {reason}", hint=f"for example:\n{EXAMPLE}")
        table = self.providers.get(provider, {}).get(config_name, {})
        return {name: value for name, value in table.items() if name not in KEY_FIELDS}

    def plugin_section(self, name: str) -> Mapping[str, Any]:
        """Return `[plugins.<name>]`, merged from all sources and not validated."""
        return MappingProxyType(self.plugins.get(name, {}))

    def plugin(self, name: str, model: type[Model] | None) -> Model | None:
        """Return `[plugins.<name>]` as the plugin's own `model`, or None for a plugin without one.

        Raises:
            NotReady: the section is invalid, or is not empty for a plugin without settings.
        """
        section = self.plugin_section(name)
        if model is not None:
            return validated(
                model, section, f"[plugins.{name}]", origin=lambda below: self._origin(("plugins", name, *below))
            )
        if section:
            raise NotReady(f"{self.origin(f'plugins.{name}')}: the plugin {name} has no settings")
        return None

    def require_known(
        self,
        *,
        plugins: Collection[str],
        providers: Collection[str] | None = None,
        roles: Collection[str] = (),
    ) -> None:
        """Check that every plugin, provider and role in this project's configuration exists.

        Each argument holds the names that exist; disabled plugins count. With `providers` None, neither providers nor
        roles are checked. Names in the user's own file are not checked: that file serves many environments.

        Raises:
            NotReady: one does not exist.
        """
        for layer in self._layers:
            if layer.label.startswith(_SHARED):
                continue
            for name in layer.tables.get("plugins", {}):
                _require("plugin", name, plugins, layer.origin(("plugins", name)))
            for name, value in layer.tables.get("providers", {}).items() if providers is not None else ():
                origin = layer.origin(("providers", name))
                if isinstance(value, str):
                    _require("role", name, {DEFAULT_ROLE, *roles}, origin)
                else:
                    _require("provider", name, providers or (), origin)

    def _origin(self, name: Name) -> str | None:
        return next((layer.origin(name) for layer in self._layers if holds(layer.tables, name)), None)


def load_settings(
    root: Path, *, flags: Mapping[str, Any] = MappingProxyType({}), environ: Mapping[str, str] | None = None
) -> Settings:
    """Load the settings of the project at `root`.

    `flags` maps dotted names (`build.timeout_seconds`) to values from the command line; None counts as not set.
    `environ` holds the variables, by default the process's.

    Raises:
        NotReady: a file is broken, a name is unknown, a value has the wrong type, or a role's config does not exist.
        UsageError: the value of a flag has the wrong type.
    """
    given = sources(root, os.environ if environ is None else environ)
    for source in given:
        require_named_configs(source)
    layers = tuple(replace(each, tables=without_keys(each.tables)) for each in (_flags_source(flags, root), *given))

    class Layered(Settings):
        """`Settings` that read these layers and nothing else."""

        _layers: tuple[Source, ...] = PrivateAttr(default_factory=lambda: layers)

        @classmethod
        def settings_customise_sources(cls, settings_cls: type, **_: Any) -> tuple[PydanticBaseSettingsSource, ...]:  # type: ignore[override]
            return tuple(InitSettingsSource(settings_cls, dict(layer.tables)) for layer in layers)

    try:
        settings = Layered()
    except ValidationError as error:
        raise _problems(error, layers) from None
    for role, reference in settings.providers.items():
        if isinstance(reference, str):
            require_resolved(role, reference, settings.origin(f"providers.{role}"), settings.providers)
    return settings


def _flags_source(flags: Mapping[str, Any], root: Path) -> Source:
    tables: dict[str, Any] = {}
    for name, value in flags.items():
        if value is not None and not put(tables, tuple(name.split(".")), value):
            raise ValueError(f"the flags contradict each other at {name}")
    return Source(_FLAG, tables, root)


def _problems(error: ValidationError, layers: Sequence[Source]) -> UsageError | NotReady:
    problems = []
    for name, text in explained(error, HostSettings):
        origin = next((layer.origin(name) for layer in layers if holds(layer.tables, name)), "settings")
        if origin == _FLAG:
            return UsageError(about_a_flag(name, text))
        problems.append(f"{origin}: {text}")
    return NotReady("; ".join(problems))


def _require(kind: str, name: str, known: Collection[str], origin: str) -> None:
    if name not in known:
        raise NotReady(
            f"{origin}: there is no {kind} {name!r}" + did_you_mean(name, known),
            hint=f"mend the name, install what brings this {kind}, or take the setting out",
        )


def require_named_configs(source: Source) -> None:
    """Check that `[providers]` holds only roles, which are texts, and tables of named configs.

    Raises:
        NotReady: it holds something else, such as the old form with a provider's fields right below it. The message
            shows no value.
    """
    providers = source.tables.get("providers", {})
    if not isinstance(providers, Mapping):
        raise NotReady(f"{source.origin(('providers',))}: providers should be a table", hint=_HINT)
    for name, value in providers.items():
        origin = source.origin(("providers", name))
        if isinstance(value, Mapping):
            for field, config in value.items():
                if not isinstance(config, Mapping):
                    origin = source.origin(("providers", name, field))
                    raise NotReady(
                        f"{origin}: [providers.{name}] holds {field} itself, the old form of a config", hint=_HINT
                    )
        elif not isinstance(value, str):
            raise NotReady(
                f"{origin}: providers.{name} should be a role's config, a text, or a provider's table", hint=_HINT
            )


def unresolved(reference: str, providers: Mapping[str, Any]) -> str | None:
    """Return why `reference`, `<provider>.<config name>`, names no config, or None. `default` needs no table."""
    provider, dot, config = reference.partition(".")
    if not (provider and dot and config):
        return "is not of the form <provider>.<config name>"
    configs = providers.get(provider, {})
    if config == "default" and isinstance(configs, Mapping):
        return None
    if not isinstance(configs, Mapping) or config not in configs:
        known = [f"{name}.{one}" for name, value in providers.items() if isinstance(value, Mapping) for one in value]
        return f"names no config, for there is no [providers.{provider}.{config}]" + did_you_mean(reference, known)
    return None


def require_resolved(role: str, reference: str, origin: str, providers: Mapping[str, Any]) -> None:
    """Check that the config of a role exists.

    Raises:
        NotReady: it does not. The hint ends with an example.
    """
    reason = unresolved(reference, providers)
    if reason is not None:
        raise NotReady(f'{origin}: {role} = "{reference}" {reason}', hint=_HINT)
