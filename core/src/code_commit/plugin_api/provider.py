"""What a provider is: a pure `Wire`, or a `Provider` where one HTTP POST is not enough; and one call, as it sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # for annotations alone: this module is imported at every start
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from code_commit.plugin_api.conversation import Completion, Json, Request


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One POST: `path` is appended to the base URL; `headers` are without the key, which the host adds."""

    path: str
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


class Wire(Protocol):
    """A service's protocol as two pure functions; the host does everything else.

    It is made by `factory(config)` of its `ProviderDefinition`, where `config` is the validated provider config.
    """

    def encode(self, request: Request) -> HttpCall:
        """Translate `request` to the service's protocol."""
        ...

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Translate the service's answer; `headers` have lower-case names.

        Raises:
            ProviderError: the answer is an error, or cannot be understood.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call: what is asked, of which model, for which role of the workflow, and until when.

    `label` and `number` name the call in the run folder. `root` is the project. `deadline` is on the clock of
    `time.monotonic()`; the host sets it below the plugins' layers, where it is still infinite. `wait(seconds)` waits,
    and raises `Interrupted` as soon as the run ends. `warn(text)` logs a warning and shows it to a person.
    """

    request: Request
    label: str
    role: str
    provider: str
    model: str
    number: int
    root: Path
    deadline: float
    wait: Callable[[float], None] = field(repr=False)
    warn: Callable[[str], None] = field(repr=False)


NextLayer = Callable[[ModelCall], "Completion"]
"""The rest of the chain. Give it the call that the layer got; the host refuses any other."""

ModelLayer = Callable[[ModelCall, NextLayer], "Completion"]
"""Answers a call itself, or passes it to `next` and returns what comes back, as transports of httpx do."""


class Provider(Protocol):
    """One try at one call. The host retries, counts, keeps the budget, redacts and logs.

    A provider may have an attribute `model`: the exact model that it asks, where the configured name stands for one.
    """

    def complete(self, call: ModelCall) -> Completion:
        """Answer `call.request` before `call.deadline`.

        Raises:
            ProviderError: there is no completion; the host may try again.
            ProviderFailed: there is none, and the host must not try again.
        """
        ...

    def close(self) -> None:
        """Release what is held; also called from another thread, to end a call that is under way."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderDefinition:
    """A provider that a plugin offers. Classes are named as strings, so that listing imports none of them.

    `models` maps a model id to the aliases people type; `name/any-id` always works besides. `key_header` is a header
    name and its template, `("authorization", "Bearer {key}")`. `base_url_variable` names the usual environment
    variable for another address, `base_url_suffix` is what has to be appended to that variable's value to make it a
    `base_url` of this plugin. An empty `base_url` is for a provider that is reached some other way: it gets no key.
    `config` is `"package.module:Name"` of a pydantic model. `factory` is `"package.module:name"` of a callable that
    takes the config, and the project's `root` if it has a parameter of that name, and returns a `Wire` or a `Provider`.
    It is called before the run folder exists.

    `free`: calls cost nothing, so `--max-cost` and prices leave them out. `run_token` is `"package.module:name"` of a
    `Callable[[str, Path], str]` that takes the model's name and `root` and gives the run its token, for a provider
    that answers from a recorded run.
    """

    name: str
    models: Mapping[str, Sequence[str]]
    base_url: str
    base_url_variable: str | None
    key_variable: str | None
    key_header: tuple[str, str]
    config: str
    factory: str
    base_url_suffix: str = ""
    free: bool = False
    run_token: str | None = None
