"""The models of a run: which one a role means, and how it is reached."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from code_commit.config.address import address_of
from code_commit.config.keys import KeyStore
from code_commit.imports import import_object
from code_commit.models.calls import Asked, CallCost, Calls
from code_commit.models.http import Endpoint, HttpProvider
from code_commit.models.retries import TimedCall, complete_with_retries
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    ProviderError,
    Request,
    Text,
    Usage,
)
from code_commit.plugin_api.errors import (
    CodeCommitError,
    Interrupted,
    NotReady,
    ProviderFailed,
    UsageError,
    describe,
)
from code_commit.plugin_api.provider import Call, Provider, ProviderDefinition
from code_commit.plugins.registry import Registry, ResolvedModel
from code_commit_history.recording import Recording

if TYPE_CHECKING:
    from code_commit.config.loading import ModelChoice, Settings

NO_KEY = "no key"
_AT_FAULT = "its plugin is at fault; --debug shows where"
_HOST_FIELDS = frozenset({"base_url", "allow_http"})


@dataclass(frozen=True, slots=True)
class Service:
    """A model at its address."""

    provider: Provider
    asked: Asked
    distribution: str  # whom to name when it breaks its promises


def resolve(registry: Registry, settings: Settings, role: str) -> tuple[ModelChoice, ResolvedModel]:
    """Return what the settings choose for `role`, and the model that it stands for.

    Raises:
        UsageError: `--model`, or the setting, names none.
        NotReady: `[providers]` names none.
    """

    def has_config(provider: str, config: str) -> bool:
        configs = settings.providers.get(provider)
        return isinstance(configs, Mapping) and config in configs

    choice = settings.choose(role)
    try:
        return choice, registry.model(choice.name, has_config)
    except UsageError as error:
        if "[providers]" not in choice.reason:
            raise
        from code_commit.config.provider_tables import EXAMPLE

        raise NotReady(f"{error.message} ({choice.reason})", hint=f"for example:\n{EXAMPLE}") from error


class Models:
    """Gives workflows their models; each is connected once."""

    def __init__(
        self,
        registry: Registry,
        settings: Settings,
        keys: KeyStore,
        environ: Mapping[str, str],
        calls: Calls,
        recording: Recording | None = None,
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._keys = keys
        self._environ = environ
        self._calls = calls
        self._recording = recording
        self._services: dict[str, Service] = {}
        self._cancelled = threading.Event()
        self._lock = threading.Lock()

    def model(self, role: str) -> ServiceModel | ReplayedModel:
        """Return the model that the settings give to `role`.

        Raises:
            UsageError: there is no such model.
            NotReady: a role or the default names nothing, its config is wrong, or its key is missing.
        """
        if self._recording is not None:
            return ReplayedModel(self._recording, self._calls)
        choice, resolved = resolve(self._registry, self._settings, role)
        with self._lock:
            if choice.name not in self._services:
                self._services[choice.name] = self._connected(resolved)
            service = self._services[choice.name]
        http = self._settings.http
        return ServiceModel(service, choice.reason, self._calls, http.deadline_seconds, http.retries, self._cancelled)

    def close(self) -> None:
        """End the calls under way, from any thread, and begin no other."""
        self._cancelled.set()
        with self._lock:
            services = tuple(self._services.values())
        for service in services:
            with suppress(Exception):  # one that cannot end its calls must not keep the others from ending theirs
                service.provider.close()

    def _connected(self, resolved: ResolvedModel) -> Service:
        from code_commit.config.validation import validated

        definition, http = resolved.provider, self._settings.http
        where = f"[providers.{definition.name}.{resolved.config}]"
        table = self._settings.connection(definition.name, resolved.config)
        section = {name: value for name, value in table.items() if name not in _HOST_FIELDS}
        if resolved.model is not None:
            section["model"] = resolved.model
        elif "model" not in section and definition.models:
            section["model"] = next(iter(definition.models))
        config = validated(import_object(definition.config), section, where)
        owner = resolved.plugin.distribution
        made = _made(definition, config, owner)
        bound = getattr(config, "max_tokens", None)
        if not hasattr(made, "encode"):
            _require_own_ways(definition, table, where)
            return Service(made, Asked(definition.name, config.model, max_tokens=bound), owner)
        address = address_of(definition, resolved.config, table, self._environ)
        key = self._keys.key_for(definition, resolved.config, table)
        connection = Endpoint(
            address.url,
            key.value if key else None,
            read_timeout=http.timeout_seconds,
            deadline=http.deadline_seconds,
            max_retries=http.retries,
        )
        provider = HttpProvider(definition, connection, made)
        source = key.source if key else NO_KEY
        return Service(provider, Asked(definition.name, config.model, address.url, source, bound), owner)


def _made(definition: ProviderDefinition, config: Any, owner: str) -> Any:
    try:
        made = import_object(definition.factory)(config)
    except (CodeCommitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NotReady(f"the provider {definition.name} of {owner} cannot be made: {describe(error)}") from error
    if not any(callable(getattr(made, name, None)) for name in ("encode", "complete")):
        raise NotReady(
            f"the factory of the provider {definition.name} of {owner} gave {type(made).__name__}, not a provider",
            hint=_AT_FAULT,
        )
    return made


def _require_own_ways(definition: ProviderDefinition, table: Mapping[str, Any], where: str) -> None:
    """Make sure that nobody takes a provider that is no `Wire` for one to which the host gives address and key.

    Raises:
        NotReady: its definition has an address, or its config has.
    """
    if definition.base_url:
        raise NotReady(
            f"provider {definition.name} makes its own connections, but its definition has a base_url",
            hint="its plugin is at fault",
        )
    for name in sorted(_HOST_FIELDS & table.keys()):
        raise NotReady(
            f"{where}: {name} is of no use, for provider {definition.name} makes its own connections",
            hint="take it out; the provider's own settings say where it goes",
        )


@dataclass(frozen=True, slots=True)
class ServiceModel:
    """A `Model`: a service behind the host's retries. `deadline` is in seconds, for all tries of a call."""

    service: Service
    reason: str
    calls: Calls
    deadline: float
    retries: int
    cancelled: threading.Event

    @property
    def name(self) -> str:
        """The model's id at its service."""
        return self.service.asked.model

    def complete(self, request: Request, *, label: str) -> Completion:
        """Ask once, as `Model.complete` says."""
        return self.calls.make(self.service.asked, request, label, self._ask)

    def _ask(self, request: Request, number: int, cost: CallCost | None) -> Completion:
        def lost_try(attempt: int, wait: float, reason: str) -> None:
            self.calls.retried(number, attempt, wait, reason)

        if self.cancelled.is_set():
            if cost:
                cost.release()
            raise Interrupted(f"{self.name}: no call begins any more")
        try:
            return complete_with_retries(
                _Guarded(self.service),
                request,
                TimedCall(time.monotonic() + self.deadline),
                max_retries=self.retries,
                on_retry=lost_try,
                cancelled=self.cancelled,
            )
        except ProviderError as error:
            if cost and error.kind in {"network", "server", "invalid_response"}:
                cost.settle(Usage())  # it may have worked on the request all the same
            elif cost:
                cost.release()
            if self.cancelled.is_set():
                raise Interrupted(f"{self.name}: {error}") from error  # a step that catches failures must not go on
            hint = (
                _HINT_WITHOUT_KEY
                if (error.kind, self.service.asked.key_source) == ("auth", NO_KEY)
                else _HINTS[error.kind]
            )
            raise ProviderFailed(f"{self.name}: {error}", hint=hint, kind=error.kind) from error


class _Guarded:
    """A provider of a plugin, whose types are a promise and no more."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def complete(self, request: Request, call: Call) -> Completion:
        """Ask, and let nothing but a completion or an error of a known kind pass."""
        owner = self._service.distribution
        try:
            given: Any = self._service.provider.complete(request, call)
        except ProviderError as error:
            if error.kind in _HINTS:
                raise
            raise ProviderError(
                f"{error} (of the kind {error.kind!r}, which {owner} made up)", kind="rejected"
            ) from error
        except (CodeCommitError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ProviderFailed(
                f"the provider {self._service.asked.provider} of {owner} failed: {describe(error)}", hint=_AT_FAULT
            ) from error
        match given:
            case Completion(message=Message(parts=tuple(parts)), finish=Finish(), usage=Usage(), model=str()):
                if all(isinstance(part.text, str) for part in parts if isinstance(part, Text)):
                    return given
        raise ProviderFailed(
            f"the provider {self._service.asked.provider} of {owner} gave {shorten(repr(given), 200)} for a completion",
            hint=_AT_FAULT,
        )

    def close(self) -> None:
        """End the calls under way."""
        self._service.provider.close()


@dataclass(frozen=True, slots=True)
class ReplayedModel:
    """A `Model` that gives the answers of a recorded run."""

    recording: Recording
    calls: Calls

    @property
    def reason(self) -> str:
        """A replay answers for every role."""
        return "the run is a replay"

    @property
    def name(self) -> str:
        """The recording's name, as `--model` takes it."""
        return f"replay/{self.recording.name}"

    def complete(self, request: Request, *, label: str) -> Completion:
        """Give the next recorded answer, and tell when the question was another one."""
        return self.calls.make(Asked("replay", self.name), request, label, self._answer)

    def _answer(self, request: Request, number: int, _: CallCost | None) -> Completion:
        completion, same = self.recording.answer(request)
        if not same:
            self.calls.differs(number, self.recording.name)
        return completion


_HINT_WITHOUT_KEY = "no key was sent to this address: name one by api_key or api_key_file in the provider's config"
_HINTS = {
    "auth": "check the key: that it is one for this service, and allowed to use this model",
    "quota": "look at the plan and the billing of your account",
    "rate": "wait a while, or ask another model",
    "network": "check the connection and the address",
    "server": "the service is in trouble: try again later, or ask another model",
    "rejected": "check the model's name, the provider's config and its address, and the size of the prompt",
    "invalid_response": "what answered is not the service that was expected: check the address",
}
