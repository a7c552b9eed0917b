"""Providers, and the calls that they answer.

A provider is a pure `Wire`, which may stream, or a `Provider` if one HTTP POST is not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from code_commit.imports import import_object
from code_commit_workspace import STOP, Scope

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from code_commit.plugin_api.conversation import Completion, Json, Request, Usage
    from code_commit.plugin_api.definitions import ProviderDefinition


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One POST, or a GET without `body`.

    The host appends `path` to the base URL, and adds the key to `headers`. `optional` names members
    of `body` that a server may not know. If it refuses to stream, the host leaves them out. With
    `form`, the members of `body` are sent as a form, not as JSON.
    """

    path: str
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)
    optional: Collection[str] = ()
    method: Literal["POST", "GET"] = "POST"
    form: bool = False


class Wire(Protocol):
    """A service's protocol as two pure functions; the host does everything else.

    `factory(config)` of its `ProviderDefinition` creates it, where `config` is the validated named
    config.

    A wire may have an attribute `cache_write_price`: the price of input that a request marks with
    `cache_here`, relative to other input, if it is not the one in genai-prices. `--max-cost` counts
    with it.
    """

    def encode(self, request: Request) -> HttpCall:
        """Translate `request` to the service's protocol."""

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Translate the service's reply; `headers` have lower-case names.

        Raises:
            ProviderError: the reply is an error, or cannot be parsed.
        """


class CountingWire(Wire, Protocol):
    """A `Wire` of a service that counts tokens at no charge.

    The host asks it where an estimate is not enough.
    """

    def encode_count(self, request: Request) -> HttpCall:
        """Translate the question how many tokens `request` has."""

    def decode_count(self, status: int, headers: Mapping[str, str], body: bytes) -> int:
        """Return the number of tokens in the service's reply.

        Raises:
            ProviderError: the reply is an error, or cannot be parsed. The host uses an estimate
                then.
        """


class ListingWire(Wire, Protocol):
    """A `Wire` of a service that lists its models.

    The host asks it for `code-commit models --refresh`.
    """

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """Ask for the list, or for the page after `page`, a body; return None after the last."""

    def decode_models(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
    ) -> Mapping[str, int]:
        """Return the models, each with the most tokens that it reads, or 0 if that is unknown.

        Raises:
            ProviderError: the reply is an error, or cannot be parsed.
        """


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What a service hands out for a key: it is valid for some `seconds`, or None if unknown.

    Its `repr` does not show the value.
    """

    value: str = field(repr=False)
    seconds: float | None = None


class TokenWire(Wire, Protocol):
    """A `Wire` of a service that takes an access token in place of the key.

    The host asks for a token before the first call, and again before it expires. If the service
    answers a call with 401, the host asks once for a new token and repeats the call. All calls of
    a run share the token. The host sends it in the `key_header`, and censors it like a key.
    """

    def encode_token(self) -> HttpCall:
        """Translate the question for a token.

        The host puts the key in place of `{key}` in the values of the headers and the body. The
        `path` may be a whole https URL.
        """

    def decode_token(self, status: int, headers: Mapping[str, str], body: bytes) -> AccessToken:
        """Return the token in the service's reply.

        Raises:
            ProviderError: the reply is an error, or cannot be parsed. With status 400, 401 or 403,
                the host makes it an error of the kind "auth".
        """


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a streamed reply: a server-sent event, or a line of NDJSON, without a name."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply, as it arrives.

    `index` identifies the part of the reply. `name` is the name of the tool; its `text` is a piece
    of the arguments.
    """

    kind: Literal["text", "thinking", "tool"]
    text: str
    index: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class PartialReply:
    """The part of a reply that arrived before it broke off.

    `usage` and `model` are None if the service did not send them."""

    text: str
    usage: Usage | None = None
    model: str | None = None


Progress: TypeAlias = "Callable[[StreamEvent | Delta], None]"
"""Takes the events and deltas of a reply, as they arrive.

The host keeps events in the run folder; it shows deltas and keeps their text.
"""


Watch: TypeAlias = "Callable[[], Callable[[str], int | None]]"
"""Returns a function for one reply, which takes its text in pieces of any size.

The function returns None until no later text can change what the workflow does with the reply. Then
it returns how many characters of the text decide that."""


class StopReading(BaseException):
    """Raised by `Progress`: the rest of the reply is not needed.

    Close the connection, and pass this exception on. `completion(call, usage)` returns what
    arrived. `usage` is what the service reported so far; set it if you know it.
    """

    def __init__(self, completion: Callable[[ModelCall, Usage | None], Completion]) -> None:
        super().__init__()
        self.completion = completion
        self.usage: Usage | None = None


class StreamDecoder(Protocol):
    """Puts one streamed reply together. It is pure, and used for one reply.

    A decoder may have an attribute `ended`: whether the service's last event has come. The host
    then does not wait for the service to close the stream.
    """

    def feed(self, event: StreamEvent) -> Iterable[Delta]:
        """Take the next event, and return what it adds.

        Raises:
            ProviderError: the event is an error of the service, or cannot be parsed.
        """

    def finish(self) -> Completion:
        """Return the completion: the same that `Wire.decode` returns for the whole reply.

        Raises:
            ProviderError: of kind `network` if the service did not send its own end of the reply.
        """

    def partial(self) -> PartialReply:
        """Return what has arrived so far."""


class StreamingWire(Wire, Protocol):
    """A `Wire` of a service that can stream its replies."""

    def encode_stream(self, request: Request) -> HttpCall:
        """Translate `request` to a call that is answered by server-sent events or NDJSON."""

    def stream(self) -> StreamDecoder:
        """Return the decoder of one reply."""


def _ignore(_: object) -> None:
    """Discard what arrives."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call: the request, the model, the role in the workflow, and the deadline.

    `label` and `number` name the call in the run folder. `root` is the project. `deadline` is on
    the clock of `time.monotonic()`; it is infinite in plugin layers, and the host sets it below
    them. `wait(seconds)` sleeps, and raises `Interrupted` as soon as the run ends or the call is
    cancelled. `with call.scope.child(end):` calls `end` in another thread if that happens in the
    block; `end` must not block. `warn(text)` logs a warning and prints it. If `stream` is true, a
    provider that can stream does so, and passes what arrives to `progress`. `hide(text)` censors a
    secret that was made during the run, such as an access token, wherever text leaves the program
    from then on; it raises a `ValueError` if the text is not a line of at least 8 printable ASCII
    characters.
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
    stream: bool = False
    progress: Progress = field(default=_ignore, repr=False)
    scope: Scope = field(default=STOP, repr=False)
    hide: Callable[[str], None] = field(default=_ignore, repr=False)


NextLayer = Callable[[ModelCall], "Completion"]
"""The rest of the chain. Pass it the call that the layer received; the host rejects any other."""


class OtherModel(Protocol):
    """Another model, to which a layer can pass a call on: `models(name)` in the hook of layers."""

    @property
    def name(self) -> str:
        """The model's id."""

    @property
    def provider(self) -> str:
        """The name of the model's provider."""

    @property
    def window(self) -> int | None:
        """The most tokens that the model reads, or None if that is unknown."""

    def complete(self, call: ModelCall) -> Completion:
        """Answer the request of `call` with this model, in a call of its own.

        The host logs, prices, limits and redacts that call as any other; `--max-cost` and the
        layers of later plugins apply to it.

        Raises:
            ProviderFailed: all tries failed, or the service refused or filtered.
            NotReady, LimitReached: the prompt exceeds the model's window, or the next try could
                exceed the limit.
        """


ModelLayer = Callable[[ModelCall, NextLayer], "Completion"]
"""Answers a call, or passes it to `next` and returns the result, like a transport of httpx."""


class Provider(Protocol):
    """Makes one try of a call. The host retries, counts, enforces the budget, redacts and logs.

    A provider may have an attribute `model`: the exact model that it calls, if the configured name
    is an alias. A provider of recorded runs may have a method `next_arrival(numbers)`: it returns
    which of these calls at once arrived first; and a method `falls_back(number)`: whether another
    model took over from the failed call of this number.
    """

    def complete(self, call: ModelCall) -> Completion:
        """Answer `call.request` before `call.deadline`.

        Raises:
            ProviderError: there is no completion; the host may retry.
            ProviderFailed: there is no completion, and the host must not retry.
        """

    def close(self) -> None:
        """Release resources. The host may call it from another thread to abort a call."""


def http_provider(
    definition: ProviderDefinition,
    wire: Wire,
    address: str,
    *,
    key: str | None = None,
) -> Provider:
    """Return the `Provider` that the host makes of `wire`: one try is one POST to `address`.

    For tests of a wire on a real connection.

    Raises:
        NotReady: the address is not a URL.
    """
    # By name, like the code of definitions: every start imports this module, and few need HTTP.
    http = import_object("code_commit.models.http")
    provider: Provider = http.HttpProvider(definition, http.Endpoint(address, key=key), wire)
    return provider
