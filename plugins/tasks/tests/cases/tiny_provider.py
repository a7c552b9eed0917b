"""A provider for tests: what its service sends is the reply, so that no provider's distribution is needed."""

from pydantic import BaseModel

from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Message,
    ProviderDefinition,
    ProviderError,
    Text,
    Usage,
    hookimpl,
    kind_of_status,
)
from code_commit.plugin_api import reply_object as read


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            name="tiny",
            models={"tiny-1": ()},
            base_url="https://tiny.example.org",
            base_url_variable="TINY_BASE_URL",
            key_variable="TINY_API_KEY",
            key_header=("authorization", "Bearer {key}"),
            config=f"{__name__}:TinyConfig",
            factory=f"{__name__}:made",
        )
    ]


class TinyConfig(BaseModel):
    model: str


def made(config):
    return TinyWire(config.model)


class TinyWire:
    def __init__(self, model):
        self.model = model

    def encode(self, request):
        [message] = request.messages
        content = "".join(part.text for part in message.parts)
        messages = [{"role": "system", "content": request.system}, {"role": "user", "content": content}]
        return HttpCall("/chat/completions", {"model": self.model, "messages": messages})

    def decode(self, status, headers, body):
        if status != 200:
            raise ProviderError(f"status {status}", kind=kind_of_status(status))
        answer = read(body)
        [choice] = answer["choices"]
        word = choice["finish_reason"]
        return Completion(
            Message("assistant", (Text(choice["message"]["content"] or ""),)),
            Finish.STOP if word == "stop" else Finish.LENGTH,
            word,
            Usage(1, 1),
            answer["model"],
            answer,
        )
