"""The models of a run, and the chain of layers around each model call.

    log → plugin layers → deadline → retry → budget → checked provider → HTTP

Before all of them, a prompt that exceeds the model's window is refused: nothing of it is copied or
logged. Each layer takes a call and the `next` layer, and knows no other layer.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from code_commit.models.call_log import CallLog, refusal
from code_commit.models.context_window import Windows
from code_commit.models.leaked_thinking import without_thinking
from code_commit.models.limits import Budget, deadline, require_price, retry
from code_commit.models.plugin_code import ask_provider, count_tokens, run_layer
from code_commit.models.resolution import NO_KEY, Service, Services
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    Part,
    Request,
    Text,
    ToolResult,
)
from code_commit.plugin_api.errors import (
    Interrupted,
    LimitReached,
    NotReady,
    ProviderFailed,
    ResponseRefused,
)
from code_commit.plugin_api.prompt_size import PromptPart, PromptSize
from code_commit.plugin_api.provider import ModelCall, ModelLayer, NextLayer, Watch
from code_commit_workspace import STOP, Redactor, Scope


@dataclass(frozen=True, slots=True)
class Models:
    """Makes the models of workflows.

    `layers` are those of plugins, each with its distribution, the outermost first. `watched` is
    whether a person sees the replies arrive.
    """

    services: Services
    log: CallLog
    layers: Sequence[tuple[str, ModelLayer]]
    budget: Budget | None
    watched: bool = False
    windows: Windows = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "windows", Windows(self.log.warn))

    def model(self, role: str, name: str | None = None) -> ChainedModel:
        """Return the model `name`, or the one that the settings give to `role`.

        Raises:
            UsageError: the model does not exist.
            NotReady: a role or the default names nothing, its config is wrong, or its key is
                missing; or a limit on cost cannot be kept, because the price of `name` is unknown.
        """
        service, reason = self._service(role, name)
        for fallback in service.fallback:
            self._service(role, fallback)
        return ChainedModel(self, service, role, reason, self._chain(service, self.layers))

    def other(self, distribution: str, name: str) -> OtherModel:
        """Return the model `name` for the layers of `distribution`.

        Only the layers of later plugins are around its calls.

        Raises:
            UsageError: the model does not exist.
            NotReady: its config is wrong, its key is missing, or its price is unknown.
        """
        service, reason = self._service("default", name)

        def chain(call: ModelCall, **how: Any) -> Completion:
            owners = [owner for owner, _ in self.layers]
            first_below = len(owners) - owners[::-1].index(distribution)
            return self._chain(service, self.layers[first_below:])(call, **how)

        return OtherModel(self, ChainedModel(self, service, "default", reason, chain))

    def _service(self, role: str, name: str | None) -> tuple[Service, str]:
        service, reason = self.services.of(role, name)
        if name is not None and self.budget and not service.definition.free:
            require_price(service.model)
        return service, reason

    def _chain(
        self,
        service: Service,
        layers: Sequence[tuple[str, ModelLayer]],
    ) -> Callable[..., Completion]:
        """Return the chain of a service, with these layers of plugins."""
        chain: NextLayer = partial(ask_provider, service=service)
        if self.budget and not service.definition.free:
            spend = partial(self.budget.spend, count=partial(count_tokens, service=service))
            chain = partial(
                spend, next=chain, max_tokens=service.max_tokens, write_price=service.write_price
            )
        http = self.services.settings.http
        chain = partial(
            retry,
            next=chain,
            retries=http.retries,
            report=self.log.retried,
            keyless=service.key_source == NO_KEY,
        )
        chain = partial(
            deadline, next=chain, seconds=http.deadline_seconds, count=self.log.count_answer
        )
        for distribution, layer in reversed(layers):
            chain = partial(run_layer, next=chain, layer=layer, distribution=distribution)
        return partial(self.log.record, next=chain, service=service)

    def wait(self, scope: Scope, seconds: float) -> None:
        """Wait for `seconds`.

        Raises:
            Interrupted: the run ended, the call was cancelled, or a signal came.
        """
        woken = threading.Event()
        with scope.child(woken.set):
            woken.wait(seconds)
        STOP.check()
        if scope is not self.services.scope and scope.is_over:
            raise Interrupted("cancelled")
        if self.services.scope.is_over:
            raise Interrupted("the run ended before the call did")


@dataclass(frozen=True, slots=True)
class ChainedModel:
    """A `Model`: redacts the request, sends it through the chain, and checks the completion."""

    models: Models
    service: Service
    role: str
    reason: str
    chain: Callable[..., Completion]

    @property
    def name(self) -> str:
        """The model's id at its service."""
        return self.service.model

    @property
    def provider(self) -> str:
        """The name of the model's provider."""
        return self.service.definition.name

    @property
    def window(self) -> int | None:
        """The most tokens that the model reads, or None if unknown."""
        return self.models.windows.of(self.service)

    def complete(
        self,
        request: Request,
        *,
        label: str,
        watch: Watch | None = None,
        parts: Sequence[PromptPart] = (),
    ) -> Completion:
        """Send one request. Implements `Model.complete`."""
        _require_request(request)
        size = PromptSize.of(request, parts)
        self.require_fit(size)
        number = self.models.log.next_number()
        scope = self.models.services.scope
        return self.complete_call(request, number, size, label=label, watch=watch, scope=scope)

    def complete_call(
        self,
        request: Request,
        number: int,
        size: PromptSize,
        *,
        label: str,
        watch: Watch | None,
        scope: Scope,
    ) -> Completion:
        """Make the call `number`, whose prompt fits. It ends with `scope`.

        If it fails in a way that may pass, the models of the setting `fallback` take over, each in
        a call of its own.
        """
        calls = [number]
        warn = self.models.log.warn
        successors = self._successors(calls, size)
        model = self
        while True:
            try:
                return model.complete_once(
                    request, calls, size, label=label, watch=watch, scope=scope
                )
            except ProviderFailed as error:
                successor = next(successors, None) if error.may_pass else None
                if successor is None:
                    raise
            name, model = successor
            warn(f"call {calls[-1]} failed: {name} takes over")
            calls.append(self.models.log.next_number())

    def _successors(
        self,
        calls: Sequence[int],
        size: PromptSize,
    ) -> Iterator[tuple[str, ChainedModel]]:
        """Yield name and model of each that may take over after the failed `calls`."""
        warn = self.models.log.warn
        for name in self.service.fallback:
            model = self.models.model(self.role, name)
            try:
                model.require_fit(size)
            except (NotReady, LimitReached) as error:
                warn(f"{name} cannot take over: {error.message}")
                continue
            yield name, model
        falls_back = getattr(self.service.provider, "falls_back", None)  # of a recorded run
        while falls_back is not None and falls_back(calls[-1]):
            yield self.name, self

    def complete_once(
        self,
        request: Request,
        calls: Sequence[int],
        size: PromptSize,
        *,
        label: str,
        watch: Watch | None,
        scope: Scope,
    ) -> Completion:
        """Make the last of `calls`, in place of the one before it."""
        services = self.models.services
        call = self._call(request, label, calls[-1], scope)
        with services.scope.child():  # the run waits for the end of what is logged
            received = self.chain(
                call,
                watch=watch if services.settings.stop_early else None,
                instead_of=calls[-2] if len(calls) > 1 else None,
            )
        self.models.windows.warn_if_cut(size, received, self.service)
        completion = without_thinking(received)
        if completion is not received:
            _refuse_key(received, call.number, services.redactor)
        # Whether or not the rest arrived.
        if watch and (end := watch()(completion.text)) is not None:
            message = Message("assistant", (Text(completion.text[:end]),))
            completion = replace(completion, message=message, finish=Finish.STOPPED_EARLY)
        _refuse_bad_completion(completion, call.number, services.redactor)
        return completion

    def require_fit(self, size: PromptSize) -> None:
        """Check that a prompt fits the window. Implements `Model.require_fit`."""
        paid = self.models.log.has_calls
        self.models.windows.require_fit(size, self.service, count=self.count_tokens, paid=paid)

    def count_tokens(self, request: Request) -> int | None:
        """Ask the service for the tokens of a request. Implements `Model.count_tokens`."""
        _require_request(request)
        call = self._call(request, "", 0, self.models.services.scope)
        return count_tokens(call, service=self.service)

    def _call(self, request: Request, label: str, number: int, scope: Scope) -> ModelCall:
        models = self.models
        stream = self.service.stream
        return ModelCall(
            request=_redacted(request, models.services.redactor),
            label=label,
            role=self.role,
            provider=self.service.definition.name,
            model=self.name,
            number=number,
            root=models.services.root,
            deadline=math.inf,
            wait=partial(models.wait, scope),
            warn=models.log.warn,
            stream=stream == "always" or (stream == "auto" and models.watched),
            scope=scope,
            hide=models.services.redactor.add,
        )


@dataclass(frozen=True, slots=True)
class OtherModel:
    """A model for the layers of a plugin. Implements `plugin_api.OtherModel`."""

    models: Models
    model: ChainedModel

    @property
    def name(self) -> str:
        """The model's id."""
        return self.model.name

    @property
    def provider(self) -> str:
        """The name of the model's provider."""
        return self.model.provider

    @property
    def window(self) -> int | None:
        """The most tokens that the model reads, or None if unknown."""
        return self.model.window

    def complete(self, call: ModelCall) -> Completion:
        """Answer the request of `call` in a call of its own."""
        size = PromptSize.of(call.request)
        self.model.require_fit(size)
        self.models.log.pass_on(call)
        number = self.models.log.next_number()
        return replace(self.model, role=call.role).complete_once(
            call.request,
            [number],
            size,
            label=call.label,
            watch=None,
            scope=call.scope,
        )


def _require_request(request: object) -> None:
    """Check what a plugin gave, which may not be type-checked."""
    if not isinstance(request, Request):
        raise TypeError(
            f"a model takes a Request((Message('user', (Text('hi'),)),)), not {request!r:.50}"
        )


def _redacted(request: Request, redactor: Redactor) -> Request:
    def redacted(part: Part) -> Part:
        if isinstance(part, Text | ToolResult):
            return replace(part, text=redactor.text(part.text))
        return part

    messages = tuple(
        Message(message.role, tuple(map(redacted, message.parts))) for message in request.messages
    )
    return replace(request, messages=messages, system=redactor.text(request.system))


def _refuse_bad_completion(completion: Completion, number: int, redactor: Redactor) -> None:
    """Raise for a completion that holds a live key, or that the model or service refused."""
    _refuse_key(completion, number, redactor)
    if reason := refusal(completion, number, redactor):
        raise ProviderFailed(reason, hint="rephrase the query, or use another model")


def _refuse_key(completion: Completion, number: int, redactor: Redactor) -> None:
    texts = [completion.text, *(f"{call.raw} {call.arguments}" for call in completion.tool_calls)]
    if any(redactor.holds_key(text) for text in texts):
        raise ResponseRefused(
            f"the response of call {number} contains an API key",
            hint="remove it from where the model saw it: "
            "the query, the code, or the output of the build",
        )
