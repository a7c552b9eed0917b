"""Requests and invalid answers of the conformance tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from code_commit.plugin_api import Finish, Message, Request, Text, ToolCall, ToolSpec

KEY = "k-conformance/+=%0123456789"
QUESTION = Request(messages=(Message("user", (Text("What is in a.txt and b.txt?"),)),))
READ = ToolSpec(
    name="read_file",
    description="Reads a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
TWO_CALLS = (
    ToolCall(id="call_one", name="read_file", arguments={"path": "a.txt"}),
    ToolCall(id="call_two", name="read_file", arguments={"path": "b.txt"}),
)
UNKNOWN_WORDS = {
    "zz_brand_new": Finish.CUT,
    "zz_engine_abort": Finish.CUT,
    "zz_output_length": Finish.LENGTH,
    "zz_safety_net": Finish.FILTERED,
}
INVALID_ANSWERS = {
    "empty": b"",
    "blank": b" \n",
    "cut short": b'{"choices": [{"mess',
    "a list": b"[]",
    "a string": b'"hello"',
    "an empty object": b"{}",
    "another document": b'{"contentType": "application/json", "method": "POST"}',
    "not UTF-8": b'{"text": "\xff\xfe"}',
    "nested too deeply": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "events": b"data: {}\n\ndata: [DONE]\n\n",
}


def with_each_value_replaced_in(body: bytes) -> Iterator[bytes]:
    """Yield copies of a reply in JSON, each with one place replaced by a value of another type.

    The reply is one document, or lines with one each, which may begin with `data:`. Other lines
    stay as they are.
    """
    lines = body.splitlines() if _json(body) is None else [body]
    for index, line in enumerate(lines):
        prefix = b"data:" if line.startswith(b"data:") else b""
        document = _json(line.removeprefix(prefix))
        if document:
            for changed in _with_each_value_replaced(document):
                changed_line = prefix + json.dumps(changed).encode()
                yield b"\n".join([*lines[:index], changed_line, *lines[index + 1 :]])


def _json(text: bytes) -> Any:
    """Return a document, or None if `text` is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _with_each_value_replaced(value: Any) -> Iterator[Any]:
    yield from (None, True, 7, "x", [], {}, [7], [{}], {"x": 7})
    if isinstance(value, int):  # an index, or a number of tokens
        yield from (-1, 10**9)
    if isinstance(value, dict):
        for name, member in value.items():
            yield {key: value[key] for key in value if key != name}
            for changed in _with_each_value_replaced(member):
                yield {**value, name: changed}
    elif isinstance(value, list):
        for index, element in enumerate(value):
            for changed in _with_each_value_replaced(element):
                yield [*value[:index], changed, *value[index + 1 :]]
