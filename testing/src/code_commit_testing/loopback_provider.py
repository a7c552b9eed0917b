"""An HTTP provider for tests of a workflow, without a provider's distribution.

It calls a `ScriptedServer` with OpenAI's protocol, with text only. This module is the plugin; a
test installs it with:

    code = "from code_commit_testing.loopback_provider import code_commit_providers"
    install_plugin(folder, "loopback", code)

The model is `loopback-1`; set `LOOPBACK_BASE_URL` to `server.url("openai")`, and `LOOPBACK_API_KEY`
to a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Message,
    ProviderDefinition,
    Request,
    Text,
    Usage,
    hookimpl,
    reply_error,
    reply_object,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

LOOPBACK = ProviderDefinition(
    name="loopback",
    models={"loopback-1": ()},
    base_url="https://loopback.example.org",
    base_url_variable="LOOPBACK_BASE_URL",
    key_variable="LOOPBACK_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_testing.loopback_provider:LoopbackConfig",
    factory="code_commit_testing.loopback_provider:wire_of",
)


@hookimpl
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return one provider, `loopback`."""
    return [LOOPBACK]


class LoopbackWire:
    """Sends the system text and the messages as text; uses the first choice of the answer."""

    def __init__(self, model: str) -> None:
        self.model = model

    def encode(self, request: Request) -> HttpCall:
        """Return the HTTP call."""
        messages = [{"role": "system", "content": request.system}] if request.system else []
        for message in request.messages:
            text = "".join(part.text for part in message.parts if isinstance(part, Text))
            messages.append({"role": message.role, "content": text})
        return HttpCall("/chat/completions", {"model": self.model, "messages": messages})

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Return the completion.

        Raises:
            ProviderError: the status is not 200, or the body is invalid.
        """
        reply = reply_object(body, status, headers)
        if status != 200:  # noqa: PLR2004 - OK
            error = reply["error"]
            raise reply_error(status, words=error["message"], reason=error.get("code") or "")
        [choice] = reply["choices"]
        word = choice["finish_reason"]
        return Completion(
            Message("assistant", (Text(choice["message"]["content"] or ""),)),
            Finish.STOP if word == "stop" else Finish.LENGTH,
            word,
            Usage(1, 1),
            reply["model"],
            reply,
        )


def wire_of(config: Any) -> LoopbackWire:
    """Return the wire of a `LoopbackConfig`."""
    return LoopbackWire(config.model)


def __getattr__(name: str) -> type[BaseModel]:
    # Created on first use: a plugin's module must not import pydantic just to be listed.
    if name != "LoopbackConfig":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pydantic import create_model

    return create_model("LoopbackConfig", model=(str, "loopback-1"))
