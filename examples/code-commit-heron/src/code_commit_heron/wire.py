"""Heron's protocol: POST /messages, with a token from POST /oauth/token."""

from collections.abc import Mapping

from code_commit.plugin_api import (
    AccessToken,
    Completion,
    HttpCall,
    Message,
    ProviderError,
    Request,
    Text,
    Usage,
    finish_of,
    reply_error,
    reply_member,
    reply_object,
    token_count,
)
from pydantic import BaseModel, ConfigDict


class HeronConfig(BaseModel):
    """`client_id` belongs to the key, which is the client's secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    client_id: str = "code-commit"
    token_url: str = "https://login.heron.example/oauth/token"


class HeronWire:
    """A `TokenWire`."""

    def __init__(self, config: HeronConfig) -> None:
        self._config = config

    def encode_token(self) -> HttpCall:
        """Ask for a token; the host puts in the key."""
        form = {"grant_type": "client_credentials", "client_id": self._config.client_id}
        return HttpCall(self._config.token_url, {**form, "client_secret": "{key}"}, form=True)

    def decode_token(self, status: int, headers: Mapping[str, str], body: bytes) -> AccessToken:
        """Return the token in the reply, or raise a `ProviderError`."""
        reply = reply_object(body, status, headers)
        token = reply_member(reply, "access_token", str)
        if status >= 400:
            raise reply_error(status, words=str(reply.get("error", "")))
        if not token:
            raise ProviderError("the reply has no token", kind="invalid_response")
        return AccessToken(token, seconds=token_count(reply, "expires_in"))

    def encode(self, request: Request) -> HttpCall:
        """Translate `request`."""
        turns = [
            {"role": message.role, "text": part.text}
            for message in request.messages
            for part in message.parts
            if isinstance(part, Text)
        ]
        body = {"model": self._config.model, "system": request.system, "turns": turns}
        return HttpCall("/messages", {**body, "limit": request.max_tokens or 8000})

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Translate the reply, or raise a `ProviderError`."""
        reply = reply_object(body, status, headers)
        if status >= 400:
            raise reply_error(status, words=str(reply.get("error", "")))
        text, end = reply_member(reply, "text", str), reply_member(reply, "end", str) or ""
        if text is None:
            raise ProviderError("the reply has no text", kind="invalid_response")
        parts = (Text(text),) if text else ()
        usage = Usage(token_count(reply, "in"), token_count(reply, "out"))
        model = reply_member(reply, "model", str) or self._config.model
        message = Message("assistant", parts)
        return Completion(message, finish_of(end, parts, {}), end, usage, model, reply)
