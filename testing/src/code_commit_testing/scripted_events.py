"""A whole answer of a service, split into the events that the service streams for it.

Written from the services' documentation, and independent of the plugins that decode the events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from code_commit.plugin_api import StreamEvent
from code_commit_testing.scripted_replies import Protocol

Answer = Mapping[str, Any]


def events_of(protocol: Protocol, answer: Answer, *, piece: int = 5) -> Iterator[StreamEvent]:
    """Yield the events of `answer`, with at most `piece` characters of text in each."""
    return _EVENTS[protocol](answer, piece)


def error_event(protocol: Protocol, body: bytes) -> StreamEvent:
    """Return the event of an error in the middle of a stream.

    `body` is that of the error's own reply.
    """
    return StreamEvent("error" if protocol == "anthropic" else "", body)


def event_bytes(event: StreamEvent, newline: str = "\n") -> bytes:
    """Return a server-sent event as it is sent."""
    end = newline.encode()
    lines = [b"event: " + event.name.encode()] if event.name else []
    lines += [b"data: " + line for line in event.data.split(b"\n")]
    return end.join([*lines, b"", b""])


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _event(document: Answer, name: str = "") -> StreamEvent:
    return StreamEvent(name, json.dumps(document, ensure_ascii=False).encode())


def _openai_events(answer: Answer, piece: int) -> Iterator[StreamEvent]:
    head = {name: value for name, value in answer.items() if name not in {"choices", "usage"}}
    head["object"] = "chat.completion.chunk"
    no_usage = {"usage": None} if "usage" in answer else {}
    for choice in answer["choices"]:
        part = {"index": choice["index"], "delta": {}, "logprobs": None, "finish_reason": None}
        for delta in _openai_deltas(choice["message"], piece):
            yield _event({**head, "choices": [{**part, "delta": delta}], **no_usage})
        reason = choice.get("finish_reason")
        if reason is not None:
            yield _event({**head, "choices": [{**part, "finish_reason": reason}], **no_usage})
    if "usage" in answer:
        yield _event({**head, "choices": [], "usage": answer["usage"]})
    yield StreamEvent("", b"[DONE]")


def _openai_deltas(message: Answer, piece: int) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if message.get("content") is None else ""}
    for name in ("reasoning_content", "reasoning", "content", "refusal"):
        for text in _pieces(message.get(name) or "", piece):
            yield {name: text}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = {**call["function"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": index, "function": function}]}
        for text in _pieces(call["function"]["arguments"], piece):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def _anthropic_events(answer: Answer, piece: int) -> Iterator[StreamEvent]:
    def event(kind: str, **members: Any) -> StreamEvent:
        return _event({"type": kind, **members}, kind)

    usage = answer.get("usage")
    message = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
    if usage is not None:
        message["usage"] = {**usage, "output_tokens": 1}
    yield event("message_start", message=message)
    for index, block in enumerate(answer["content"]):
        start, deltas = _anthropic_block(block, piece)
        yield event("content_block_start", index=index, content_block=start)
        if index == 0:
            yield event("ping")
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": answer.get("stop_sequence")}
    counted = {} if usage is None else {"usage": {"output_tokens": usage["output_tokens"]}}
    yield event("message_delta", delta=ending, **counted)
    yield event("message_stop")


def _anthropic_block(block: Answer, piece: int) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return a block as it starts, and what is added to it. Blocks of other types start whole."""
    if block["type"] == "text":
        deltas = ({"type": "text_delta", "text": text} for text in _pieces(block["text"], piece))
        return {**block, "text": ""}, deltas
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}, _thinking_deltas(block, piece)
    if block["type"] == "tool_use":
        return {**block, "input": {}}, _input_deltas(block["input"], piece)
    return dict(block), iter(())


def _thinking_deltas(block: Answer, piece: int) -> Iterator[dict[str, Any]]:
    for text in _pieces(block["thinking"], piece):
        yield {"type": "thinking_delta", "thinking": text}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _input_deltas(value: Any, piece: int) -> Iterator[dict[str, Any]]:
    """Yield a tool's input.

    A text is what the model wrote instead of an object; an empty object is never written.
    """
    yield {"type": "input_json_delta", "partial_json": ""}
    if isinstance(value, str):
        document = value
    elif value:
        document = json.dumps(value, ensure_ascii=False)
    else:
        document = ""
    for text in _pieces(document, piece):
        yield {"type": "input_json_delta", "partial_json": text}


def _gemini_events(answer: Answer, piece: int) -> Iterator[StreamEvent]:
    usage = answer.get("usageMetadata")
    head = {
        name: value for name, value in answer.items() if name not in {"candidates", "usageMetadata"}
    }
    usage_so_far: Answer = {}
    usage_at_the_end: Answer = {}
    if usage is not None:
        prompt_tokens = {"promptTokenCount": usage.get("promptTokenCount")}
        usage_so_far = {"usageMetadata": prompt_tokens}
        usage_at_the_end = {"usageMetadata": usage}
    if not answer.get("candidates"):
        yield _event(answer)
    for candidate in answer.get("candidates", ()):
        index = {"index": candidate.get("index", 0)}
        for part in candidate.get("content", {}).get("parts", ()):
            for split in _gemini_parts(part, piece):
                content = {"parts": [split], "role": "model"}
                yield _event({"candidates": [{"content": content} | index], **usage_so_far, **head})
        ending = {**candidate, "content": {"parts": [{"text": ""}], "role": "model"}}
        yield _event({"candidates": [ending], **usage_at_the_end, **head})


def _gemini_parts(part: Answer, piece: int) -> Iterator[Answer]:
    """Yield the pieces of a part; its signature comes with the last one.

    A function call comes whole.
    """
    texts = [*_pieces(part.get("text", ""), piece)]
    if not texts:
        yield part
        return
    unsigned = {name: value for name, value in part.items() if name != "thoughtSignature"}
    for text in texts[:-1]:
        yield {**unsigned, "text": text}
    yield {**part, "text": texts[-1]}


_EVENTS: dict[Protocol, Callable[[Answer, int], Iterator[StreamEvent]]] = {
    "openai": _openai_events,
    "anthropic": _anthropic_events,
    "gemini": _gemini_events,
}
