"""A provider that answers from a list, without HTTP. This module is also a plugin.

In a unit test, use `ScriptedProvider([...])`. For a whole run, register this module as an entry
point (`scripted = "code_commit_testing.scripted_provider"`) and configure it:

    default_provider = "scripted.default"
    [providers.scripted.default]
    model = "scripted"
    replies = ["the first answer", "the second"]
"""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    ModelCall,
    ProviderDefinition,
    ProviderError,
    Request,
    Text,
    ToolCall,
    Usage,
    hookimpl,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

Answer = (
    Completion
    | ProviderError
    | ToolCall
    | str
    | Callable[[Request], Completion | ProviderError | str]
)

SCRIPTED = ProviderDefinition(
    name="scripted",
    models={"scripted": ()},
    base_url="",
    base_url_variable=None,
    key_variable=None,
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_testing.scripted_provider:ScriptedConfig",
    factory="code_commit_testing.scripted_provider:provider_of",
)


@hookimpl
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return one provider, `scripted`."""
    return [SCRIPTED]


class ScriptedProvider:
    """Answers each request with the next of `answers`; `requests` records the requests.

    An answer is a text, a tool call, a whole `Completion`, a `ProviderError` to raise, or a
    function of the request that returns one. If the call streams, a text arrives word by word. When
    all are used up, requests are rejected.
    """

    def __init__(self, answers: Iterable[Answer], *, model: str = "scripted") -> None:
        self.requests: list[Request] = []
        self.closed = False
        self._answers = deque(answers)
        self._model = model
        self._lock = threading.Lock()

    def complete(self, call: ModelCall) -> Completion:
        """Return the next answer.

        Raises:
            ProviderError: the script raises it, or is used up.
        """
        with self._lock:
            self.requests.append(call.request)
            if not self._answers:
                raise ProviderError("the script is used up", kind="rejected")
            answer = self._answers.popleft()
        if callable(answer):
            answer = answer(call.request)
        if isinstance(answer, ProviderError):
            raise answer
        if isinstance(answer, Completion):
            return answer
        part = Text(answer) if isinstance(answer, str) else answer
        if call.stream and isinstance(part, Text):
            for word in re.findall(r"\s*\S+\s*", part.text):
                call.progress(Delta("text", word))
        if isinstance(part, ToolCall):
            finish, scripted = Finish.TOOL_CALLS, part.name
        else:
            finish, scripted = Finish.STOP, part.text
        return Completion(
            message=Message("assistant", (part,)),
            finish=finish,
            finish_detail="scripted",
            usage=Usage(input=10, output=5),
            model=self._model,
            raw={"scripted": scripted},
        )

    def close(self) -> None:
        """Record the end of the run."""
        self.closed = True


def model_call(request: Request | str, *, seconds: float = 60, **fields: Any) -> ModelCall:
    """Return a call of a model, for tests of a provider or a layer.

    A text becomes a request of one message.

    The deadline is `seconds` from now. `fields` override fields of `ModelCall`.
    """
    if isinstance(request, str):
        request = Request((Message("user", (Text(request),)),))
    defaults = {
        "label": "query",
        "role": "default",
        "provider": "scripted",
        "model": "scripted",
        "number": 1,
        "root": Path.cwd(),
        "deadline": time.monotonic() + seconds,
        "wait": time.sleep,
        "warn": warnings.warn,
    }
    return ModelCall(request, **{**defaults, **fields})


def provider_of(config: Any) -> ScriptedProvider:
    """Return the provider of a `ScriptedConfig`."""
    return ScriptedProvider(config.replies, model=config.model)


def __getattr__(name: str) -> type[BaseModel]:
    # Created on first use: a plugin's module must not import pydantic just to be listed.
    if name != "ScriptedConfig":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pydantic import ConfigDict, create_model

    return create_model(
        "ScriptedConfig",
        __config__=ConfigDict(extra="forbid"),
        model=(str, "scripted"),
        replies=(list[str], []),
    )
