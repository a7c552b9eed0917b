"""Resolve a model's name to a service, and make its provider from the plugin's definition."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_commit.config.addresses import address_of
from code_commit.config.keys import KeyStore
from code_commit.config.loading import EXAMPLE, ModelChoice, unresolved
from code_commit.config.sources import KEY_FIELDS
from code_commit.imports import import_object
from code_commit.models.http import Endpoint, HttpProvider
from code_commit.models.listed_models import listed_models
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import CodeCommitError, NotReady, UsageError
from code_commit.plugin_api.host import Plugin
from code_commit.plugin_api.provider import Provider
from code_commit.plugin_api.running_code import running
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins import first_party
from code_commit.plugins.registry import Registry
from code_commit_workspace import Redactor, Scope
from code_commit_workspace.words import describe

if TYPE_CHECKING:
    from code_commit.config.loading import Settings

NO_KEY = "no key"
FIRST_MODEL = "the first model of"  # begins the reason of a choice in place of the default
AT_FAULT = "this is a bug in its plugin; --debug shows where"
_ADDRESS_FIELDS = frozenset({"base_url", "allow_http"})
HOST_FIELDS = _ADDRESS_FIELDS | {"stream", "fallback"}


@dataclass(frozen=True, slots=True)
class Service:
    """A model at its address. `max_tokens` is the configured limit of a completion, if any.

    `stream` is the setting: "auto", "always" or "never". `fallback` names the models that take over
    if a call fails. `write_price` is that of marked input, relative to other input, if genai-prices
    does not have it.
    """

    provider: Provider
    definition: ProviderDefinition
    distribution: str  # named in errors of the plugin
    model: str
    token: str | None  # of the replayed run
    max_tokens: int | None
    stream: str
    fallback: tuple[str, ...] = ()
    address: str = ""
    key_source: str = ""
    write_price: float | None = None


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """The model that a name stands for.

    If `model` is None, `config` names the config that sets it.
    """

    plugin: Plugin
    provider: ProviderDefinition
    model: str | None
    config: str = "default"


def resolve(
    registry: Registry,
    settings: Settings,
    role: str,
    name: str | None = None,
) -> tuple[ModelChoice, ResolvedModel]:
    """Return the choice of the settings for `role`, and the model that it names.

    With `name`, the choice is that model; but a replay answers for every model.

    If the default model has no provider here, the choice is the first model of an installed one: of
    one with a key if possible, and of a first-party one if there are several.

    Raises:
        UsageError: the model in `--model` or `model` does not exist.
        NotReady: the model in `[providers]` does not exist.
    """
    choice = settings.choose(role)
    if name is not None and not replays(choice.name, registry):
        return ModelChoice(name, "by its name"), find_model(name, registry, settings.providers)
    try:
        return choice, find_model(choice.name, registry, settings.providers)
    except UsageError as error:
        if choice.reason == "model, default" and (other := _other_default(registry, settings)):
            return other, find_model(other.name, registry, settings.providers)
        if "[providers]" not in choice.reason:
            raise
        raise NotReady(
            f"{error.message} ({choice.reason})", hint=f"for example:\n{EXAMPLE}"
        ) from error


def _other_default(registry: Registry, settings: Settings) -> ModelChoice | None:
    """Return the choice in place of the default model, whose provider is not installed.

    A provider that is installed but broken has none.
    """
    owner = first_party.owner("model", settings.model)
    if owner in {failure.distribution for failure in registry.plugin_host.failures}:
        return None
    ranked = []
    for plugin, provider in registry.providers.values():
        if not provider.models or provider.free:
            continue
        variable = provider.key_variable
        has_key = variable is None or settings.has_key(provider.name, variable)
        is_own = plugin.distribution in first_party.offers()
        ranked.append((not has_key, not is_own, provider.name))
    if not ranked:
        return None
    name = min(ranked)[2]
    model = next(iter(registry.providers[name][1].models))
    note = ""
    if len(ranked) > 1:
        note = (
            f"the provider of the default model {settings.model} is not installed: using {model} "
            f"of {name}; `model` in the configuration sets another default"
        )
    if registry.models[model][1].name != name:
        model = f"{name}/{model}"
    return ModelChoice(model, f"{FIRST_MODEL} {name}", note)


def replays(model: str, registry: Registry) -> bool:
    """Return whether the name of a model stands for a recorded run."""
    provider = model.partition("/")[0]
    if provider not in registry.providers:
        return False
    return registry.providers[provider][1].run_token is not None


def find_model(name: str, registry: Registry, configs: Mapping[str, Any]) -> ResolvedModel:
    """Return what `name` stands for.

    It is a model id or alias, `provider/any-id`, a named config `provider.name`, or a model that
    one service listed. `configs` is the table `[providers]`.

    Raises:
        UsageError: the name is unknown. The error names similar models, installed providers, and
            what to install.
    """
    if name in registry.models:
        plugin, definition = registry.models[name]
        ids = (
            model
            for model, aliases in definition.models.items()
            if name == model or name in aliases
        )
        return ResolvedModel(plugin, definition, next(ids))
    if ("model", name) not in registry.denied:
        provider, _, model = name.partition("/")
        if model and provider in registry.providers:
            plugin, definition = registry.providers[provider]
            return ResolvedModel(plugin, definition, model)
        provider, _, config = name.partition(".")
        if provider in registry.providers and not unresolved(name, configs):
            plugin, definition = registry.providers[provider]
            return ResolvedModel(plugin, definition, model=None, config=config)
        listing = [
            provider
            for provider, models in listed_models().items()
            if name in models and provider in registry.providers
        ]
        if len(listing) == 1:
            plugin, definition = registry.providers[listing[0]]
            return ResolvedModel(plugin, definition, name)
    raise registry.missing("model", name)


@dataclass(slots=True)
class Services:
    """The services of a run. Each is connected once, and ends with `scope`."""

    registry: Registry
    settings: Settings
    keys: KeyStore
    redactor: Redactor
    environ: Mapping[str, str]
    root: Path
    scope: Scope = field(default_factory=Scope)
    _connected: dict[str, Service] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, role: str, name: str | None = None) -> tuple[Service, str]:
        """Return the service for `role`, and a text that says which setting chose it.

        With `name`, return that of the model with this name.

        Raises:
            UsageError: the model does not exist.
            NotReady: a role or the default names nothing, its config is wrong, or its key is
                missing.
        """
        choice, resolved = resolve(self.registry, self.settings, role, name)
        service = self._service_of(choice, resolved)
        for model in service.fallback:
            self._service_of(*self._fallback(role, model, resolved))
        return service, choice.reason

    def _service_of(self, choice: ModelChoice, resolved: ResolvedModel) -> Service:
        with self._lock:
            if choice.name not in self._connected:
                service = self.connected(resolved)
                self.scope.on_end(service.provider.close)
                self._connected[choice.name] = service
            return self._connected[choice.name]

    def _fallback(
        self,
        role: str,
        name: str,
        resolved: ResolvedModel,
    ) -> tuple[ModelChoice, ResolvedModel]:
        """Return the model `name` of the setting `fallback` of a config.

        Raises:
            NotReady: there is no such model.
        """
        try:
            return resolve(self.registry, self.settings, role, name)
        except UsageError as error:
            place = self.settings.origin(
                ("providers", resolved.provider.name, resolved.config, "fallback")
            )
            raise NotReady(
                f"{place}: {_section_name(resolved)}: fallback: {error.message}", hint=error.hint
            ) from error

    def check(self, role: str) -> None:
        """Check everything that a model of `role` needs but its key. Raises as `of`."""
        choice, resolved = resolve(self.registry, self.settings, role)
        if choice.name in self._connected:
            return
        table = self._table(resolved)
        service = self._without_address(resolved, table)
        if hasattr(service.provider, "encode"):
            address_of(resolved.provider, resolved.config, table, self.environ)

    def connected(self, resolved: ResolvedModel) -> Service:
        """Return a new service for a model. Raises as `of`."""
        table = self._table(resolved)
        service = self._without_address(resolved, table)
        wire: Any = service.provider
        if not hasattr(wire, "encode"):
            return service
        endpoint = self._endpoint(resolved, table)
        return replace(
            service,
            provider=HttpProvider(resolved.provider, endpoint, wire),
            address=endpoint.base_url,
            key_source=endpoint.key_source,
            write_price=getattr(wire, "cache_write_price", None),
        )

    def _table(self, resolved: ResolvedModel) -> Mapping[str, Any]:
        return self.settings.connection(resolved.provider.name, resolved.config)

    def _without_address(self, resolved: ResolvedModel, table: Mapping[str, Any]) -> Service:
        """Return the service of a model; its `provider` may still be a `Wire`."""
        definition = resolved.provider
        config, built, token = make_provider(resolved, self.settings, self.root, self.environ)
        model = config.model
        if not hasattr(built, "encode"):  # it is a whole provider
            _require_no_address(definition, table, _section_name(resolved))
            own_model = getattr(built, "model", None)
            if isinstance(own_model, str):
                model = own_model
        return Service(
            provider=built,
            definition=definition,
            distribution=resolved.plugin.distribution,
            model=model,
            token=token,
            max_tokens=getattr(config, "max_tokens", None),
            stream=table.get("stream", self.settings.stream),
            fallback=tuple(table.get("fallback", ())),
        )

    def _endpoint(self, resolved: ResolvedModel, table: Mapping[str, Any]) -> Endpoint:
        """Return the address of a model, with its key."""
        key = self.keys.key_for(resolved.provider, resolved.config, table)
        http = self.settings.http
        return Endpoint(
            base_url=address_of(resolved.provider, resolved.config, table, self.environ).url,
            key=key.value if key else None,
            key_source=key.source if key else NO_KEY,
            read_timeout=http.timeout_seconds,
            stall_timeout=http.stall_seconds,
            redactor=self.redactor,
        )


def make_provider(
    resolved: ResolvedModel,
    settings: Settings,
    root: Path,
    environ: Mapping[str, str],
) -> tuple[Any, Any, str | None]:
    """Return the validated config of a model, its provider or wire, and a token.

    The token is that of the run that it replays, or None.

    Raises:
        NotReady: the config is wrong, or the plugin is broken.
    """
    from code_commit.config.schema import NamedConfig, validated

    definition = resolved.provider
    table = settings.connection(definition.name, resolved.config)
    where = _section_name(resolved)
    origin = settings.origins("providers", definition.name, resolved.config)
    of_host = {"stream": table.get("stream", settings.stream), "fallback": []}
    of_host |= {name: table[name] for name in of_host.keys() & table.keys()}
    validated(NamedConfig, of_host, where, origin)
    section = {name: value for name, value in table.items() if name not in HOST_FIELDS}
    if resolved.model is not None:
        section["model"] = resolved.model
    elif "model" not in section and definition.models:
        section["model"] = next(iter(definition.models))
    owner = f"the provider {definition.name} of {resolved.plugin.distribution}"
    try:
        config: Any = validated(
            import_object(definition.config), section, where, origin, HOST_FIELDS | KEY_FIELDS
        )
        factory = import_object(definition.factory)
        arguments: dict[str, Any] = {"root": root}
        with suppress(NotReady):  # a wrong address is reported where it is used
            arguments["own_address"] = address_of(definition, resolved.config, table, environ).own
        names = arguments.keys() & inspect.signature(factory).parameters.keys()
        used = {name: arguments[name] for name in names}
        part = f"the factory of the provider {definition.name}"
        with running(part, resolved.plugin.distribution):
            built = require_sync(factory(config, **used))
        token = None
        if definition.run_token:
            token = import_object(definition.run_token)(config.model, root)
    except (CodeCommitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NotReady(f"{owner} cannot be created: {describe(error)}", hint=AT_FAULT) from error
    if not any(callable(getattr(built, name, None)) for name in ("encode", "complete")):
        raise NotReady(
            f"the factory of {owner} returned {type(built).__name__}, not a provider", hint=AT_FAULT
        )
    return config, built, token


def _section_name(resolved: ResolvedModel) -> str:
    return f"[providers.{resolved.provider.name}.{resolved.config}]"


def _require_no_address(
    definition: ProviderDefinition,
    table: Mapping[str, Any],
    where: str,
) -> None:
    """Check that a provider with its own connections has no address, which the host would not use.

    Raises:
        NotReady: its definition or its config has an address.
    """
    owner = f"provider {definition.name} makes its own connections"
    if definition.base_url:
        raise NotReady(
            f"{owner}, but its definition has a base_url", hint="this is a bug in its plugin"
        )
    for name in sorted(_ADDRESS_FIELDS & table.keys()):
        hint = "remove it; the provider's own settings set the address"
        raise NotReady(f"{where}: {name} has no effect: {owner}", hint=hint)
